"""Which change of the inputs would make a standard adequate and sharp: fewer addends, one sign, no broadcast."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from opscan.judging.drift_parameters import DriftParameters

Cases = Sequence[Sequence[DriftParameters]]
_TRIED = 512
"""On so many of the cases a change is tried, spread over all of them, the largest among them."""


def remedies(weak: Mapping[str, Cases], has_standard: Callable[[str, Cases], bool]) -> str:
    """What would help for every dtype that no standard fits, as the end of a sentence; each change was tried.

    `has_standard`: whether one is adequate and sharp for a dtype over its cases.
    """
    weak = {name: _some(cases) for name, cases in weak.items()}
    found: list[str] = []
    for words, change in _changes(weak):
        if any(words.split()[0] == other.split()[0] for other in found):
            continue  # a larger extent already does it
        if all(_fits(cases, name, has_standard, change) for name, cases in weak.items()):
            found.append(words)
    return " or ".join(found) or "split the spec by range and extent, so that each part has a standard of its own"


def _some(cases: Cases) -> Cases:
    if len(cases) <= _TRIED:
        return cases
    sizes = (
        (lambda parameters: parameters.extent),
        (lambda parameters: parameters.outputs),
        (lambda parameters: max(abs(parameters.low), abs(parameters.high))),
    )
    largest = [max(cases, key=lambda all_parameters: max(map(size, all_parameters), default=0)) for size in sizes]
    return [*largest, *cases[:: -(-len(cases) // _TRIED)]]


def _changes(weak: Mapping[str, Cases]) -> list[tuple[str, Callable[[DriftParameters], DriftParameters]]]:
    all_parameters = [parameters for cases in weak.values() for case in cases for parameters in case]
    largest = max((parameters.extent for parameters in all_parameters), default=1)
    reach = max((max(abs(parameters.low), abs(parameters.high)) for parameters in all_parameters), default=1.0)
    changes: list[tuple[str, Callable[[DriftParameters], DriftParameters]]] = []
    extent = 1 << max(largest - 1, 1).bit_length() - 1
    while extent >= 4 and len(changes) < 24:
        changes.append((f"reduce at most {extent} addends", _at_most(extent)))
        extent //= 2
    broadcast = any(parameters.cause == "broadcast" for parameters in all_parameters)
    without = [("compare without the broadcast", _at_most(1))] if broadcast else []
    one_signed = (f"use a one-signed range such as [{reach / 5:g}, {reach:g}]", _one_signed(reach))
    same = ("give every case the same range", _within(reach))
    wide = [("widen the range to [-5, 5]", _scaled(5 / reach))] if 0 < reach < 5 else []
    return [*changes, one_signed, same, *wide, *without]


def _at_most(extent: int) -> Callable[[DriftParameters], DriftParameters]:
    return lambda parameters: replace(parameters, extent=min(parameters.extent, extent))


def _one_signed(reach: float) -> Callable[[DriftParameters], DriftParameters]:
    return lambda parameters: replace(parameters, low=reach / 5, high=reach)


def _scaled(factor: float) -> Callable[[DriftParameters], DriftParameters]:
    return lambda parameters: replace(parameters, low=parameters.low * factor, high=parameters.high * factor)


def _within(reach: float) -> Callable[[DriftParameters], DriftParameters]:
    return lambda parameters: replace(parameters, low=-reach if parameters.low < 0 else reach / 5, high=reach)


def _fits(
    cases: Cases,
    dtype: str,
    has_standard: Callable[[str, Cases], bool],
    change: Callable[[DriftParameters], DriftParameters],
) -> bool:
    changed = [[change(parameters) for parameters in all_parameters] for all_parameters in cases]
    if all(
        parameters.extent == 1 and parameters.roundings == 1
        for all_parameters in changed
        for parameters in all_parameters
    ):
        return True
    return has_standard(dtype, changed)
