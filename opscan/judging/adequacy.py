"""Is a standard adequate: do correct kernels pass it, whatever legitimate order they add in?

`failure_probability` predicts how often a correct kernel fails one case under a rule; `strictest_adequate` walks the
ladder of a dtype. Closed forms of the error model, so that an audit can ask thousands of times.

Assumptions, all of which loosen rather than tighten the answer: the kernel adds in the worst legitimate order (see
error_model), elements fail independently, and extents above 64 count as the next eighth of an octave.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from opscan.judging.error_model import Addends, Drift, drift
from opscan.judging.floating import FORMATS, PARTS, part_of
from opscan.judging.pass_rules import Rule, allowed_failures
from opscan.judging.standards import Standards, load_standards
from opscan.judging.tails import any_of, laplace_against_normal, more_than

ADEQUATE = 0.01
"""A standard is adequate while fewer than this share of correct cases fail it."""

DEFAULT_RANGE = (-5.0, 5.0)
"""ATK's own default for an input without ranges, in its uniform half; the upstream gradient is assumed to have it."""

_NODES = 48


def failure_probability(  # noqa: PLR0913
    rule: Rule,
    dtype: str,
    extent: int,
    outputs: int,
    low: float = DEFAULT_RANGE[0],
    high: float = DEFAULT_RANGE[1],
    *,
    distribution: str = "uniform",
    products: bool = False,
    roundings: int = 1,
    accumulator: str | None = None,
    cancels: bool = True,
) -> float:
    """The probability that a correct kernel fails a case of `outputs` elements, each a sum of `extent` addends.

    Addends lie in [low, high] (normal: low and high are mean -+ one deviation). `products`: each addend is a product of
    two such values. `roundings`: how often a value is rounded to `dtype` on its way, the last time included; the two
    sides may do the earlier ones differently. `accumulator`: the format that sums are kept in (default fp32, and fp64
    for fp64). `cancels`: with extent 1, whether the rounded parts can cancel. Raises ValueError for a range without
    finite bounds, a dtype without a format, or a rule that compares more than an output with its golden.
    """
    if extent < 1 or outputs < 0 or roundings < 0:
        raise ValueError(f"extent {extent}, outputs {outputs} and roundings {roundings} must not be negative")
    part = part_of(dtype)
    if part not in FORMATS:
        if dtype.lstrip("u").startswith("int") or dtype == "bool":
            return 0.0
        raise ValueError(f"no error model for dtype {dtype!r}")
    if not outputs:
        return 0.0
    count = outputs * 2 if dtype in PARTS else outputs
    held = accumulator or ("fp64" if part == "fp64" else "fp32")
    addends = Addends(low, high, distribution, products, roundings, held, cancels)
    walk = drift(part, _stepped(extent), addends)
    return _case_failure(rule, part, walk, count)


def walk_ladder(
    dtype: str,
    rate_of: Callable[[Rule], float],
    limit: float,
    *,
    exact: bool = False,
    standards: Standards | None = None,
) -> tuple[str, float, bool]:
    """(standard, its rate, whether the rate is below `limit`): the strictest that fits, else the loosest of the ladder.

    `rate_of` predicts the false alarms under a rule. Exact steps are offered only where `exact`.
    """
    known = standards or load_standards()
    part = part_of(dtype)
    name, rate = "value-equal", 0.0
    for step in known.ladders.get(part, ()):
        rule = known.rule(step, part)
        if rule is None or (rule.exact and not exact):
            continue
        name, rate = step, rate_of(rule)
        if rate < limit:
            return name, rate, True
    return name, rate, name == "value-equal"


def strictest_adequate(  # noqa: PLR0913
    dtype: str,
    extent: int,
    outputs: int,
    low: float = DEFAULT_RANGE[0],
    high: float = DEFAULT_RANGE[1],
    *,
    distribution: str = "uniform",
    products: bool = False,
    roundings: int = 1,
    accumulator: str | None = None,
    cancels: bool = True,
    limit: float = ADEQUATE,
    standards: Standards | None = None,
) -> tuple[str | None, float]:
    """The strictest standard of the dtype's ladder that correct kernels fail in less than `limit` of the cases.

    Returns its name and the probability; (None, the probability of the loosest) where none is adequate. An exact
    standard is offered only where no order of addition and no intermediate rounding can change a bit.
    """
    if part_of(dtype) not in FORMATS:
        return "value-equal", failure_probability(Rule("value-equal", dtype), dtype, extent, outputs, low, high)
    fixed = roundings <= 1 and (extent == 1 or (extent == 2 and not products)) and not (products and dtype in PARTS)

    def rate_of(rule: Rule) -> float:
        return failure_probability(
            rule,
            dtype,
            extent,
            outputs,
            low,
            high,
            distribution=distribution,
            products=products,
            roundings=roundings,
            accumulator=accumulator,
            cancels=cancels,
        )

    name, probability, fits = walk_ladder(dtype, rate_of, limit, exact=fixed, standards=standards)
    return (name if fits else None), probability


def zero_share(rule: Rule, extent: int, low: float, high: float, *, distribution: str = "uniform") -> float:
    """The share of elements that an all-zero output would pass: near 1, the range makes the absolute term vacuous."""
    walk = drift("fp32", extent, Addends(low, high, distribution))
    reach = rule.atol / (1 - rule.rtol) if rule.rtol < 1 else math.inf
    if not walk.deviation:
        return 1.0 if abs(walk.mean) <= reach else 0.0
    above, below = ((sign * reach - walk.mean) / (walk.deviation * math.sqrt(2)) for sign in (1, -1))
    return (math.erf(above) - math.erf(below)) / 2


def _stepped(extent: int) -> int:
    """Extents above 64 rounded up to an eighth of an octave, so that an audit meets few different ones."""
    if extent <= 64:
        return extent
    steps = math.ceil(8 * math.log2(extent) - 1e-9)
    return math.ceil(math.pow(2.0, steps / 8) - 1e-9)


@lru_cache(maxsize=65536)
def _case_failure(rule: Rule, dtype: str, walk: Drift, outputs: int) -> float:
    if not walk.alpha and not walk.beta:
        return 0.0
    if rule.exact:
        return any_of(outputs, _flip_probability(dtype, walk, 0.0, 0.0))
    if rule.passes == "mean-and-max-relative":
        if _mean_relative(walk, min(rule.peak, rule.mean * outputs)) > rule.mean:
            return 1.0
        # With few outputs a single one can lift the mean over its bound before it breaks its own.
        bound = min(rule.peak, rule.mean * outputs)
        return any_of(outputs, _element_failure(dtype, walk, bound * rule.floor, bound))
    if rule.passes == "absolute-step":
        return 0.0
    if rule.passes != "share-within-tolerance":
        raise ValueError(f"{rule.passes} cannot be predicted from the sum alone")
    failing = _element_failure(dtype, walk, rule.atol, rule.rtol)
    case = more_than(allowed_failures(rule.share, outputs), outputs, failing)
    if math.isinf(rule.max_abs):
        return case
    form = FORMATS[dtype]
    beyond = _tail(walk, rule.max_abs, 0.0, rule.max_ulp * form.epsilon / 2)
    return 1 - (1 - case) * (1 - any_of(outputs, beyond))


@lru_cache(maxsize=65536)
def _element_failure(dtype: str, walk: Drift, atol: float, rtol: float) -> float:
    """P(|difference| > atol + rtol |result|) of one element, its last rounding included."""
    epsilon = FORMATS[dtype].epsilon
    if rtol >= walk.most:
        return 0.0
    if rtol >= epsilon:
        # One unit always passes; past it, rounding eats up to one unit of the tolerance.
        return _tail(walk, atol, max(rtol - epsilon, epsilon / 2), 0.0)
    return min(1.0, _tail(walk, atol, rtol, 0.0) + _flip_probability(dtype, walk, atol, rtol))


def _tail(walk: Drift, atol: float, rtol: float, instead: float) -> float:
    """P(|d| > atol + rtol |s|), or with `instead` P(|d| > max(atol, instead |s|)), over the density of the result s.

    Near s = 0 the variance of d is constant, and a Laplace tail against a normal density has a closed form; far from 0
    the difference grows with s itself.
    """
    typical = math.hypot(walk.mean, walk.deviation)
    near, slope = walk.scale(0.0), rtol or instead
    if rtol and walk.beta and near:
        near = walk.scale(min(near / rtol, typical))
    far = walk.scale(typical)
    bound = max(atol, instead * typical) if instead else atol + rtol * typical
    outer = _far_tail(walk, bound, typical, far)
    if not near:
        return outer
    peak = math.exp(-atol / near) if atol < 700 * near else 0.0
    if not walk.deviation:
        return max(peak if not walk.mean else 0.0, outer)
    if instead:
        # Flat up to where the units take over, and a tail beyond it.
        reach = atol / instead
        inside = _normal_mass(walk, reach)
        return max(min(1.0, peak * (inside + _density(walk) * 2 * near / slope)), outer)
    return max(peak * laplace_against_normal(slope * walk.deviation / near, walk.mean / walk.deviation), outer)


def _far_tail(walk: Drift, bound: float, typical: float, scale: float) -> float:
    """P(|d| > bound) at a typical result: normal where the result's own size, hardly random, sets the drift."""
    if not scale:
        return 0.0
    if walk.beta * typical * typical > 4 * walk.alpha:
        return math.erfc(bound / (2 * scale))
    return math.exp(-bound / scale)


def _density(walk: Drift) -> float:
    return math.exp(-((walk.mean / walk.deviation) ** 2) / 2) / (walk.deviation * math.sqrt(2 * math.pi))


def _normal_mass(walk: Drift, reach: float) -> float:
    scale = walk.deviation * math.sqrt(2)
    return (math.erf((reach - walk.mean) / scale) - math.erf((-reach - walk.mean) / scale)) / 2


@lru_cache(maxsize=65536)
def _flip_probability(dtype: str, walk: Drift, atol: float, rtol: float) -> float:
    """P(the two results round to different values, where one unit is more than the tolerance allows)."""
    form = FORMATS[dtype]

    def flips(result: float) -> float:
        unit = math.ldexp(0.72 * form.epsilon, 0) * max(abs(result), 2.0**form.least)
        if unit <= atol + rtol * abs(result):
            return 0.0
        scale = walk.scale(result)
        return scale / unit * -math.expm1(-unit / scale) if scale else 0.0

    return _over_results(walk, flips)


def _over_results(walk: Drift, share: Callable[[float], float]) -> float:
    """The mean of `share(s)` over the normal density of the result."""
    if not walk.deviation:
        return share(walk.mean)
    return sum(weight * share(walk.mean + walk.deviation * z) for z, weight in _weighted_nodes())


@lru_cache(maxsize=1)
def _weighted_nodes() -> tuple[tuple[float, float], ...]:
    """Midpoints of equal stretches of [-4, 4], weighted by the standard normal density."""
    places = [8 * (i + 0.5) / _NODES - 4 for i in range(_NODES)]
    weights = [math.exp(-z * z / 2) for z in places]
    return tuple((z, w / sum(weights)) for z, w in zip(places, weights, strict=True))


def _mean_relative(walk: Drift, cap: float) -> float:
    """The mean of the relative error cut off at `cap`: it has a 1/x tail, for the result may come near 0."""
    if not walk.deviation:
        return walk.scale(walk.mean) / abs(walk.mean) if walk.mean else 0.0
    start = walk.scale(walk.deviation) / math.hypot(walk.deviation, walk.mean)
    tail = 2 * _density(walk) * walk.scale(0.0)
    return start + tail * math.log(max(cap / start, 1.0)) if start else 0.0
