"""Judge a set of cases that share one written standard: a whole spec, or a single case of a case file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from opscan.dataclass import dataclass
from opscan.judging.drift_parameters import DriftParameters, what_decides
from opscan.judging.pass_rules import Rule
from opscan.judging.recommend import Recommendation, mean_failure, recommend
from opscan.judging.settings import Judge
from opscan.judging.sharpness import BLUNT, SHARP, passing
from opscan.judging.tensors import worst
from opscan.judging.verdicts import CaseVerdict, TensorVerdict, judge_case
from opscan.model import Case, Classification


@dataclass(frozen=True, slots=True)
class StandardScope:
    """`statuses` runs parallel to the tensors of `verdicts`; `rate`: false alarms under the rule in effect."""

    verdicts: tuple[CaseVerdict, ...]
    statuses: tuple[tuple[str, ...], ...]
    recommendation: Recommendation
    rate: float

    @property
    def status(self) -> str:
        """The worst status of any tensor; what only shares a tolerance is as it must be."""
        return worst([status for judged in self.statuses for status in judged if status != "shared"])


def judge_scope(verdicts: Sequence[CaseVerdict], judge: Judge, declared: Sequence[str] = ()) -> StandardScope:
    """One standard serves all of `verdicts`, so the loosest need decides: what must be equal then shares a tolerance.

    A tolerance that correct kernels fail in more than `judge.limit` of the cases is too strict. `declared`: see
    `recommend`.
    """
    recommendation = recommend(verdicts, judge, declared)
    tolerances = [[v.failure for v in case.tensors if not v.exact] for case in verdicts]
    rate = mean_failure(tolerances)
    loose = any(v.need == "tolerance" and v.mendable for case in verdicts for v in case.tensors)
    tight = _too_tight(verdicts, judge.limit) if rate >= judge.limit else frozenset()
    statuses: dict[int, tuple[str, ...]] = {}  # by the verdict: a case file repeats them
    for case in verdicts:
        if id(case) not in statuses:
            statuses[id(case)] = tuple([_status(one, loose, tight, recommendation) for one in case.tensors])
    return StandardScope(tuple(verdicts), tuple([statuses[id(case)] for case in verdicts]), recommendation, rate)


def judge_each(pairs: Sequence[tuple[Case, Classification]], judge: Judge) -> list[StandardScope]:
    """Every case as a scope of its own, under its own standard.

    What is judged depends on the standard, the compared tensors and the ranges alone, so cases that share them are
    judged once: a case file may hold a hundred thousand.
    """
    known: dict[tuple[Any, ...], StandardScope] = {}
    numbers: dict[tuple[Any, ...], int] = {}
    numbered: dict[int, int] = {}
    scopes = []
    for case, classification in pairs:
        number = numbered.get(id(classification))
        if number is None:
            number = numbers.setdefault((classification.basis, classification.tensors), len(numbers))
            numbered[id(classification)] = number
        key = (repr(case.acc), number, what_decides(case))
        found = known.get(key)
        if found is None:
            known[key] = found = judge_one(case, classification, judge)
            scopes.append(found)
            continue
        verdict = CaseVerdict(case, classification, found.verdicts[0].tensors)
        scopes.append(StandardScope((verdict,), found.statuses, found.recommendation, found.rate))
    return scopes


def judge_one(case: Case, classification: Classification, judge: Judge) -> StandardScope:
    """One case as a scope of its own, under its own standard."""
    return judge_scope([judge_case(case, classification, case.acc, judge)], judge)


def _status(
    verdict: TensorVerdict, loose: bool, tight: frozenset[tuple[str, str]], recommendation: Recommendation
) -> str:
    if lets_through(verdict, recommendation):
        return "too-loose"
    if verdict.status == "too-loose" and loose:
        return "shared"
    if verdict.need == "tolerance" and (verdict.tensor.name, verdict.tensor.dtype) in tight and not verdict.exact:
        return "too-strict"
    return verdict.status


def lets_through(verdict: TensorVerdict, recommendation: Recommendation) -> tuple[str, ...]:
    """The wrong results that pass the rule in effect, though they fail what would do in its place."""
    rule = verdict.effective.rule
    if verdict.need != "tolerance" or verdict.parameters is None or rule is None or verdict.exact:
        return ()
    better = recommendation.measures.get(verdict.tensor.dtype)
    if better is None:
        return ()
    return _blunt(rule, better, verdict.parameters)


@lru_cache(maxsize=65536)
def _blunt(rule: Rule, better: Rule, parameters: DriftParameters) -> tuple[str, ...]:
    try:
        found, instead = passing(rule, [[parameters]]), passing(better, [[parameters]])
    except ValueError:
        return ()  # a range that no model covers
    return tuple(wrong for wrong, odds in found.items() if odds >= BLUNT and instead.get(wrong, 0.0) < SHARP)


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
