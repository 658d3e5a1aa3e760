"""Is a standard sharp: do wrong kernels fail it at the values the case has?

Three wrong results stand for the gross ones: nothing but zeros, the last tile of addends lost, and a result that went
through a shorter format. A tolerance under which one of them passes is too loose, whatever its name: with values around
1e-4 an absolute term of 1e-4 is none. Four stand for finer mistakes (FINER). A named standard that lets one of those
pass is no fault of a spec, but where it would be recommended, computed thresholds are, if they catch more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from opscan.judging.adequacy import Walk, about, over_results, stepped
from opscan.judging.drift_parameters import DriftParameters
from opscan.judging.drifts.spread import Spread
from opscan.judging.floating import FORMATS, part_of
from opscan.judging.pass_rules import Rule, allowed_failures
from opscan.judging.tails import any_of, more_than

BLUNT = 0.5
"""A standard is blunt where a wrong result passes this share of the cases; one output can pass by luck."""
BLIND = 0.9
"""A standard is blind to a finer mistake that passes this share: a spec of many cases catches it in the others."""
SHARP = 0.2
"""What is recommended in place of a blunt standard must let less than this share pass."""

WRONG = {
    "zeros": "an output of zeros",
    "lost-tile": "a sum that lost its last tile",
    "shorter": "a result that went through a shorter format",
}

FINER = {
    "lost-addend": "an addend missing in three outputs",
    "shifted": "outputs shifted by one place",
    "native": "a sum kept in the format of its addends",
    "relative": "a relative error of 1e-3",
}
"""`native` is a mistake of fp16 and bf16 kernels; below a unit in the last place a relative error is not told."""

MISTAKES = {**WRONG, **FINER}

SHORTER = {"fp64": "fp32", "fp32": "bf16", "fp16": "bf16"}
"""The format that a lazy kernel of each dtype might compute in."""
_TILES = 8
_COLUMNS = 3
_ERROR = 1e-3


def passing(
    rule: Rule, cases: Sequence[Sequence[DriftParameters]], results: Mapping[str, str] = WRONG
) -> dict[str, float]:
    """Per wrong result, the share of the cases that it passes under `rule`; only where a size is known."""
    shares: dict[str, list[float]] = {wrong: [] for wrong in results}
    known: dict[int, dict[str, float | None]] = {}  # by the parameters: a case file repeats them
    for parameters in chain.from_iterable(cases):
        if id(parameters) not in known:
            known[id(parameters)] = {wrong: pass_probability(rule, parameters, wrong) for wrong in results}
    for all_parameters in cases:
        for wrong, found in shares.items():
            odds = [odd for parameters in all_parameters if (odd := known[id(parameters)][wrong]) is not None]
            found.extend([math.prod(odds)] if odds else [])
    return {wrong: sum(found) / len(found) for wrong, found in shares.items() if found}


def sees(rule: Rule, cases: Sequence[Sequence[DriftParameters]], mistake: str) -> bool:
    """Whether a finer mistake passes less than the share that makes a standard blind; no more cases than that takes."""
    odds: dict[int, float | None] = {}
    caught, counted = 0.0, 0
    for all_parameters in cases:
        for parameters in all_parameters:
            if id(parameters) not in odds:
                odds[id(parameters)] = pass_probability(rule, parameters, mistake)
        found = [odd for parameters in all_parameters if (odd := odds[id(parameters)]) is not None]
        if found:
            caught, counted = caught + 1 - math.prod(found), counted + 1
        if caught > (1 - BLIND) * len(cases):
            return True
    return not counted or caught > (1 - BLIND) * counted


def bluntest(shares: Mapping[str, float]) -> tuple[str, float]:
    """The wrong result that passes most, and how often; ("", 0) where none could be told."""
    return max(shares.items(), key=lambda item: item[1], default=("", 0.0))


def pass_probability(rule: Rule, parameters: DriftParameters, wrong: str) -> float | None:
    """The probability that a wrong result passes one case; None where it cannot be told or does not apply."""
    if rule.passes not in ("share-within-tolerance", "mean-and-max-relative"):
        return None
    if rule.passes == "share-within-tolerance" and (rule.exact or min(rule.rtol, rule.atol) < 0):
        return None
    part = part_of(parameters.dtype)
    if part not in FORMATS or not parameters.outputs:
        return None
    if not parameters.sized and (wrong != "zeros" or rule.rtol < 1):
        return None  # what the result looks like is not known; a relative term of 1 passes zeros all the same
    if not _applies(wrong, part, parameters):
        return None
    count = about(parameters.count)
    if wrong == "native":
        # Such a sum lies on the grid of its format already: the last rounding takes nothing from a tolerance of units.
        free = 0.75 * FORMATS[part].epsilon if rule.rtol >= FORMATS[part].epsilon else 0.0
        return 1 - replace(parameters, golden="exact").failure(replace(rule, rtol=rule.rtol + free), accumulator=part)
    if wrong == "lost-addend":
        size = math.sqrt(parameters.addends.moments()[2])
        return _passes_without_an_addend(rule, part, parameters.walk, count, size)
    plain = parameters.extent == 1 and parameters.distribution == "uniform" and parameters.spread is None
    uniform = (parameters.low, parameters.high) if plain else None
    return _passes(rule, part, parameters.walk, stepped(parameters.extent), count, wrong, uniform)


def _applies(wrong: str, part: str, parameters: DriftParameters) -> bool:
    if parameters.spread is not None and wrong not in ("zeros", "shorter"):
        return False  # what a lost addend does to a composed result is not followed
    if wrong == "shorter":
        return part in SHORTER and not parameters.factors
    if wrong == "native":
        return part in ("fp16", "bf16") and parameters.extent > 2
    if wrong == "relative":
        return FORMATS[part].epsilon < _ERROR / 2 and not parameters.factors
    return parameters.extent > 1 or wrong not in ("lost-tile", "lost-addend", "shifted")


@lru_cache(maxsize=65536)
def _passes_without_an_addend(rule: Rule, part: str, walk: Walk, count: int, size: float) -> float:
    """The probability that outputs pass of which three lack one addend of the usual `size`."""
    lacking = min(_COLUMNS, count)

    def outside(fixed: float, relative: float) -> float:
        return _mean(walk, None, lambda s: float(size > fixed + relative * abs(s)))

    if rule.passes == "mean-and-max-relative":
        bound = min(rule.peak, rule.mean * count / lacking)
        return (1 - outside(bound * rule.floor, bound)) ** lacking
    allowed = allowed_failures(rule.share, count)
    odd = outside(rule.atol, rule.rtol)
    fewer = sum(math.comb(lacking, k) * odd**k * (1 - odd) ** (lacking - k) for k in range(min(allowed, lacking) + 1))
    unit = 0.72 * rule.max_ulp * FORMATS[part].epsilon
    if allowed < lacking or math.isinf(rule.max_abs) or math.isinf(unit):
        return min(1.0, fewer)
    beyond = _mean(walk, None, lambda s: float(size > max(rule.max_abs, unit * abs(s))))
    return (1 - beyond) ** lacking


@lru_cache(maxsize=32768)
def _passes(
    rule: Rule, part: str, walk: Walk, extent: int, count: int, wrong: str, uniform: tuple[float, float] | None
) -> float:
    if not walk.deviation and (not walk.mean or wrong == "shifted"):
        return 1.0 if wrong != "lost-tile" else 0.0

    def share(fixed: float, relative: float) -> float:
        """The share of elements whose error is above fixed + relative |result|, or the larger of the two."""
        if wrong == "zeros":
            return _beyond(walk, uniform, fixed / (1 - relative)) if relative < 1 else 0.0
        if wrong == "shorter":
            reach = 0.72 * FORMATS[SHORTER[part]].epsilon / 2 - relative
            if reach <= 0:
                return 0.0
            return _mean(
                walk, uniform, lambda s: max(0.0, 1 - (fixed / abs(s) + relative) / (reach + relative)) if s else 0.0
            )
        if wrong == "relative":
            return _beyond(walk, uniform, fixed / (_ERROR - relative)) if relative < _ERROR else 0.0
        if wrong == "shifted":
            return _outside(fixed + relative * walk.typical, 0.0, walk.deviation * math.sqrt(2))
        lost = max(1, extent // _TILES)
        mean, scale = walk.mean * lost / extent, walk.deviation * math.sqrt(lost / extent)
        return _outside(fixed + relative * walk.typical, mean, scale)

    if rule.passes == "mean-and-max-relative":
        return 1 - any_of(count, share(rule.mean * rule.floor, rule.mean))
    failing = share(rule.atol, rule.rtol)
    survives = 1 - more_than(allowed_failures(rule.share, count), count, failing)
    unit = rule.max_ulp * FORMATS[part].epsilon
    if math.isinf(rule.max_abs) or math.isinf(unit) or not survives:
        return survives
    return survives * (1 - any_of(count, share(rule.max_abs, unit)))


def _mean(walk: Walk, uniform: tuple[float, float] | None, share: Callable[[float], float]) -> float:
    if uniform is None or uniform[0] == uniform[1]:
        return min(1.0, over_results(walk, share))
    low, high = uniform
    return sum(share(low + (high - low) * (i + 0.5) / 128) for i in range(128)) / 128


def _beyond(walk: Walk, uniform: tuple[float, float] | None, reach: float) -> float:
    """P(|result| > reach)."""
    if isinstance(walk, Spread):
        return walk.beyond(reach)
    if uniform is None or uniform[0] == uniform[1]:
        return _outside(reach, walk.mean, walk.deviation)
    low, high = uniform
    inside = min(high, reach) - max(low, -reach)
    return 1.0 - min(max(inside / (high - low), 0.0), 1.0)


def _outside(bound: float, mean: float, scale: float) -> float:
    """P(|x| > bound) of a normal variable."""
    if not scale:
        return float(abs(mean) > bound)
    root = scale * math.sqrt(2)
    return (math.erfc((bound - mean) / root) + math.erfc((bound + mean) / root)) / 2
