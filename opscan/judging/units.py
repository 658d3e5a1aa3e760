"""Judge a set of cases that share one written standard: a whole spec, or a single case of a case file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opscan.judging.recommend import Recommendation, mean_failure, recommend
from opscan.judging.standards import load_standards
from opscan.judging.tensors import worst
from opscan.judging.verdicts import CaseVerdict, Judge, TensorVerdict


@dataclass(frozen=True, slots=True)
class Unit:
    """`statuses` runs parallel to the tensors of `verdicts`; `rate`: false alarms under the rule in effect."""

    verdicts: tuple[CaseVerdict, ...]
    statuses: tuple[tuple[str, ...], ...]
    recommendation: Recommendation
    rate: float

    @property
    def status(self) -> str:
        """The worst status of any tensor; what only shares a tolerance is as it must be."""
        return worst([status for judged in self.statuses for status in judged if status != "shared"])


def judge_unit(verdicts: Sequence[CaseVerdict], judge: Judge, declared: Sequence[str] = ()) -> Unit:
    """One standard serves all of `verdicts`, so the loosest need decides: what must be equal then shares a tolerance.

    A tolerance that correct kernels fail in more than `judge.limit` of the cases is too strict. `declared`: see
    `recommend`.
    """
    recommendation = recommend(verdicts, judge, declared)
    tolerances = [[v.failure for v in case.tensors if not v.exact] for case in verdicts]
    rate = mean_failure(tolerances)
    loose = any(v.need == "tolerance" and v.mendable for case in verdicts for v in case.tensors)
    tight = _too_tight(verdicts, judge.limit) if rate >= judge.limit else frozenset()
    statuses = tuple(
        tuple(_status(verdict, loose, tight, recommendation) for verdict in case.tensors) for case in verdicts
    )
    return Unit(tuple(verdicts), statuses, recommendation, rate)


def _status(
    verdict: TensorVerdict, loose: bool, tight: frozenset[tuple[str, str]], recommendation: Recommendation
) -> str:
    if is_vacuous(verdict, recommendation):
        return "too-loose"
    if verdict.status == "too-loose" and loose:
        return "shared"
    if verdict.need == "tolerance" and (verdict.tensor.name, verdict.tensor.dtype) in tight and not verdict.exact:
        return "too-strict"
    return verdict.status


def is_vacuous(verdict: TensorVerdict, recommendation: Recommendation) -> bool:
    """Whether zeros would pass, though they would not pass what is recommended instead."""
    if verdict.need != "tolerance" or not verdict.vacuous or verdict.load is None:
        return False
    dtype = verdict.tensor.dtype
    name = recommendation.standards.get(dtype)
    rule = load_standards().rule(name, dtype) if name else None
    return rule is not None and not verdict.load.passes_zeros(rule)


def _too_tight(verdicts: Sequence[CaseVerdict], limit: float) -> frozenset[tuple[str, str]]:
    """The tensors, by name and dtype, whose own failures make up the rate: at least a half of the worst one's."""
    totals: dict[tuple[str, str], float] = {}
    for case in verdicts:
        for verdict in case.tensors:
            if not verdict.exact:
                key = (verdict.tensor.name, verdict.tensor.dtype)
                totals[key] = totals.get(key, 0.0) + verdict.failure
    peak = max(totals.values(), default=0.0)
    least = min(peak / 2, limit * len(verdicts))
    return frozenset(key for key, total in totals.items() if total and total >= least)
