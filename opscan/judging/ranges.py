"""What the inputs of a case are drawn from, as ATK draws them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

from opscan.judging.drifts.draw import Draw
from opscan.judging.settings import Judge
from opscan.model import Case, CaseInput

_NUMBERS = frozenset({int, float})
_LARGEST = 1e18
"""Ranges beyond it overflow float32 when they are squared: nothing is predicted for them."""
_FLOATING = ("fp", "bf", "hf", "float", "double", "complex")
_WITHOUT_NUMBERS = frozenset({"nan", "inf", "-inf", "null"})
"""Range strings of ATK by which a tensor holds no number at all; `null` makes it empty."""
_OFFSET = 0.45
"""Beside the middle, for a range around 0 seldom gives 0 itself."""
_DRAWN = 7
"""Means and deviations that stand for all those between their bounds; a prime, for the lattice that they lie on."""


def draw_of(case: Case, place: tuple[int, str], judge: Judge) -> Draw:
    """How the elements of an input are drawn, as far as it is said; else as ATK draws without a range."""
    given = input_at(case, place)
    if given is None:
        return Draw(*judge.upstream)
    if given.dtype == "bool":
        return Draw(0.0, 1.0, "bool")
    found = _range(given) or next((r for m in given.members or () if (r := _range(m)) is not None), None)
    outliers = given.outliers or next((m.outliers for m in given.members or () if m.outliers), None)
    low, high, distribution = found or (*judge.upstream, "uniform")
    return Draw(low, high, distribution, outliers if outliers and 0 < outliers[0] < 1 < outliers[1] else None)


def input_at(case: Case, place: tuple[int, str]) -> CaseInput | None:
    """The input that a formula names by position and label."""
    position, label = place
    named = [given for given in (*case.inputs, *case.method_inputs) if given.name == label]
    at = case.inputs[position : position + 1]
    return named[0] if named else at[0] if at else case.tensor_input


def input_range(case: Case) -> tuple[float, float, str] | None:
    """The widest declared range over the floating inputs of a case, as (low, high, distribution)."""
    ranges = [found for given in _tensors(case.inputs) if (found := _range(given)) is not None]
    if not ranges:
        return None
    return max(ranges, key=lambda found: max(abs(found[0]), abs(found[1])))


def holds_no_numbers(given: CaseInput) -> bool:
    """Whether ATK fills all of a tensor with inf or nan, or makes it empty."""
    values = given.values
    if isinstance(values, (list, tuple)) and len(values) == 1:
        values = values[0]
    return isinstance(values, str) and values.lower() in _WITHOUT_NUMBERS


def is_unbounded(given: CaseInput) -> bool:
    """Whether a range is declared that has no ends which the model covers, such as [-inf, inf]."""
    floating = (given.dtype or "").startswith(_FLOATING)
    if not floating or given.values is None or holds_no_numbers(given):
        return False
    return given.values not in ("default", ["default"]) and _range(given) is None


def as_drawn(case: Case, judge: Judge, inputs: Sequence[CaseInput], *, lone: bool) -> list[tuple[Case, Judge]]:
    """The case as ATK may draw it, where all elements share what is drawn once: mean and deviation of a normal range
    that leaves them open, and the value of a tensor of one element. Some stand for all, evenly between their bounds.
    Empty where nothing of `inputs` is shared. `lone`: the upstream gradient has one element."""
    lone = lone and judge.upstream[0] < judge.upstream[1]
    if not lone and not any(map(_is_shared, inputs)):
        return []
    return [_settled(case, judge, _places(turn), lone=lone) for turn in range(_DRAWN)]


def _everything(case: Case) -> list[CaseInput]:
    receiver = (case.tensor_input,) if case.tensor_input else ()
    return all_tensors((*receiver, *case.method_inputs, *case.inputs))


def _is_shared(given: CaseInput) -> bool:
    pairs = _moments(given)
    if pairs is not None and any(low < high for low, high in pairs):
        return True
    return _is_alone(given)


def _is_alone(given: CaseInput) -> bool:
    """Whether a floating tensor has one element, which is not the same in each draw."""
    ends = _range(given)
    alone = given.shape is not None and math.prod(given.shape) == 1 and (given.dtype or "").startswith(_FLOATING)
    return alone and ends is not None and ends[0] < ends[1]


def _moments(given: CaseInput) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """The bounds of mean and deviation of a normal range."""
    if not isinstance(given.values, dict):
        return None
    mean, deviation = _ends(given.values.get("mean", 0)), _ends(given.values.get("std", 1))
    return None if mean is None or deviation is None else (mean, deviation)


def _settled(case: Case, judge: Judge, places: Iterator[float], *, lone: bool) -> tuple[Case, Judge]:
    if lone:
        low, high = judge.upstream
        one = low + (high - low) * next(places)
        judge = replace(judge, upstream=(one, one))
    settled = replace(
        case,
        inputs=tuple([_settle(given, places) for given in case.inputs]),
        method_inputs=tuple([_settle(given, places) for given in case.method_inputs]),
        tensor_input=_settle(case.tensor_input, places) if case.tensor_input else None,
    )
    return settled, judge


def _places(turn: int) -> Iterator[float]:
    """Where between their bounds the next quantities lie, in one of the turns: evenly, and each in another order."""
    for step in cycle(range(1, _DRAWN)):
        yield (turn * step % _DRAWN + _OFFSET) / _DRAWN


def _settle(given: CaseInput, places: Iterator[float]) -> CaseInput:
    if given.members is not None:
        return replace(given, members=tuple([_settle(member, places) for member in given.members]))
    pairs = _moments(given)
    if pairs is None:
        ends = _ends(given.values)
        if ends is None or not _is_alone(given):
            return given
        one = ends[0] + (ends[1] - ends[0]) * next(places)
        return replace(given, values=(one, one))
    from statistics import NormalDist  # here alone: the hook's usual run has no normal ranges

    mean, deviation = [low + (high - low) * next(places) for low, high in pairs]
    if _is_alone(given):
        mean, deviation = mean + deviation * NormalDist().inv_cdf(next(places)), 0.0
    return replace(given, values={**given.values, "mean": [mean, mean], "std": [deviation, deviation]})


def all_tensors(inputs: Sequence[CaseInput]) -> list[CaseInput]:
    found = []
    for given in inputs:
        if given.members is not None:
            found += all_tensors(given.members)
        elif given.shape is not None:
            found.append(given)
    return found


def _tensors(inputs: Sequence[CaseInput]) -> list[CaseInput]:
    return [given for given in all_tensors(inputs) if (given.dtype or "").startswith(_FLOATING)]


def _range(given: CaseInput) -> tuple[float, float, str] | None:
    if isinstance(given.values, dict):
        pairs = _moments(given)
        if pairs is None:
            return None
        mean, deviation = pairs
        center, spread = sum(mean) / 2, max(map(abs, deviation))
        reach = max(abs(mean[0] - center), 0.0)
        return (center - spread - reach, center + spread + reach, "normal")
    ends = _ends(given.values)
    return None if ends is None else (*ends, "uniform")


def _ends(value: Any) -> tuple[float, float] | None:
    """Two finite numbers, smaller first."""
    pair = value if isinstance(value, (list, tuple)) else (value, value)
    if len(pair) not in (1, 2):
        return None
    first, last = pair[0], pair[-1]
    if type(first) not in _NUMBERS or type(last) not in _NUMBERS:
        return None
    low, high = float(min(first, last)), float(max(first, last))
    return (low, high) if max(abs(low), abs(high)) <= _LARGEST else None
