"""From samples to the distribution of a result and of the difference of two correct ones, down to results near 0.

Tolerances are relative, so elements fail where the result is small. Few samples are there; how their density and their
difference fall off is read from the smallest ones (Hill's estimator and a power law) and carried on towards 0.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from opscan.dataclass import dataclass
from opscan.judging.floating import Format, spacing_at
from opscan.judging.tails import mixture_tail

if TYPE_CHECKING:
    from opscan.judging.drifts.columns import Column

_WINDOWS = 32
_SMALLEST = 32
"""The law of the smallest results is read from so small a part of the samples, and a few more."""
_DECADES = 8
_PLACES = 4
_WIDE = 16.0
_BOUNDED = 2.8
"""Of a thousand normal differences one is almost surely larger than so many deviations."""
_MANY = 900
_BEYOND = 1.1
_SEEN = 0.98
"""Up to this part the ratios that were seen say how often a larger one occurs."""
_KEPT = 256
_COUNTED = 30
_CROSSING = 64
_SHORTFALL = 1.25
"""Near 0 differences are larger in the mean than a few hundred samples show, which miss rare large ones: 1.0 to 1.4
times as large when emulated."""
_FEWEST = 64
"""Of fewer results that are numbers nothing can be said; most cases then hold one that is none."""
_STEEP = 12.0
"""The power with which the largest ratios fall, from which on they are taken for bounded; those of a normal variable
fall with about the sixth."""
_LEAST = 1e-45
"""Smaller results are 0 in every format that is compared."""
_USUAL = math.sqrt(math.pi / 2)
"""Deviation of a normal variable in units of its mean size."""


Pair = tuple[float, float]
"""The size of a result, and the difference of two correct ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """How often a difference is so many deviations: `ratios` seen, in order; beyond them a normal variable of uncertain
    variance (`shape`, see `tails.mixture_tail`), or nothing beyond `reach`, that of few bounded roundings."""

    ratios: tuple[float, ...]
    shape: float
    reach: float

    def beyond(self, ratio: float) -> float:
        """P(|difference| > ratio deviations)."""
        if ratio <= 0:
            return 1.0
        count = len(self.ratios)
        if not count:
            return mixture_tail(ratio, self.shape)
        seen = bisect_left(self.ratios, ratio)
        last = int(count * _SEEN)
        if seen <= last:
            return 1 - seen / count
        edge, left = self.ratios[last], 1 - last / count
        if math.isinf(self.reach):
            return left * mixture_tail(ratio, self.shape) / max(mixture_tail(edge, self.shape), 1e-300)
        return left * max(self.reach - ratio, 0.0) / max(self.reach - edge, 1e-9)


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
    tail: Tail
    seen: tuple[Pair, ...] = ()
    """The samples themselves: size of the result, and of the difference."""
    crossing: tuple[Pair, ...] = ()
    """Of the smallest samples those whose differences are largest against their results, where results cross 0."""
    each: float = 0.0
    """The probability that one of the smallest samples stands for."""
    most: float = math.inf
    """No difference is more times as large as its result."""
    whole: bool = False
    """Differences are those of numbers of the format, their last rounding done."""
    lost: float = 0.0
    """The share of results that are NaN or inf: a golden that holds one passes unread."""

    def scale(self, result: float) -> float:
        """Deviation of the difference at a result."""
        found = self.scales.get(abs(result))
        return math.sqrt(self.alpha + self.beta * result * result) if found is None else found

    @property
    def typical(self) -> float:
        """Root mean square of the result."""
        return math.hypot(self.mean, self.deviation)

    def average(self, share: Callable[[float], float]) -> float:
        """The mean of `share(size)` over the results."""
        return min(1.0, sum(weight * share(size) for size, weight in self.places))

    def borne_out(self, smooth: float, form: Format, atol: float, rtol: float) -> float:
        """`smooth`, the predicted share of elements out of tolerance, as far as the samples bear it out.

        Many that fail are counted, their last rounding done; of few or none no more are taken to than may be.
        """
        smooth = max(smooth, self._beyond_ratio(atol, rtol))
        failing = sum(difference > atol + rtol * size for size, difference in _rounded(self, form))
        count = len(self.seen)
        if not count or failing >= _COUNTED:
            return failing / count if count else smooth
        return min(smooth, (failing + 2 * math.sqrt(failing) + 1) / count)

    def _beyond_ratio(self, atol: float, rtol: float) -> float:
        """The same from the tail of difference / result, which falls with 1 / ratio where results cross 0."""
        if not self.crossing or rtol <= 0:
            return 0.0
        size, difference = self.crossing[-1]
        least = difference / size
        left = [max(1 - atol / one, 0.0) for _, one in self.crossing]
        return math.fsum(left) * self.each * min(least / rtol, 1.0)

    def beyond(self, reach: float) -> float:
        """P(|result| > reach)."""
        return min(1.0, sum(weight for size, weight in self.places if size > reach))


@dataclass(frozen=True, slots=True)
class Level:
    """Samples of the results below a size, and the probability of these."""

    column: Column
    probability: float


@lru_cache(maxsize=256)
def _rounded(spread: Spread, form: Format) -> list[Pair]:
    """The samples with the last rounding of both results done."""
    from random import Random  # here alone: the hook's usual run has nothing composed

    random, found = Random(0).random, []
    for size, difference in spread.seen:
        spacing = spacing_at(size, form)
        found.append((size, spacing * math.floor(difference / spacing + random())))
    return found


def spread_of(levels: Sequence[Level]) -> Spread:
    """The distribution that samples show: those of all results, then those of ever smaller ones."""
    column = levels[0].column
    sampled = column.sampled
    values = [y for y, _ in sampled]
    lost = 1 - len(values) / len(column.values)
    if len(values) < _FEWEST:
        return Spread((), {}, 0.0, 0.0, 0.0, 0.0, Tail((), math.inf, math.inf), lost=1.0)
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
        return Spread(tuple(places), {}, mean, deviation, 0.0, 0.0, Tail((), math.inf, math.inf), lost=lost)
    seen = tuple([(abs(y), abs(d)) for y, d in sampled])
    alpha, beta = _bounds(scales, math.hypot(mean, deviation))
    return Spread(
        tuple(places),
        scales,
        mean,
        deviation,
        alpha,
        beta,
        _tail(tails),
        seen,
        *_crossing(levels[-1]),
        _most(levels),
        column.whole,
        lost,
    )


def _most(levels: Sequence[Level]) -> float:
    """How many times as large as its result a difference is at most: where the largest ratios that are seen crowd at an
    edge, as those of a few roundings to a short format do; without one, no bound."""
    found = math.inf
    for level in levels:
        ratios = sorted((abs(d) / abs(y) for y, d in level.column.sampled if abs(y) > _LEAST), reverse=True)
        top = ratios[: max(len(ratios) // _CROSSING, 16)]
        if len(top) < 16 or not top[-1]:
            return math.inf
        if math.fsum(math.log(one / top[-1]) for one in top) * _STEEP > len(top):
            return math.inf
        found = top[0] if math.isinf(found) else max(found, top[0])
    return _BEYOND * found


def _bounds(scales: dict[float, float], typical: float) -> tuple[float, float]:
    """(alpha, beta): the variance of the difference is at most alpha + beta size^2."""
    alpha = max((scale * scale for size, scale in scales.items() if size <= typical / 4), default=0.0)
    large = [(size, scale) for size, scale in scales.items() if size > typical / 4]
    return alpha, max((max(scale * scale - alpha, 0.0) / (size * size) for size, scale in large), default=0.0)


def _places(level: Level, below: float, tails: list[Sequence[Pair]]) -> list[tuple[float, float, float]]:
    """(size, probability, deviation of the difference) of the results of a level, without those of the next."""
    pairs = sorted((abs(y), d) for y, d in level.column.sampled)
    zeros = sum(size < _LEAST for size, _ in pairs)
    positive = pairs[max(zeros, round(below / level.probability * len(pairs))) :]
    share = level.probability / len(pairs)
    found: list[tuple[float, float, float]] = []
    smallest = [] if below else positive[: min(len(positive) // _SMALLEST + 16, len(positive) // 2)]
    edge = smallest[-1][0] if len(smallest) > 8 else 0.0
    windows = _windows(positive)
    tails += windows
    for window in windows:
        scale, relative = _rms([difference for _, difference in window]), math.inf
        if window[-1][0] > _WIDE * window[0][0]:  # what is usual for the largest says little of the others
            relative = _rms([difference / size for size, difference in window])
        for part in range(_PLACES):
            size = window[(2 * part + 1) * len(window) // (2 * _PLACES)][0]
            if size > edge:
                found.append((size, share * len(window) / _PLACES, min(scale, relative * size)))
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
    falls = _power(spans)
    fixed, growth = _law(positive[: max(len(positive) // 4, len(smallest))])
    found = []
    ratio = 10 ** (-1 / _PLACES)
    upper = 1.0
    for step in range(_DECADES * _PLACES):
        lower = upper * ratio if step < _DECADES * _PLACES - 1 else 0.0
        part = upper**falls - lower**falls
        place = edge * upper * math.sqrt(ratio)
        found.append((place, weight * part, _SHORTFALL * _USUAL * (fixed + growth * place)))
        upper *= ratio
    return found


def _power(spans: Sequence[float]) -> float:
    """P(|result| < t) falls with this power of t (Hill): 1 for results that cross 0, unless the samples refute it."""
    found = min(max(len(spans) / max(math.fsum(spans), 1e-9), 0.1), 50.0)
    return 1.0 if abs(found - 1) < 3 * found / math.sqrt(len(spans)) else found


def _crossing(level: Level) -> tuple[tuple[Pair, ...], float]:
    """The samples of a level with the largest ratios of difference to result, where these fall as they do near a zero
    (Hill), and the probability that each sample stands for."""
    sampled = [(abs(y), abs(d)) for y, d in level.column.sampled]
    steep = sorted((pair for pair in sampled if pair[0] > _LEAST), key=lambda pair: pair[1] / pair[0], reverse=True)
    most = steep[: max(len(steep) // _CROSSING, 16)]
    if len(most) < 16 or not most[-1][1]:
        return (), 0.0
    spans = [math.log(one[1] / one[0] * most[-1][0] / most[-1][1]) for one in most[:-1]]
    falls = len(spans) / max(math.fsum(spans), 1e-9)
    if abs(falls - 1) >= 3 * falls / math.sqrt(len(spans)):
        return (), 0.0
    return tuple(most), level.probability / len(sampled)


def _law(pairs: Sequence[Pair]) -> tuple[float, float]:
    """(a, b): small results y differ by a + b |y| in the mean: parts that cancel leave a, all else is relative.

    An `a` that the samples do not show beyond doubt is none.
    """
    weight = 1 / len(pairs)
    across = [size for size, _ in pairs]
    apart = [abs(difference) for _, difference in pairs]
    middle, usual = math.fsum(across) * weight, math.fsum(apart) * weight
    spread = math.fsum((size - middle) ** 2 for size in across)
    if not spread:
        return usual, 0.0
    pull = math.fsum((size - middle) * d for size, d in zip(across, apart, strict=True)) / spread
    growth = min(max(pull, 0.0), usual / middle)
    fixed = usual - growth * middle
    left = math.fsum((d - fixed - growth * size) ** 2 for size, d in zip(across, apart, strict=True)) * weight
    doubt = math.sqrt(left * (weight + middle * middle / spread))
    return (fixed, growth) if fixed > 2 * doubt else (0.0, usual / middle)


def _tail(windows: Sequence[Sequence[Pair]]) -> Tail:
    """From the differences within windows; the shape from their kurtosis, 3 (1 + 1/shape)."""
    ratios: list[float] = []
    for window in windows:
        scale = _rms([difference for _, difference in window])
        if scale:
            ratios += [abs(difference) / scale for _, difference in window]
    if not ratios:
        return Tail((), math.inf, math.inf)
    ratios.sort()
    excess = math.fsum(ratio**4 for ratio in ratios) / len(ratios) / 3 - 1
    shape = math.inf if excess < 0.05 else max(1.0, 1 / excess)
    bounded = len(ratios) >= _MANY and ratios[-1] < _BOUNDED
    every = max(len(ratios) // _KEPT, 1)
    return Tail(tuple(ratios[::every]), shape, _BEYOND * ratios[-1] if bounded else math.inf)
