"""How far two correct kernels drift apart: the error model behind adequacy.

A sum of n addends is rounded at every node of its order of addition. A node that holds m addends has, given the final
sum s, the mean square m (1 - m/n) var + (m s / n)^2 (a bridge from 0 to s), and its rounding adds ROUNDING_VARIANCE
u^2 of that to the error. So the variance of the error is alpha + beta s^2, with alpha and beta sums over the nodes.
Near s = 0, where tolerances fail, the error of one long chain is a scale mixture of normals whose scale is the area
under a squared bridge; that is a Laplace distribution to within the calibration
(tests/judging/test_adequacy_calibration.py).

The kernel takes the worst order that is still legitimate: one chain up to 4,096 addends, tiles of 4,096 added in turn
up to 32,768, eight lanes up to 65,536, chains of 8,192 beyond. The golden takes a tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from opscan.judging.floating import FORMATS, HF32_INPUT_ROUNDOFF

ROUNDING_VARIANCE = 0.22
"""Mean square of one rounding in units of (u x value)^2: 1/12 of a squared spacing, averaged over the binade; measured
0.18 to 0.24 for n = 3 to 4,096, from the upper half of which this is taken."""

UNALIGNED = 5.0
"""Additions of short-format addends that round, in units of partial sum / (addend x 2^spare bits). Measured on fp16 and
bf16 for n = 16 to 4,096: the deviation of the error is 0.64 to 1.14 of the model's for ranges around 0, and down to a
third of it for one-sided ranges, where the model is too cautious."""

LONGEST_SINGLE_CHAIN = 4096
LONGEST_LANE_CHAIN = 8192


@dataclass(frozen=True, slots=True)
class Drift:
    """The difference of two correct results before their last rounding, and the distribution of the result itself.

    The result is normal with `mean` and `deviation`; the difference has the variance alpha + beta result^2, and never
    exceeds `most` x |result|.
    """

    mean: float
    deviation: float
    alpha: float
    beta: float
    most: float = math.inf

    def scale(self, result: float) -> float:
        """Scale of the Laplace distribution of the difference, given the result."""
        return math.sqrt((self.alpha + self.beta * result * result) / 2)


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
            mean, variance, square = mean * mean, square * square - (mean * mean) * (mean * mean), square * square
        if not math.isfinite(square):
            raise ValueError(f"a range of [{self.low:g}, {self.high:g}] is too wide for the error model")
        return mean, variance, square


@lru_cache(maxsize=65536)
def drift(dtype: str, extent: int, addends: Addends) -> Drift:
    """The drift of a sum of `extent` addends, each rounded `roundings - 1` times to `dtype` on its way.

    Products are rounded in the accumulator's format on one of the two sides.
    """
    mean, variance, square = addends.moments()
    unit = FORMATS[addends.accumulator].roundoff
    inner = ROUNDING_VARIANCE * unit * unit
    alpha = beta = 0.0
    most = math.inf
    if extent > 2:
        spread, growth = _order_sums(extent)
        finer = _unaligned_share(dtype, extent, addends)
        alpha += inner * finer * variance * spread
        beta += inner * finer * growth / (extent * extent)
    addend_noise = 2 * ROUNDING_VARIANCE * FORMATS[dtype].roundoff ** 2 * max(addends.roundings - 1, 0)
    if addends.products:
        addend_noise += inner if extent > 1 or addends.accumulator != dtype else 0.0
        if dtype == "hf32":
            addend_noise += 2 * ROUNDING_VARIANCE * HF32_INPUT_ROUNDOFF**2
    if extent > 1:
        alpha += addend_noise * extent * square
    elif addends.cancels:
        alpha += addend_noise * square
    else:
        beta += addend_noise
        if not addends.products:
            most = FORMATS[dtype].epsilon * max(addends.roundings - 1, 0)
    return Drift(extent * mean, math.sqrt(extent * variance), alpha, beta, most)


def _order_sums(n: int) -> tuple[float, float]:
    """Sums over the inner nodes of the kernel's worst order and of the golden's tree: m (1 - m/n), and m^2."""
    chain = chain_length(n)
    tiles = n / chain
    spread = tiles * (chain * chain / 2 - chain**3 / (3 * n)) if tiles > 1 else (n * n - 1) / 6 - 1 + 1 / n
    growth = n * chain * chain / 3 if tiles > 1 else (n - 1) * n * (2 * n - 1) / 6 - 1
    if tiles > 1:
        spread += chain * ((tiles * tiles - 1) / 6 - 1 + 1 / tiles)
        growth += chain * chain * ((tiles - 1) * tiles * (2 * tiles - 1) / 6)
    levels = math.log2(n)
    return spread + max(n * (levels - 2) + 2, 0.0), growth + n * (n - 2)


def chain_length(n: int) -> float:
    """How many addends the worst legitimate order puts through one accumulator in a row."""
    if n <= 8 * LONGEST_SINGLE_CHAIN:
        return float(min(n, LONGEST_SINGLE_CHAIN))
    return min(n / 8, float(LONGEST_LANE_CHAIN))


def _unaligned_share(dtype: str, n: int, addends: Addends) -> float:
    """The share of additions that round at all.

    A short format's addend lies on a coarse grid: adding it is exact until the partial sum outgrows the accumulator's
    spare bits, so only the addends near 0 round. Products fill the accumulator.
    """
    spare = FORMATS[addends.accumulator].fraction - FORMATS[dtype].fraction
    if addends.products or spare <= 0:
        return 1.0
    mean, variance, square = addends.moments()
    partial = math.sqrt(n * variance / 6 + (n * mean) ** 2 / 3)
    return min(1.0, UNALIGNED * partial / (math.sqrt(square) * 2.0**spare)) if square else 1.0
