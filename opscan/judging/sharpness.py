"""Is a standard sharp: do wrong kernels fail it at the values the case has?

Three wrong results stand for all: nothing but zeros, the last tile of addends lost, and a result that went through a
shorter format. A tolerance under which one of them passes is too loose, whatever its name: with values around 1e-4 an
absolute term of 1e-4 is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from opscan.judging.adequacy import about, over_results, stepped
from opscan.judging.error_model import Drift
from opscan.judging.floating import FORMATS, part_of
from opscan.judging.loads import Load
from opscan.judging.pass_rules import Rule, allowed_failures
from opscan.judging.tails import any_of, more_than

BLUNT = 0.5
"""A standard is blunt where a wrong result passes this share of the cases; one output can pass by luck."""
SHARP = 0.2
"""What is recommended in place of a blunt standard must let less than this share pass."""

WRONG = {
    "zeros": "an output of zeros",
    "lost-tile": "a sum that lost its last tile",
    "shorter": "a result that went through a shorter format",
}

SHORTER = {"fp64": "fp32", "fp32": "bf16", "fp16": "bf16"}
"""The format that a lazy kernel of each dtype might compute in."""
_TILES = 8


def passing(rule: Rule, cases: Sequence[Sequence[Load]]) -> dict[str, float]:
    """Per wrong result, the share of the cases that it passes under `rule`; only loads whose size is known count."""
    shares: dict[str, list[float]] = {wrong: [] for wrong in WRONG}
    known: dict[int, dict[str, float | None]] = {}  # by the load: a case file repeats them
    for load in chain.from_iterable(cases):
        if id(load) not in known:
            known[id(load)] = {wrong: pass_probability(rule, load, wrong) for wrong in WRONG}
    for loads in cases:
        for wrong, found in shares.items():
            odds = [odd for load in loads if (odd := known[id(load)][wrong]) is not None]
            found.extend([math.prod(odds)] if odds else [])
    return {wrong: sum(found) / len(found) for wrong, found in shares.items() if found}


def bluntest(shares: Mapping[str, float]) -> tuple[str, float]:
    """The wrong result that passes most, and how often; ("", 0) where none could be told."""
    return max(shares.items(), key=lambda item: item[1], default=("", 0.0))


def pass_probability(rule: Rule, load: Load, wrong: str) -> float | None:
    """The probability that a wrong result passes one case; None where it cannot be told or does not apply."""
    if rule.passes not in ("share-within-tolerance", "mean-and-max-relative"):
        return None
    if rule.passes == "share-within-tolerance" and (rule.exact or min(rule.rtol, rule.atol) < 0):
        return None
    part = part_of(load.dtype)
    if part not in FORMATS or not load.outputs:
        return None
    if not load.sized and (wrong != "zeros" or rule.rtol < 1):
        return None  # what the result looks like is not known; a relative term of 1 passes zeros all the same
    if (wrong == "shorter" and (part not in SHORTER or load.factors)) or (wrong == "lost-tile" and load.extent < 2):
        return None
    count = about(load.count)
    uniform = (load.low, load.high) if load.extent == 1 and load.distribution == "uniform" else None
    return _passes(rule, part, load.walk, stepped(load.extent), count, wrong, uniform)


@lru_cache(maxsize=32768)
def _passes(
    rule: Rule, part: str, walk: Drift, extent: int, count: int, wrong: str, uniform: tuple[float, float] | None
) -> float:
    if not walk.deviation and not walk.mean:
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


def _mean(walk: Drift, uniform: tuple[float, float] | None, share: Callable[[float], float]) -> float:
    if uniform is None or uniform[0] == uniform[1]:
        return min(1.0, over_results(walk, share))
    low, high = uniform
    return sum(share(low + (high - low) * (i + 0.5) / 128) for i in range(128)) / 128


def _beyond(walk: Drift, uniform: tuple[float, float] | None, reach: float) -> float:
    """P(|result| > reach)."""
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
