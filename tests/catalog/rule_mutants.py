"""Mistakes in the rules of `opscan/numerics/transfer`, and in the kinds of packets in `catalog/aten`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any

from planting import Mutant, replaced

from opscan.numerics import kinds
from opscan.numerics import transfer as transfer_package
from opscan.numerics.bits import Bits, Level
from opscan.numerics.call import Call

Change = Callable[[Bits, Bits], Bits]
"""From the bits that a rule gives and those that its operands had."""


def _scaled(extent: Callable[[int], int]) -> Change:
    """Another extent where the rule has made one."""

    def change(bits: Bits, inherited: Bits) -> Bits:
        raised = bits.addends > inherited.addends and bits.level <= Level.ACCUMULATED
        return replace(bits, addends=max(extent(bits.addends), 1)) if raised else bits

    return change


def _rounded_once(bits: Bits, _: Bits) -> Bits:
    return replace(bits, level=Level.ROUNDED_ONCE) if bits.level == Level.ARITHMETIC else bits


def _selected(bits: Bits, _: Bits) -> Bits:
    return replace(bits, level=Level.SELECT) if Level.SELECT < bits.level <= Level.ACCUMULATED else bits


def _in_fixed_order(bits: Bits, _: Bits) -> Bits:
    return replace(bits, level=Level.ARITHMETIC) if bits.level == Level.ACCUMULATED else bits


def _not_by_values(bits: Bits, _: Bits) -> Bits:
    return replace(bits, depends=bits.depends - {"values"})


CHANGES: dict[str, Change] = {
    "extent halved": _scaled(lambda extent: extent // 2),
    "extent doubled": _scaled(lambda extent: extent * 2),
    "extent squared": _scaled(lambda extent: extent * extent),
    "correctly rounded set": _rounded_once,
    "rounding forgotten": _selected,
    "order forgotten": _in_fixed_order,
    "values forgotten": _not_by_values,
}


def of_rules() -> Iterator[Mutant]:
    for kind in sorted(set(kinds.load_kinds().values())):
        for mistake, change in CHANGES.items():
            yield Mutant(f"rule {kind}: {mistake}", mistake, _passes(kind), _wrapped(kind, change), traced=True)
    yield Mutant("rule sum: broadcast forgotten", "broadcast forgotten", _passes("sum"), _unbroadcast, traced=True)


def _passes(kind: str) -> Callable[[Any], bool]:
    return lambda seen: kind in seen.kinds


def _wrapped(kind: str, change: Change) -> Callable[[], contextlib.AbstractContextManager[None]]:
    original = transfer_package.rule_of

    def rule_of(asked: str) -> Any:
        rule = original(asked)
        if asked != kind or rule is None:
            return rule

        @wraps(rule)
        def mistaken(call: Call) -> tuple[Bits, ...]:
            return tuple(change(bits, call.joined()) for bits in rule(call))

        return mistaken

    return lambda: replaced(transfer_package, "rule_of", rule_of)


def _unbroadcast() -> contextlib.AbstractContextManager[None]:
    """The sum of a gradient over the axes of a broadcast, taken for any other sum."""
    original = transfer_package.rule_of

    def rule_of(asked: str) -> Any:
        rule = original(asked)
        return rule and wraps(rule)(lambda call: rule(replace(call, broadcast=False)))

    return replaced(transfer_package, "rule_of", rule_of)


def of_kinds() -> Iterator[Mutant]:
    """Each packet with a kind that is stricter, or with that of a neighbour."""
    known = kinds.load_kinds()
    for packet, kind in sorted(known.items()):
        for other in dict.fromkeys(("select", "arithmetic", "sum-of-two", "sum")):
            if other != kind and transfer_package.rule_of(other) is not None:
                planted = {**known, packet: other}
                yield Mutant(
                    f"kind {packet}: {other} for {kind}", "kind exchanged", _calls(packet), _with_kinds(planted), traced=True
                )


def _calls(packet: str) -> Callable[[Any], bool]:
    return lambda seen: packet in seen.packets or f"{packet}_" in seen.packets


def _with_kinds(planted: dict[str, str]) -> Callable[[], contextlib.AbstractContextManager[None]]:
    return lambda: replaced(kinds, "load_kinds", lambda: planted)
