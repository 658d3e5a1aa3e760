"""How the bits of a tensor came about, as a value that flows through the ATen calls of a trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import IntEnum

from opscan.dataclass import dataclass
from opscan.model import Step

MAX_PATH = 48
"""Longest path kept; a composite operator can make thousands of calls and a reader needs the first and the last."""


class Level(IntEnum):
    """From the strictest to the loosest; a join takes the larger."""

    CONST = 0
    SELECT = 1
    ROUNDED_ONCE = 2
    """One IEEE rounding of an exact result: the same on every IEEE device."""
    ARITHMETIC = 3
    ACCUMULATED = 4
    RANDOM = 5
    UNKNOWN = 6


@dataclass(frozen=True, slots=True)
class Bits:
    """`addends` is the number of values that have met, through sums alone, in one element so far."""

    level: Level = Level.SELECT
    addends: int = 1
    causes: tuple[str, ...] = ()
    depends: frozenset[str] = frozenset()
    products: bool = False
    path: tuple[Step, ...] = ()
    reason: str = ""
    uninitialised: bool = False


PLAIN = Bits()
CONST = Bits(Level.CONST)
UNINITIALISED = Bits(Level.CONST, uninitialised=True)


def join(parts: Iterable[Bits]) -> Bits:
    """The bits of a result that depends on all of `parts` and adds nothing of its own."""
    known = list(parts)
    if not known:
        return CONST
    if len(known) == 1:
        return known[0]
    loosest = max(known, key=lambda bits: bits.level)
    return Bits(
        level=loosest.level,
        addends=max(bits.addends for bits in known),
        causes=tuple(dict.fromkeys(cause for bits in known for cause in bits.causes)),
        depends=frozenset().union(*(bits.depends for bits in known)),
        products=any(bits.products for bits in known),
        path=_merge_paths([bits.path for bits in known]),
        reason=loosest.reason,
        uninitialised=all(bits.uninitialised for bits in known),
    )


def _merge_paths(paths: list[tuple[Step, ...]]) -> tuple[Step, ...]:
    longest = max(paths, key=len)
    if all(path == longest or not path for path in paths):
        return longest
    merged = tuple(dict.fromkeys(step for path in paths for step in path))
    return merged if len(merged) <= MAX_PATH else merged[: MAX_PATH // 2] + merged[-MAX_PATH // 2 :]


def at_least(bits: Bits, level: Level, *depends: str) -> Bits:
    """`bits` raised to `level` where it is stricter, with `depends` added."""
    return replace(bits, level=max(bits.level, level), depends=bits.depends | frozenset(depends), uninitialised=False)


def round_once(bits: Bits) -> Bits:
    """The result of one IEEE rounding: correctly rounded only if the operands were exact."""
    exact = bits.level <= Level.SELECT
    return at_least(bits, Level.ROUNDED_ONCE if exact else Level.ARITHMETIC)


def round_many(bits: Bits) -> Bits:
    return replace(at_least(bits, Level.ARITHMETIC), products=True)


def accumulate(bits: Bits, count: int, cause: str, *depends: str, fused: bool = False) -> Bits:
    """Add up `count` values whose bits are `bits`.

    Two exact addends are rounded once whatever the order; two rounded ones still in a fixed order, unless the
    products can be `fused` into the sum (then already two depend on which product is rounded). One addend is none, and
    a sum of nothing a constant. A sum of sums has the product of their extents; products of sums count only the larger
    one.
    """
    if bits.level == Level.CONST and not fused:
        return replace(bits, uninitialised=False)
    if count <= 0 and bits.level <= Level.ACCUMULATED:
        return replace(bits, level=Level.CONST, addends=1, causes=(), products=False, uninitialised=False)
    if count <= 1:
        return replace(bits, depends=bits.depends | frozenset(depends) - {"values"}, uninitialised=False)
    total = max(bits.addends, count) if fused else bits.addends * count
    if total == 2 and not fused:
        return replace(round_once(bits), addends=2, depends=bits.depends | frozenset(depends))
    return replace(
        bits,
        level=max(bits.level, Level.ACCUMULATED),
        addends=total,
        causes=tuple(dict.fromkeys((*bits.causes, cause))),
        depends=bits.depends | frozenset(depends),
        products=bits.products or fused or bits.level >= Level.ROUNDED_ONCE,
        uninitialised=False,
    )


def draw_random(bits: Bits) -> Bits:
    return replace(bits, level=max(bits.level, Level.RANDOM), uninitialised=False)


def unknown(bits: Bits, reason: str) -> Bits:
    return replace(bits, level=Level.UNKNOWN, reason=bits.reason or reason, uninitialised=False)


def extend(bits: Bits, step: Step) -> Bits:
    """`bits` with one more call on its path."""
    path = bits.path
    if path and path[-1] == step:
        return bits
    if len(path) >= MAX_PATH:
        path = path[: MAX_PATH - 2] + path[-1:]
    return replace(bits, path=(*path, step))
