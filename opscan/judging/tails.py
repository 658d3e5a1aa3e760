"""Tail probabilities in closed form, with nothing but `math`: an audit must not wait for SciPy."""

from __future__ import annotations

import math


def laplace_against_normal(steepness: float, offset: float) -> float:
    """The mean of exp(-steepness |z|) for z normal with mean `offset` and deviation 1."""
    offset = abs(offset)
    right = (
        0.5 * math.exp(-offset * offset / 2) * scaled_erfc((steepness - offset) / math.sqrt(2))
        if steepness >= offset
        else 0.5 * math.exp(steepness * (steepness / 2 - offset)) * math.erfc((steepness - offset) / math.sqrt(2))
    )
    left = 0.5 * math.exp(-offset * offset / 2) * scaled_erfc((steepness + offset) / math.sqrt(2))
    return min(1.0, right + left)


def scaled_erfc(x: float) -> float:
    """exp(x^2) erfc(x) for x >= 0."""
    if x < 5:
        return math.exp(x * x) * math.erfc(x)
    inverse = 1 / (x * x)
    return (1 - inverse / 2 * (1 - 1.5 * inverse * (1 - 2.5 * inverse))) / (x * math.sqrt(math.pi))


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
