"""From samples to the distribution of a result and of the difference of two correct ones, down to results near 0.

Tolerances are relative, so elements fail where the result is small. Few samples are there; how their density and their
difference fall off is read from the smallest ones (Hill's estimator and a power law) and carried on towards 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from opscan.dataclass import dataclass
from opscan.judging.drifts.sampling import Column, Untold, is_told

_WINDOWS = 32
_SMALLEST = 32
"""The law of the smallest results is read from so small a part of the samples, and a few more."""
_DECADES = 8
_PLACES = 4
_HALF = 0.5
_LEAST = 1e-45
"""Smaller results are 0 in every format that is compared."""
_USUAL = math.sqrt(math.pi / 2)
"""Deviation of a normal variable in units of its mean size."""
Pair = tuple[float, float]
"""The size of a result, and the difference of two correct ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Results at which differences are looked at: `places` (size, probability); `scales`: the deviation of the
    difference there. `alpha` and `beta` bound its variance by alpha + beta size^2."""

    places: tuple[tuple[float, float], ...]
    scales: dict[float, float]
    mean: float
    deviation: float
    alpha: float
    beta: float
    tail: float
    most: float = math.inf

    def scale(self, result: float) -> float:
        """Deviation of the difference at a result."""
        found = self.scales.get(abs(result))
        return math.sqrt(self.alpha + self.beta * result * result) if found is None else found

    def shape(self, result: float) -> float:  # noqa: ARG002  the same everywhere
        """Shape of the tail of the difference: see `tails.mixture_tail`."""
        return self.tail

    @property
    def typical(self) -> float:
        """Root mean square of the result."""
        return math.hypot(self.mean, self.deviation)

    def average(self, share: Callable[[float], float]) -> float:
        """The mean of `share(size)` over the results."""
        return min(1.0, sum(weight * share(size) for size, weight in self.places))

    def beyond(self, reach: float) -> float:
        """P(|result| > reach)."""
        return min(1.0, sum(weight for size, weight in self.places if size > reach))


@dataclass(frozen=True, slots=True)
class Level:
    """Samples of the results below a size, and the probability of these."""

    column: Column
    probability: float


def spread_of(levels: Sequence[Level]) -> Spread:
    """The distribution that samples show: those of all results, then those of ever smaller ones.

    Raises Untold where most of the results lie outside a function's domain.
    """
    column = levels[0].column
    values = [y for y, d in zip(column.values, column.difference, strict=True) if is_told(y) and is_told(d)]
    if len(values) < _HALF * len(column.values):
        raise Untold("a function outside of its domain")
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    places: list[tuple[float, float]] = []
    scales: dict[float, float] = {}
    tails: list[Sequence[Pair]] = []
    for place, level in enumerate(levels):
        below = levels[place + 1].probability if place + 1 < len(levels) else 0.0
        for size, weight, scale in _places(level, below, tails):
            places.append((size, weight))
            scales[size] = scale
    if not any(scales.values()):
        return Spread(tuple(places), {}, mean, deviation, 0.0, 0.0, math.inf)
    alpha, beta = _bounds(scales, math.hypot(mean, deviation))
    return Spread(tuple(places), scales, mean, deviation, alpha, beta, _tail(tails))


def _bounds(scales: dict[float, float], typical: float) -> tuple[float, float]:
    """(alpha, beta): the variance of the difference is at most alpha + beta size^2."""
    alpha = max((scale * scale for size, scale in scales.items() if size <= typical / 4), default=0.0)
    large = [(size, scale) for size, scale in scales.items() if size > typical / 4]
    return alpha, max((max(scale * scale - alpha, 0.0) / (size * size) for size, scale in large), default=0.0)


def _places(level: Level, below: float, tails: list[Sequence[Pair]]) -> list[tuple[float, float, float]]:
    """(size, probability, deviation of the difference) of the results of a level, without those of the next."""
    column = level.column
    pairs = [(abs(y), d) for y, d in zip(column.values, column.difference, strict=True) if is_told(y) and is_told(d)]
    pairs.sort()
    zeros = sum(size < _LEAST for size, _ in pairs)
    positive = pairs[max(zeros, round(below / level.probability * len(pairs))) :]
    share = level.probability / len(pairs)
    found: list[tuple[float, float, float]] = []
    smallest = [] if below else positive[: min(len(positive) // _SMALLEST + 16, len(positive) // 2)]
    edge = smallest[-1][0] if len(smallest) > 8 else 0.0
    windows = _windows(positive)
    tails += windows
    for window in windows:
        scale = _rms([difference for _, difference in window])
        for part in range(_PLACES):
            size = window[(2 * part + 1) * len(window) // (2 * _PLACES)][0]
            if size > edge:
                found.append((size, share * len(window) / _PLACES, scale))
    left = share * len(positive) - math.fsum(weight for _, weight, _ in found)
    found += _towards_zero(positive, smallest, edge, left)
    if zeros and not below:
        found.append((0.0, share * zeros, _rms([difference for _, difference in pairs[:zeros]])))
    return found


def _windows(pairs: Sequence[Pair]) -> list[Sequence[Pair]]:
    length = max(len(pairs) // _WINDOWS, 8)
    return [pairs[start : start + length] for start in range(0, len(pairs), length)]


def _rms(values: Sequence[float]) -> float:
    return math.sqrt(math.fsum(value * value for value in values) / max(len(values), 1))


def _towards_zero(
    positive: Sequence[Pair], smallest: Sequence[Pair], edge: float, weight: float
) -> list[tuple[float, float, float]]:
    """(size, probability, deviation of the difference) of results below the edge."""
    if not edge or weight <= 0:
        return []
    spans = [math.log(edge / size) for size, _ in smallest[:-1]]
    falls = min(max(len(spans) / max(math.fsum(spans), 1e-9), 0.1), 50.0)
    steep = _steepness(positive)
    # far below the edge an element fails as often as its difference is large: the mean decides, not rare large ones
    base = _USUAL * math.fsum(abs(difference) / (size / edge) ** steep for size, difference in smallest) / len(smallest)
    found = []
    ratio = 10 ** (-1 / _PLACES)
    upper = 1.0
    for step in range(_DECADES * _PLACES):
        lower = upper * ratio if step < _DECADES * _PLACES - 1 else 0.0
        part = upper**falls - lower**falls
        place = edge * upper * math.sqrt(ratio)
        found.append((place, weight * part, base * (place / edge) ** steep))
        upper *= ratio
    return found


def _steepness(positive: Sequence[Pair]) -> float:
    """With which power of the result its difference grows near 0: 0 where parts cancel, 1 where it is relative."""
    length = max(len(positive) // 64, 16)
    parts = [positive[start : start + length] for start in range(0, 6 * length, length)]
    points = []
    for part in parts:
        if len(part) < length or not any(difference for _, difference in part):
            continue
        points.append(tuple(math.log(math.fsum(map(abs, axis))) for axis in zip(*part, strict=True)))
    if len(points) < 3:
        return 0.0
    middle = [sum(axis) / len(points) for axis in zip(*points, strict=True)]
    across = sum((x - middle[0]) ** 2 for x, _ in points)
    slope = sum((x - middle[0]) * (y - middle[1]) for x, y in points) / across if across > 1e-6 else 0.0
    return 0.0 if slope < 0.3 else 1.0 if slope > 0.7 else slope


def _tail(windows: Sequence[Sequence[Pair]]) -> float:
    """The shape of the tail from the kurtosis within windows: 3 (1 + 1/shape)."""
    fourth = second = 0.0
    for window in windows:
        scale = _rms([difference for _, difference in window])
        if scale:
            fourth += math.fsum((difference / scale) ** 4 for _, difference in window)
            second += len(window)
    excess = fourth / second / 3 - 1 if second else 0.0
    return math.inf if excess < 0.05 else max(1.0, 1 / excess)
