"""The step of a dtype's ladder that the error model alone recommends."""

from __future__ import annotations

from opscan.judging.adequacy import DEFAULT_RANGE, failure_probability, walk_ladder
from opscan.judging.pass_rules import Rule


def strictest_adequate(
    dtype: str,
    extent: int,
    outputs: int,
    low: float = DEFAULT_RANGE[0],
    high: float = DEFAULT_RANGE[1],
    *,
    products: bool = False,
    roundings: int = 1,
    cancels: bool = True,
) -> tuple[str, float]:
    """The first step that correct kernels fail in less than 1 % of the cases, and how often they do."""

    def rate_of(rule: Rule) -> float:
        return failure_probability(
            rule, dtype, extent, outputs, low, high, products=products, roundings=roundings, cancels=cancels
        )

    alike = roundings == 1 and extent <= (1 if products else 2)
    name, rate, fits = walk_ladder(dtype, rate_of, 0.01, exact=alike)
    assert fits
    return name, rate
