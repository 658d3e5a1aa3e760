"""Which elements an interpolated place reads, and how many places read one element, axis by axis."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from opscan.dataclass import dataclass

FILTERS = {"linear": 2, "bilinear": 2, "trilinear": 2, "bicubic": 4, "lanczos": 6}
"""Elements that a filter spans where nothing is made smaller."""
_LARGE = 1 << 13
"""Up to so many places are counted one by one."""
_SURE_DIGITS = 1 << 10
"""A step of a whole number of this part is computed exactly everywhere."""


@dataclass(frozen=True, slots=True)
class Reads:
    """`taps`: the most elements one place reads; `readers`: the most places that read one element.

    `copies`: every place is a copy, its weights being 0 and 1.
    """

    taps: int
    readers: int
    copies: bool


def reads(source: int, target: int, taps: int, *, align: bool, scale: float | None, smooth: bool = False) -> Reads:
    """Interpolation from `source` elements to `target` places with filters of `taps`.

    `align`: the corners of both lie on each other. `scale`: the factor that was asked for instead of the sizes.
    `smooth`: the filter is widened where the target is smaller.
    """
    step = _step(source, target, align=align, scale=scale)
    if source == target and step == 1:
        return Reads(1, 1, copies=True)
    if target > _LARGE:
        widened = taps * max(1, math.ceil(step)) if smooth else taps
        return Reads(min(widened, source), math.ceil(widened / step) + 1 if step else target, copies=False)
    hits: Counter[int] = Counter()
    most, copied = 0, True
    for place in range(target):
        if smooth:
            elements, whole = _smoothed(place, step, source, taps), False
        else:
            elements, whole = _neighbours(_position(place, step, align), source, taps)
        copied = copied and whole
        most = max(most, len(elements))
        hits.update(elements)
    return Reads(most, max(hits.values(), default=0), copies=copied and _is_sure(step))


def _step(source: int, target: int, *, align: bool, scale: float | None) -> Fraction:
    if align:
        return Fraction(source - 1, target - 1) if target > 1 else Fraction(0)
    if scale is not None and scale > 0:
        return 1 / Fraction(scale)
    return Fraction(source, max(target, 1))


def _is_sure(step: Fraction) -> bool:
    """Whether all devices compute the same places."""
    return step.denominator <= _SURE_DIGITS and step.denominator & (step.denominator - 1) == 0


def _position(place: int, step: Fraction, align: bool) -> Fraction:
    return place * step if align else (place + Fraction(1, 2)) * step - Fraction(1, 2)


def _neighbours(position: Fraction, source: int, taps: int) -> tuple[set[int], bool]:
    """The elements with a weight, and whether one of them has all of it."""
    if taps == FILTERS["linear"]:
        position = min(max(position, Fraction(0)), Fraction(source - 1))
    first = math.floor(position)
    if position == first:
        return {min(max(first, 0), source - 1)}, True
    return set(_within(first - taps // 2 + 1, first + taps // 2, source)), False


def _within(first: int, last: int, source: int) -> Iterator[int]:
    for element in range(first, last + 1):
        yield min(max(element, 0), source - 1)


def _smoothed(place: int, step: Fraction, source: int, taps: int) -> set[int]:
    support = Fraction(taps, 2) * max(step, Fraction(1))
    center = (place + Fraction(1, 2)) * step
    first = max(int(center - support + Fraction(1, 2)), 0)
    return set(range(first, min(int(center + support + Fraction(1, 2)), source)))
