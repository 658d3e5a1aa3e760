"""Name the strictest standard that correct kernels pass, per dtype, over all the cases it must serve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

from opscan.judging.adequacy import walk_ladder
from opscan.judging.assignments import ladder_of
from opscan.judging.expression import expression
from opscan.judging.floating import part_of
from opscan.judging.pass_rules import Rule
from opscan.judging.standards import Standards, load_standards, registered
from opscan.judging.verdicts import CaseVerdict, Judge, Load
from opscan.model import CLASS_ORDER


@dataclass(frozen=True, slots=True)
class Recommendation:
    """`standards` by dtype; `rate` is the predicted share of cases that correct kernels fail under them.

    `expression` is what to write under `standard.acc`, None with `reason` where it cannot be written. `adequate` is
    False where even the loosest named standard fails correct kernels too often.
    """

    standards: Mapping[str, str]
    expression: Any
    reason: str
    rate: float = 0.0
    adequate: bool = True
    inadequate: Mapping[str, float] = field(default_factory=dict)
    registered: bool = True
    """Whether every build of the ATK version has the comparator that is to be written."""


def recommend(verdicts: Sequence[CaseVerdict], judge: Judge, declared: Sequence[str] = ()) -> Recommendation:
    """One standard for all of `verdicts`: equal where nothing needs a tolerance, else the strictest adequate step.

    `declared`: floating dtypes that the spec also draws; those without a case of their own are served as if the cases
    of the others had them.
    """
    dtypes = sorted({verdict.tensor.dtype for case in verdicts for verdict in case.tensors if verdict.need != "none"})
    needed = any(v.need == "tolerance" for case in verdicts for v in case.tensors)
    if not needed:
        exact = dict.fromkeys(dtypes, "value-equal")
        written, reason = expression(exact, judge.atk_version)
        return Recommendation(exact, written, reason, registered=_registered(written, judge.atk_version))
    standards: dict[str, str] = {}
    rates: list[float] = []
    inadequate: dict[str, float] = {}
    for dtype in (*dtypes, *(name for name in declared if name not in dtypes)):
        loads = _loads(verdicts, dtype, seen=dtype in dtypes)
        ladder = _ladder(verdicts, dtype, judge.scenario)
        name, rate, fits = walk_ladder(dtype, partial(_rate, loads), judge.limit, standards=ladder)
        standards[dtype] = name
        rates.append(rate)
        if not fits:
            inadequate[dtype] = rate
    written, reason = expression(standards, judge.atk_version)
    there = _registered(written, judge.atk_version)
    return Recommendation(standards, written, reason, max(rates, default=0.0), not inadequate, inadequate, there)


def _ladder(verdicts: Sequence[CaseVerdict], dtype: str, scenario: str) -> Standards:
    """The standards with the ladder that is assigned to a dtype: that of its loosest tensor, for one serves all.

    A dtype of which no case has a tensor goes by the tensors of the others, as if they had it.
    """
    tensors = [v.tensor for case in verdicts for v in case.tensors if v.need == "tolerance"]
    known, own = load_standards(), [tensor for tensor in tensors if tensor.dtype == dtype]
    if not tensors:
        return known
    loosest = max(own or tensors, key=lambda tensor: (CLASS_ORDER[tensor.numeric_class], tensor.extent))
    steps = ladder_of(loosest if own else replace(loosest, dtype=dtype), scenario)
    return known if steps is None else _with_ladder(known, part_of(dtype), steps)


@lru_cache(maxsize=256)
def _with_ladder(known: Standards, dtype: str, steps: tuple[str, ...]) -> Standards:
    """One object per ladder, so that answers can be remembered by it."""
    return replace(known, ladders={**known.ladders, dtype: steps})


def _registered(written: Any, atk_version: str) -> bool:
    name = next(iter(written), "") if isinstance(written, dict) else str(written)
    return registered(name, atk_version) is True


def _loads(verdicts: Sequence[CaseVerdict], dtype: str, *, seen: bool) -> list[list[Load]]:
    """The loads of each case that compares `dtype`; of every case, as if it did, where none does."""
    cases = []
    for case in verdicts:
        if seen and all(verdict.tensor.dtype != dtype for verdict in case.tensors):
            continue
        loads = [v.load for v in case.tensors if v.load is not None]
        cases.append(
            [load if seen else replace(load, dtype=dtype) for load in loads if not seen or load.dtype == dtype]
        )
    return cases


def _rate(cases: Sequence[Sequence[Load]], rule: Rule) -> float:
    return mean_failure((load.failure(rule) for load in case) for case in cases)


def mean_failure(cases: Iterable[Iterable[float]]) -> float:
    """The mean over cases of the probability that any tensor fails."""
    total, count = 0.0, 0
    for failures in cases:
        passed = 1.0
        for failure in failures:
            passed *= 1.0 - failure
        total += 1.0 - passed
        count += 1
    return total / count if count else 0.0
