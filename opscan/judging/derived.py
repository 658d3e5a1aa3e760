"""Thresholds computed for the cases at hand, where no named standard is both adequate and sharp.

Two correct results differ by a deviation of sqrt(alpha + beta s^2) at the result s (error_model.py), which is at most
sqrt(alpha) + sqrt(beta) |s|. The tail factor that hardly any element of a whole case exceeds turns the first part into
the absolute term and the second into the relative one. The last rounding adds units in the last place to the relative
term. The share of points is one in the largest output, so that a small output may lose none, and no element may be
beyond four times the absolute term.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from opscan.dataclass import dataclass
from opscan.judging.drift_parameters import DriftParameters
from opscan.judging.drifts.spread import Spread
from opscan.judging.floating import FORMATS, part_of
from opscan.judging.pass_rules import Rule, allowed_failures
from opscan.judging.tails import mixture_tail, more_than

MARGIN = 2.0
"""Thresholds are this much wider than predicted: data are not quite as declared, orders not quite as foreseen."""
_ALLOWANCE = 0.1
"""The part of the tolerated false alarms that the thresholds may use up before the margin."""
_ELEMENT = 4.0
_COARSE = 1e-4
"""Formats with a larger epsilon hold many float32 results in one value, so that most outputs are equal."""
_SHARES = (1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05)


@dataclass(frozen=True, slots=True)
class Derived:
    """Computed thresholds, where they come from, and the same as a short note for a comment."""

    rule: Rule
    reason: str
    note: str


def derive(dtype: str, all_parameters: Sequence[DriftParameters], limit: float) -> Derived | None:
    """The thresholds for all of them; None where the size of some result does not follow from its addends.

    Raises ValueError where no error model applies.
    """
    part = part_of(dtype)
    if not all_parameters or part not in FORMATS or not all(parameters.sized for parameters in all_parameters):
        return None
    form = FORMATS[part]
    allowed = max(limit, 1e-6) * _ALLOWANCE
    widest, atol, drifting, steps, most = all_parameters[0], 0.0, 0.0, 1, 1
    for parameters in all_parameters:
        walk, count = parameters.walk, max(parameters.count, 1)
        factor = _tail_factor(walk.tail.shape if isinstance(walk, Spread) else walk.shape(0.0), allowed / count)
        if math.sqrt(walk.alpha) * factor > atol:
            widest, atol = parameters, math.sqrt(walk.alpha) * factor
        drifting = max(drifting, math.sqrt(walk.beta) * _tail_factor(math.inf, allowed / count))
        steps, most = max(steps, parameters.roundings), max(most, count)
    rtol = _rounded_up(MARGIN * drifting + steps * form.epsilon)
    atol = _rounded_up(MARGIN * atol + form.epsilon * 2.0**form.least)
    share = 0.0 if most < 1000 else _rounded_up(1 / most)
    units = 2.0 ** math.ceil(math.log2(2 * _ELEMENT * rtol / form.epsilon))
    rule = Rule(
        "share-within-tolerance",
        part,
        rtol,
        atol,
        share,
        max_abs=_rounded_up(_ELEMENT * atol),
        max_ulp=max(units, 32.0),
    )
    flips = _share_of_flips(rule, all_parameters, allowed) if steps == 1 and form.epsilon > _COARSE else None
    if flips is not None:
        rule = replace(rule, rtol=_rounded_up(form.epsilon / 4), share=flips, max_ulp=2.0)
    note = f"{dtype} n <= {widest.extent} in [{widest.low:g}, {widest.high:g}], R <= {most}"
    return Derived(rule, _derivation(rule, widest, steps, most), note)


def _share_of_flips(rule: Rule, all_parameters: Sequence[DriftParameters], allowed: float) -> float | None:
    """The share of outputs that may round to the neighbouring value; None where so many may that nothing is gained.

    A short format with a float32 accumulator differs in few outputs only, by one unit: bounding their share catches
    what a tolerance of one unit lets pass, such as a short accumulator or a relative error below the unit.
    """
    finest = replace(rule, rtol=FORMATS[rule.dtype].epsilon / 4, share=0.0, max_abs=math.inf, max_ulp=math.inf)
    # 0.7 of a count: parameters of about one size share their thresholds.
    odds = {
        (int(part * parameters.count), parameters.failure_of_one(finest))
        for parameters in all_parameters
        for part in (1.0, 0.7)
    }
    for share in _SHARES:
        failing = [more_than(allowed_failures(share, count), count, min(1.0, MARGIN * odd)) for count, odd in odds]
        if all(found <= allowed for found in failing):
            return share
    return None


def _derivation(rule: Rule, widest: DriftParameters, steps: int, most: int) -> str:
    unit = FORMATS[rule.dtype].fraction + 1
    kind = "products" if widest.products else "addends"
    atol = f"atol {rule.atol:g} for {widest.extent} {kind} in [{widest.low:g}, {widest.high:g}] at u = 2^-{unit}"
    if rule.max_ulp < 32:
        share = f"{rule.share:g} of up to {most} outputs may round to the neighbouring value"
        return f"{rule.dtype}: {atol}, rtol {rule.rtol:g} below one unit, {share}"
    rounded = f", {steps} roundings" if steps > 1 else ""
    grown = f"rtol {rule.rtol:g} for the growth with the result{rounded} and the last unit"
    return f"{rule.dtype}: {atol}, {grown}, share {rule.share:g} of up to {most} outputs"


def _tail_factor(shape: float, probability: float) -> float:
    """How many deviations an element exceeds with a probability."""
    low, high = 0.0, 8.0
    while mixture_tail(high, shape) > probability and high < 1e3:
        high *= 2
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if mixture_tail(middle, shape) > probability else (low, middle)
    return high


def _rounded_up(value: float) -> float:
    """To two digits, upwards: a threshold that a person reads."""
    if value <= 0:
        return 0.0
    power = math.floor(math.log10(value)) - 1
    return float(f"{math.ceil(value / 10.0**power - 1e-9)}e{power}")
