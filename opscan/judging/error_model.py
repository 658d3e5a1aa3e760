"""How far two correct kernels drift apart: the error model behind adequacy.

A sum of n addends is rounded at every node of its order of addition. A node that holds m addends has, given the final
sum s, the mean square m (1 - m/n) var + (m s / n)^2 (a bridge from 0 to s), and its rounding adds ROUNDING_VARIANCE
u^2 of that to the error: the square-root growth of the probabilistic bounds (Higham and Mary 2019), with the constant
that rounding to nearest has. So the variance of the error is alpha + beta s^2, with alpha and beta sums over the nodes
(orders.py). Its tail lies between a Laplace and a normal one: the squared partial sums of one chain vary much from
element to element, those of a tree hardly.

Unless an order is given, the kernel takes the worst that is still legitimate. The golden is computed on a machine that
nobody has seen: it takes the framework's own order only where that is the same on every CPU, else one chain.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from opscan.dataclass import dataclass
from opscan.judging.floating import FORMATS, HF32_INPUT_ROUNDOFF
from opscan.judging.orders import Grid, Order, cascade, chain, legitimate, nodes_of

ROUNDING_VARIANCE = 0.2
"""Mean square of one rounding in units of (u x value)^2. An error that is uniform in half a spacing, averaged over the
binade, gives 0.18, and dropping a single bit 1.5 times that; measured 0.15 to 0.26 for chains, trees and lanes of 4 to
4,096 addends, uniform and normal, around 0 and one-sided."""

_STALLED = 0.25
"""Squared share of the result that a chain misses which stalls half-way."""

UNALIGNED = 2.5
"""Additions of short-format addends that round, in units of partial sum / (addend x 2^spare bits)."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The difference of two correct results before their last rounding, and the distribution of the result itself.

    The result is normal with `mean` and `deviation`; the difference has the variance alpha + beta result^2, and never
    exceeds `most` x |result|. `unevenness` shapes its tail: see `orders.Nodes`.
    """

    mean: float
    deviation: float
    alpha: float
    beta: float
    most: float = math.inf
    unevenness: float = 1.0

    def scale(self, result: float) -> float:
        """Deviation of the difference, given the result."""
        return math.sqrt(self.alpha + self.beta * result * result)

    def shape(self, result: float) -> float:
        """Shape of the tail, given the result: what a large result adds to the variance is the same everywhere."""
        if not self.alpha or not self.unevenness:
            return math.inf
        whole = 1.0 + self.beta * result * result / self.alpha
        return whole * whole / self.unevenness

    @property
    def typical(self) -> float:
        """Root mean square of the result."""
        return math.hypot(self.mean, self.deviation)


@dataclass(frozen=True, slots=True)
class Addends:
    """Where the addends come from; the fields are those of `adequacy.failure_probability`."""

    low: float
    high: float
    distribution: str = "uniform"
    products: bool = False
    roundings: int = 1
    accumulator: str = "fp32"
    cancels: bool = True
    density: float = 1.0
    """The share of addends that a mask lets through; the others are zero."""
    factors: str = ""
    """The format that the factors of products are shortened to, where it is not that of the output (hf32)."""
    factor_roundoff: float = HF32_INPUT_ROUNDOFF
    """The largest relative error of such a factor."""
    kernel: tuple[float, ...] | None = None
    """The fans of the kernel's order (orders.py); None for the worst legitimate one."""
    order: Order | None = None
    """The orders of the kernel's device, of which the worst is taken; None for those of all devices."""
    golden: str = "framework"
    """How the golden adds: as the `framework` sums on any CPU; in one `chain`, which no order of a BLAS, a scatter or a
    loop strays from much farther, as long as it may be; in one `native` chain, kept in the format of the output;
    `exact`: in float64, rounded back."""

    def moments(self) -> tuple[float, float, float]:
        """Mean, variance and mean square of one addend. Raises ValueError for a range that has none."""
        if not (math.isfinite(self.low) and math.isfinite(self.high)) or self.low > self.high:
            raise ValueError(f"a range needs two finite bounds in order, not [{self.low}, {self.high}]")
        if self.distribution not in ("uniform", "normal"):
            raise ValueError(f"unknown distribution {self.distribution!r}: uniform or normal")
        width = self.high - self.low
        mean, variance = (self.low + self.high) / 2, width * width / (12 if self.distribution == "uniform" else 4)
        square = mean * mean + variance
        if self.products:
            mean, square = mean * mean, square * square
        mean, square = self.density * mean, self.density * square
        if not math.isfinite(square):
            raise ValueError(f"a range of [{self.low:g}, {self.high:g}] is too wide for the error model")
        return mean, max(square - mean * mean, 0.0), square

    def rounding_variance(self) -> float:
        """ROUNDING_VARIANCE of a single value as it is drawn: a third of a squared spacing's share of the square."""
        if self.distribution != "uniform" or self.high <= self.low:
            return 0.18
        square = (self.high**3 - self.low**3) / (3 * (self.high - self.low))
        return (_squared_binade(self.high) - _squared_binade(self.low)) / (3 * (self.high - self.low) * square)


def _squared_binade(value: float) -> float:
    """The integral of 4^floor(log2 |x|) from 0 to a value, odd in it."""
    if not value:
        return 0.0
    size, exponent = math.frexp(abs(value))
    below = math.ldexp(1.0, exponent - 1)
    return math.copysign(below**3 / 7 + below * below * (2 * size * below - below), value)


@lru_cache(maxsize=65536)
def drift(dtype: str, extent: int, addends: Addends) -> Drift:
    """The drift of a sum of `extent` addends, each rounded `roundings - 1` times to `dtype` on its way.

    Products are rounded in the accumulator's format on one of the two sides.
    """
    mean, variance, square = addends.moments()
    if _is_exact(extent, addends, variance):
        return Drift(extent * mean, 0.0, 0.0, 0.0)
    unit = FORMATS[addends.accumulator].roundoff
    inner = ROUNDING_VARIANCE * unit * unit
    alpha = beta = unevenness = 0.0
    most = math.inf
    if extent > 2:
        own = [_side(dtype, extent, addends, fans) for fans in _fans(extent, addends)]
        strays = max(
            own, key=lambda side: side.alpha * variance + side.beta * extent * (variance + extent * mean * mean)
        )
        sides = [strays, *_golden_side(dtype, extent, addends)]
        alpha = sum(side.alpha for side in sides) * variance
        beta = sum(side.beta for side in sides)
        varied = sum((side.alpha * variance) ** 2 * side.unevenness for side in sides)
        unevenness = varied / (alpha * alpha) if alpha else 0.0
    alike = 1 if addends.golden == "exact" else 2
    addend_noise = alike * addends.rounding_variance() * FORMATS[dtype].roundoff ** 2 * max(addends.roundings - 1, 0)
    if addends.products:
        addend_noise += inner if extent > 1 or addends.accumulator != dtype else 0.0
        if "hf32" in (dtype, addends.factors):
            addend_noise += 2 * addends.rounding_variance() * addends.factor_roundoff**2
    if extent > 1:
        noise = addend_noise * extent * square
        unevenness = _mixed(unevenness, alpha, 2.0 / extent, noise)
        alpha += noise
    elif addends.cancels:
        alpha += addend_noise * square
        unevenness = 1.0
    else:
        beta += addend_noise
        if not addends.products:
            most = FORMATS[dtype].epsilon * max(addends.roundings - 1, 0)
    return Drift(extent * mean, math.sqrt(extent * variance), alpha, beta, most, unevenness)


def _fans(extent: int, addends: Addends) -> tuple[tuple[float, ...], ...]:
    return (addends.kernel,) if addends.kernel else legitimate(extent, addends.order)


@dataclass(frozen=True, slots=True)
class _Side:
    """What one of the two sides adds: `alpha` per variance of an addend, and `beta`."""

    alpha: float
    beta: float
    unevenness: float


def _side(dtype: str, extent: int, addends: Addends, fans: tuple[float, ...]) -> _Side:
    nodes, unit = nodes_of(fans, extent, _grid(dtype, addends)), FORMATS[addends.accumulator].roundoff
    inner = ROUNDING_VARIANCE * unit * unit
    return _Side(inner * nodes.spread, inner * nodes.growth / (extent * extent), nodes.unevenness)


def _golden_side(dtype: str, extent: int, addends: Addends) -> list[_Side]:
    if addends.golden == "exact":
        return []
    if addends.golden == "framework":
        return [_side(dtype, extent, addends, cascade(extent))]
    held = addends if addends.golden == "chain" else replace(addends, accumulator=dtype)
    side = _side(dtype, extent, held, chain(extent))
    if _stalls(extent, held):
        side = replace(side, beta=side.beta + _STALLED)
    return [side]


@lru_cache(maxsize=4096)
def sum_noise(
    extent: int,
    mean: float,
    variance: float,
    accumulator: str = "fp32",
    *,
    golden: str = "framework",
    order: Order | None = None,
    bits: int = 0,
) -> tuple[float, float]:
    """(alpha, beta) of a sum of float addends that is one step of a formula: the kernel in the worst legitimate order,
    of its device where `order` is given, the golden as in `Addends.golden`, framework or chain. `bits`: fraction bits
    of an addend, if it has few."""
    unit = FORMATS[accumulator].roundoff
    inner = ROUNDING_VARIANCE * unit * unit
    square, spare = variance + mean * mean, FORMATS[accumulator].fraction - bits
    grid = Grid(variance / square, mean * mean / square, UNALIGNED / 2.0**spare) if bits and spare and square else None
    strays = [nodes_of(fans, extent, grid) for fans in legitimate(extent, order)]
    widest = max(strays, key=lambda n: n.spread * variance + n.growth / extent * (variance + extent * mean * mean))
    own = nodes_of(chain(extent) if golden == "chain" else cascade(extent), extent, grid)
    return inner * (widest.spread + own.spread) * variance, inner * (widest.growth + own.growth) / extent**2


def _stalls(extent: int, addends: Addends) -> bool:
    """Whether the partial sums of a chain become so large that an addend no longer changes them."""
    mean, _, square = addends.moments()
    return extent * abs(mean) > 2.0 ** (FORMATS[addends.accumulator].fraction + 1) * math.sqrt(square)


def _is_exact(extent: int, addends: Addends, variance: float) -> bool:
    """Whether every partial sum has a value of its own in the accumulator: equal addends of few bits, such as 1."""
    if variance or addends.products or addends.roundings > 1:
        return False
    bits, _ = abs(addends.low).as_integer_ratio()
    return bool(extent * bits < 2.0 ** (FORMATS[addends.accumulator].fraction + 1))


def _mixed(first: float, weight: float, second: float, other: float) -> float:
    """The unevenness of two independent parts of a variance."""
    whole = weight + other
    return (first * weight * weight + second * other * other) / (whole * whole) if whole else 0.0


def _grid(dtype: str, addends: Addends) -> Grid | None:
    """The grid of a short format's addends; None where every addition rounds.

    Adding one is exact until the partial sum outgrows the accumulator's spare bits, so only the addends near 0 round. A
    product has twice the bits of a factor.
    """
    fraction = FORMATS[dtype].fraction
    spare = FORMATS[addends.accumulator].fraction - (2 * fraction + 1 if addends.products else fraction)
    mean, variance, square = addends.moments()
    if spare <= 0 or not square:
        return None
    return Grid(variance / square, mean * mean / square, UNALIGNED / 2.0**spare)
