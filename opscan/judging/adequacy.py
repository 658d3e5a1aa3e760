"""Is a standard adequate: do correct kernels pass it, whatever legitimate order they add in?

`failure_probability` predicts how often a correct kernel fails one case under a rule; `walk_ladder` finds the strictest
standard of a dtype that fits. Everything follows from the error model and is remembered by what it depends on, so that
an audit can ask thousands of times.

Assumptions, all of which loosen rather than tighten the answer: the kernel adds in the worst legitimate order (see
orders), elements fail independently, extents above 64 count as the next eighth of an octave, and outputs above 256 as
the next half octave.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

from opscan.judging.drifts.spread import Spread
from opscan.judging.error_model import Addends, Drift, drift
from opscan.judging.floating import FORMATS, HF32_INPUT_ROUNDOFF, PARTS, Format, part_of, spacing_at
from opscan.judging.orders import Order
from opscan.judging.pass_rules import Rule, allowed_failures
from opscan.judging.standards import Standards, load_standards
from opscan.judging.tails import any_of, mixture_tail, more_than

Walk = Drift | Spread
"""How results and the differences of two correct ones are distributed: of a single sum, or of a formula."""
DEFAULT_RANGE = (-5.0, 5.0)
"""ATK's own default for an input without ranges, in its uniform half; the upstream gradient is assumed to have it."""


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
    density: float = 1.0,
    factors: str = "",
    factor_roundoff: float = HF32_INPUT_ROUNDOFF,
    kernel: tuple[float, ...] | None = None,
    order: Order | None = None,
    golden: str = "framework",
) -> float:
    """The probability that a correct kernel fails a case of `outputs` elements, each a sum of `extent` addends.

    Addends lie in [low, high] (normal: low and high are mean -+ one deviation). `products`: each addend is a product of
    two such values. `roundings`: how often a value is rounded to `dtype` on its way, the last time included; the two
    sides may do the earlier ones differently. `accumulator`: the format that sums are kept in (default fp32, and fp64
    for fp64). `cancels`: with extent 1, whether the rounded parts can cancel. The rest: see `error_model.Addends`.
    Raises ValueError for a range without finite bounds, a dtype without a format, or a rule that compares more than an
    output with its golden.
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
    addends = Addends(
        low,
        high,
        distribution,
        products,
        roundings,
        held,
        cancels,
        density,
        factors,
        factor_roundoff,
        kernel,
        order,
        golden,
    )
    walk = drift(part, stepped(extent), addends)
    return _case_failure(rule, part, walk, about(count)) * (1 if rule.exact else _read(part, walk, count))


def _read(part: str, walk: Drift, count: int) -> float:
    """The probability that a golden holds no infinity, with which a case passes unread."""
    largest = FORMATS[part].largest
    if abs(walk.mean) + 6 * walk.deviation < largest:
        return 1.0
    root = max(walk.deviation * math.sqrt(2), 1e-300)
    beyond = math.erfc((largest - walk.mean) / root) / 2 + math.erfc((largest + walk.mean) / root) / 2
    return max(1 - beyond, 0.0) ** count


def spread_failure(rule: Rule, dtype: str, spread: Spread, count: int) -> float:
    """The probability that a correct kernel fails a case of `count` numbers whose results and differences are
    distributed so. Raises ValueError for a rule that compares more than an output with its golden."""
    if not count:
        return 0.0
    read = (1 - spread.lost) ** count if not rule.exact else 1.0
    return read * _case_failure(rule, part_of(dtype), spread, about(count)) if read > _UNREAD else 0.0


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


def about(outputs: int) -> int:
    """Numbers of outputs above 256 rounded up to half an octave, but not past 1,000 or 10,000, where a share of 1e-3 or
    1e-4 first lets an element fail."""
    rounded = stepped(outputs, 2, 256)
    return next((edge - 1 for edge in (1000, 10_000) if outputs < edge <= rounded), rounded)


def stepped(count: int, per_octave: int = 8, exact_to: int = 64) -> int:
    """Counts above `exact_to` rounded up to a fraction of an octave, so that an audit meets few different ones."""
    if count <= exact_to:
        return count
    steps = math.ceil(per_octave * math.log2(count) - 1e-9)
    return math.ceil(math.pow(2.0, steps / per_octave) - 1e-9)


@lru_cache(maxsize=16384)
def _case_failure(rule: Rule, dtype: str, walk: Walk, outputs: int) -> float:
    if not walk.alpha and not walk.beta:
        return 0.0
    if rule.exact:
        return any_of(outputs, _flip_probability(dtype, walk, 0.0, 0.0))
    if rule.passes == "mean-and-max-relative":
        # With few outputs a single one can lift the mean over its bound before it breaks its own.
        bound = min(rule.peak, rule.mean * outputs)
        if _mean_relative(walk, bound, rule.floor) > rule.mean:
            return 1.0
        return any_of(outputs, _element_failure(dtype, walk, bound * rule.floor, bound))
    if rule.passes == "absolute-step":
        return 0.0
    if rule.passes != "share-within-tolerance":
        raise ValueError(f"{rule.passes} cannot be predicted from the sum alone")
    failing = _element_failure(dtype, walk, rule.atol, rule.rtol)
    case = more_than(allowed_failures(rule.share, outputs), outputs, failing)
    if math.isinf(rule.max_abs) and math.isinf(rule.max_ulp):
        return case
    if _hopeless(walk, rule.max_abs):
        return case
    # A unit in the last place is half an epsilon to an epsilon of the value.
    unit = rule.max_ulp * 0.72 * FORMATS[dtype].epsilon
    beyond = over_results(
        walk, lambda s: mixture_tail_at(walk, s, max(rule.max_abs, unit * abs(s)), FORMATS[dtype].epsilon)
    )
    return 1 - (1 - case) * (1 - any_of(outputs, beyond))


@lru_cache(maxsize=65536)
def _element_failure(dtype: str, walk: Walk, atol: float, rtol: float) -> float:
    """P(|difference| > atol + rtol |result|) of one element, its last rounding included."""
    smooth = _smooth_failure(dtype, walk, atol, rtol)
    return walk.borne_out(smooth, FORMATS[dtype], atol, rtol) if isinstance(walk, Spread) else smooth


def _smooth_failure(dtype: str, walk: Walk, atol: float, rtol: float) -> float:
    """The same from the deviation of the difference at each result."""
    epsilon = FORMATS[dtype].epsilon
    if rtol >= walk.most and (isinstance(walk, Drift) or walk.whole):
        return 0.0
    if isinstance(walk, Spread) and walk.whole:
        return 0.0 if _hopeless(walk, atol) else _straight(walk, atol, rtol)
    if rtol >= epsilon:
        # One unit always passes; past it, rounding eats up to one unit of the tolerance.
        own = max(rtol - epsilon, epsilon / 2)
        if _hopeless(walk, atol):
            return 0.0
        return over_results(walk, lambda s: mixture_tail_at(walk, s, atol + own * abs(s), 0.0))
    return min(1.0, _straight(walk, atol, rtol) + _flip_probability(dtype, walk, atol, rtol))


def _straight(walk: Walk, atol: float, rtol: float) -> float:
    return over_results(walk, lambda s: mixture_tail_at(walk, s, atol + rtol * abs(s), 0.0))


def _unit(form: Format, result: float) -> float:
    """A unit in the last place, half an epsilon to an epsilon of a result, as it is on the average."""
    return 0.72 * form.epsilon * max(abs(result), 2.0**form.least)


def _hopeless(walk: Walk, bound: float) -> bool:
    """Whether no element of any case gets beyond a bound: less than 1e-14 at the widest drift and the longest tail."""
    widest = walk.scale(abs(walk.mean) + 6 * walk.deviation)
    return bound > 23 * widest


def mixture_tail_at(walk: Walk, result: float, bound: float, rounding: float) -> float:
    """P(|difference| > bound) at a result; the last rounding takes `rounding` x |result| of the bound."""
    scale = walk.scale(result)
    if not scale or bound >= walk.most * abs(result):
        return 0.0
    left = max(bound - rounding * abs(result), bound / 2)
    if isinstance(walk, Spread):
        return walk.tail.beyond(left / scale)
    return mixture_tail(left / scale, walk.shape(result))


@lru_cache(maxsize=65536)
def _flip_probability(dtype: str, walk: Walk, atol: float, rtol: float) -> float:
    """P(the two results round to different values, where one unit is more than the tolerance allows)."""
    form = FORMATS[dtype]

    def flips(result: float) -> float:
        # the samples of a formula lie where they lie; a normal density is looked at in few places
        unit = spacing_at(result, form) if isinstance(walk, Spread) else _unit(form, result)
        if unit <= atol + rtol * abs(result):
            return 0.0
        scale = walk.scale(result) / math.sqrt(2)
        return scale / unit * -math.expm1(-unit / scale) if scale else 0.0

    return over_results(walk, flips)


def over_results(walk: Walk, share: Callable[[float], float]) -> float:
    """The mean of `share(s)` over the normal density of the result.

    Tolerances fail near 0, on a stretch that can be millions of times narrower than the density: there the places are
    spaced by ratios, elsewhere evenly.
    """
    if isinstance(walk, Spread):
        return walk.average(share)
    mean, deviation = walk.mean, walk.deviation
    if not deviation:
        return share(mean)
    total = 0.0
    for z, weight in _even_places():
        if abs(mean + deviation * z) >= _NEAR * deviation:
            total += weight * share(mean + deviation * z)
    offset = mean / deviation
    if abs(offset) > 8:
        return total
    near = _density(offset) + _density(-offset)
    for z, width in _places_near_zero():
        # The density hardly changes over this stretch, but where the mean is some deviations away.
        both = near if abs(offset) < 0.5 else _density(z - offset) + _density(-z - offset)
        total += both * width * share(deviation * z)
    return min(1.0, total)


_NEAR = 0.25
_UNREAD = 1e-9


@lru_cache(maxsize=1)
def _even_places() -> tuple[tuple[float, float], ...]:
    """Midpoints of equal stretches of [-7, 7], weighted by the standard normal density."""
    count = 56
    places = [14 * (i + 0.5) / count - 7 for i in range(count)]
    return tuple((z, _density(z) * 14 / count) for z in places if abs(z) < 5.5)


@lru_cache(maxsize=1)
def _places_near_zero() -> tuple[tuple[float, float], ...]:
    """Places below 0.25 deviations, four to a decade, with their widths; what is below the last counts as there."""
    edges = [_NEAR * 10 ** (-i / 4) for i in range(33)]
    places = [(math.sqrt(a * b), a - b) for a, b in pairwise(edges)]
    return (*places, (edges[-1] / 2, edges[-1]))


def _density(z: float) -> float:
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def _mean_relative(walk: Walk, cap: float, floor: float) -> float:
    """The mean of the relative error cut off at `cap`: it has a 1/x tail, for the result may come near 0."""
    return over_results(walk, lambda s: min(cap, 0.75 * walk.scale(s) / max(abs(s) + floor, 1e-300)))
