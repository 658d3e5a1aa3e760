"""The samples of one term, and what a function of one element makes of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from opscan.dataclass import dataclass, replace
from opscan.judging.drifts.draw import Untold, is_told
from opscan.judging.drifts.functions import UNARY
from opscan.judging.drifts.sums import Rare

Group = tuple[Any, ...]
Leaf = tuple[str, tuple[Any, ...], Any]
"""`input` or `upstream`, which one, and which place of it (None: the element's own)."""


@dataclass(slots=True)
class Column:
    """The samples of one term.

    `own`: the parts of the difference that each element has for itself; `shared`: those that all the elements of a
    group have in common, by group. `leaf`: the input that these samples are of; `scale`: a number that only moves
    the exponent; `dtype`: the format they were stored in, as far as it matters: float32 adds up most numbers of a
    short one exactly. `rare`: the outliers among the elements.
    """

    values: list[float]
    own: list[float]
    shared: dict[Group, list[float]]
    leaf: Leaf | None = None
    scale: bool = False
    dtype: str = ""
    rare: Rare | None = None
    bits: int = 0
    """The fraction bits of exact products of two numbers of a short format, which float32 has room for."""
    whole: bool = False
    """Of results: most differences are those of numbers of the format, their last rounding done."""

    @property
    def difference(self) -> list[float]:
        if not self.shared:
            return self.own
        return [sum(parts) for parts in zip(self.own, *self.shared.values(), strict=True)]

    @property
    def sampled(self) -> list[tuple[float, float]]:
        """Value and difference of every sample that is a number."""
        return [pair for pair in zip(self.values, self.difference, strict=True) if all(map(is_told, pair))]


def pointwise(name: str, given: Sequence[Column]) -> Column:
    if name in UNARY:
        function = UNARY[name]
        pairs = [_or_nan(function, x) for x in given[0].values]
        slopes = [slope for _, slope in pairs]
        return passed([value for value, _ in pairs], [(slopes, given[0])])
    if name == "where":
        chosen = [bool(value) for value in given[0].values]
        values = [x if which else y for which, x, y in zip(chosen, given[1].values, given[2].values, strict=True)]
        left, right = [float(which) for which in chosen], [float(not which) for which in chosen]
        return passed(values, [(left, given[1]), (right, given[2])])
    first, second = given
    x, y = first.values, second.values
    if name in ("maximum", "minimum"):
        above = [(a >= b) == (name == "maximum") for a, b in zip(x, y, strict=True)]
        values = [a if which else b for which, a, b in zip(above, x, y, strict=True)]
        return passed(values, [([float(w) for w in above], first), ([float(not w) for w in above], second)])
    if name in ("less", "equal"):
        same = [float(a < b) if name == "less" else float(a == b) for a, b in zip(x, y, strict=True)]
        return Column(same, [0.0] * len(given[0].values), {})
    if name == "add":
        return passed([a + b for a, b in zip(x, y, strict=True)], [(None, first), (None, second)])
    if name == "sub":
        values = [a - b for a, b in zip(x, y, strict=True)]
        return passed(values, [(None, first), ([-1.0] * len(x), second)])
    if name == "mul":
        product = passed([a * b for a, b in zip(x, y, strict=True)], [(y, first), (x, second)])
        return product if first.rare is None and second.rare is None else replace(product, rare=_either(first, second))
    if name == "div":
        values = [a / b if b else math.nan for a, b in zip(x, y, strict=True)]
        by = [1 / b if b else math.nan for b in y]
        return passed(values, [(by, first), ([-v * b for v, b in zip(values, by, strict=True)], second)])
    if name == "power":
        values = [_power(a, b) for a, b in zip(x, y, strict=True)]
        of_base = [v * b / a if a else 0.0 for v, a, b in zip(values, x, y, strict=True)]
        of_exponent = [v * math.log(a) if a > 0 else 0.0 for v, a in zip(values, x, strict=True)]
        return passed(values, [(of_base, first), (of_exponent, second)])
    raise Untold(name)


def passed(values: list[float], parts: Sequence[tuple[list[float] | None, Column]]) -> Column:
    """A column with what its operands carry, each times its derivative (None: 1)."""
    own = _combined([(slopes, column.own) for slopes, column in parts])
    groups = {group: None for _, column in parts for group in column.shared}
    shared = {
        group: _combined([(slopes, column.shared[group]) for slopes, column in parts if group in column.shared])
        for group in groups
    }
    return Column(values, own, shared)


def _combined(parts: Sequence[tuple[list[float] | None, list[float]]]) -> list[float]:
    total: list[float] | None = None
    for slopes, carried in parts:
        scaled = carried if slopes is None else [s * c if c else 0.0 for s, c in zip(slopes, carried, strict=True)]
        total = scaled if total is None else [a + b for a, b in zip(total, scaled, strict=True)]
    return total or []


def _or_nan(function: Callable[[float], tuple[float, float]], x: float) -> tuple[float, float]:
    try:
        return function(x)
    except (ValueError, OverflowError, ZeroDivisionError):
        return math.nan, math.nan


def _power(base: float, exponent: float) -> float:
    try:
        value = math.pow(base, exponent)
    except (ValueError, OverflowError, ZeroDivisionError):
        return math.nan
    return value


def _either(first: Column, second: Column) -> Rare:
    """The outliers of a product: of the one factor or of the other."""
    usual = [column.values if column.rare is None else column.rare.usual for column in (first, second)]
    found = [column.rare for column in (first, second) if column.rare is not None]
    share, factor = sum(one.share for one in found), max(one.factor for one in found)
    return Rare(share, factor, [a * b for a, b in zip(*usual, strict=True)])
