"""Tail probabilities in closed form, with nothing but `math`: an audit must not wait for SciPy."""

from __future__ import annotations

import math
from functools import lru_cache

_NORMAL_FROM = 24
"""Shapes from here on count as normal: their kurtosis is below 3.13."""


def mixture_tail(ratio: float, shape: float) -> float:
    """P(|x| > ratio deviations) of a normal variable whose variance is a gamma variable of `shape`.

    Shape 1 is the Laplace distribution, infinity the normal one. Whole shapes have a closed form; those between are
    mixed so that the kurtosis 3 (1 + 1/shape) is right.
    """
    if ratio <= 0:
        return 1.0
    if shape >= _NORMAL_FROM:
        return math.erfc(ratio / math.sqrt(2))
    if shape <= 1:
        return _whole_tail(ratio, 1)
    lower = math.floor(shape)
    if shape == lower:
        return _whole_tail(ratio, lower)
    upper = lower + 1
    weight = (1 / shape - 1 / upper) / (1 / lower - 1 / upper)
    above = _whole_tail(ratio, upper) if upper < _NORMAL_FROM else math.erfc(ratio / math.sqrt(2))
    return weight * _whole_tail(ratio, lower) + (1 - weight) * above


def _whole_tail(ratio: float, shape: int) -> float:
    """The tail of a sum of `shape` equal Laplace variables of total variance 1: a polynomial times an exponential."""
    x = ratio * math.sqrt(2 * shape)
    if x > 700:
        return 0.0
    total, power = 0.0, 1.0
    for weight in _weights(shape):
        total += weight * power
        power *= x
    return total * math.exp(-x)


@lru_cache(maxsize=64)
def _weights(shape: int) -> tuple[float, ...]:
    """The coefficients of the polynomial.

    The density of the absolute value is sum_k a_k x^(s-1-k) e^-x with a_k = (s-1+k)! 2^(1-s-k) / ((s-1)! k! (s-1-k)!);
    a term x^p e^-x has the tail p! sum_(j<=p) x^j / j! e^-x.
    """
    order = shape - 1
    weights = [0.0] * shape
    for k in range(shape):
        power = order - k
        factor = math.factorial(order + k) / (2.0 ** (order + k) * math.factorial(order) * math.factorial(k))
        for j in range(power + 1):
            weights[j] += factor / math.factorial(j)
    total = weights[0]
    return tuple(weight / total for weight in weights)


def any_of(count: int, probability: float) -> float:
    """P(at least one of `count` independent elements fails)."""
    return 1.0 if probability >= 1 else -math.expm1(count * math.log1p(-probability))


def more_than(allowed: int, count: int, probability: float) -> float:
    """P(more than `allowed` of `count` elements fail): exact for 0, else a Poisson law, by Wilson-Hilferty above 20."""
    if allowed >= count or probability <= 0:
        return 0.0
    if not allowed:
        return any_of(count, probability)
    rate = count * probability
    if allowed <= 20:
        if rate > 100:
            return 1.0
        term = total = math.exp(-rate)
        for i in range(1, allowed + 1):
            term *= rate / i
            total += term
        return max(0.0, 1 - total) if total < 0.999 else _upper_poisson(allowed, rate, term)
    shape = allowed + 1.0
    deviate = 3 * math.sqrt(shape) * ((rate / shape) ** (1 / 3) - 1 + 1 / (9 * shape))
    return 0.5 * math.erfc(-deviate / math.sqrt(2))


def _upper_poisson(allowed: int, rate: float, term: float) -> float:
    """The terms above `allowed` of a Poisson law whose lower ones sum to nearly 1."""
    total = 0.0
    for i in range(allowed + 1, allowed + 12):
        term *= rate / i
        total += term
    return total
