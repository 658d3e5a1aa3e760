"""Judge a case file: every case has a standard of its own, so every case is a scope by itself.

What is said of a case follows from all of it but its number, so each kind of case is looked at once; kinds that differ
in their shapes only share a plan for classifying them, and those that are judged alike one verdict. Of the cases
themselves only positions are kept.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from opscan.judging.assignments import compares_values, judged_as
from opscan.judging.case_tally import CaseProblem, EquivalentCases, Tally
from opscan.judging.equivalence import dependence, scale
from opscan.judging.kinds import AT_ONCE, Classify, HeldKinds, PlannedCase, PlanOf, ShapePlans, kinds_of
from opscan.judging.scopes import StandardScope, judge_each, judge_one
from opscan.judging.settings import Judge
from opscan.model import CaseFile, FileReport, Scenarios
from opscan.reading.case_table import CaseTable


@dataclass(frozen=True, slots=True)
class JudgedCases:
    report: FileReport
    problems: tuple[CaseProblem, ...]


def judge_case_file(
    case_file: CaseFile,
    shown: str,
    scenarios: Scenarios,
    classify: Classify,
    judge: Judge,
    plan_of: PlanOf = lambda _: None,
    unowned: str = "",
) -> JudgedCases:
    """The report on a case file: statuses by case, and one problem per kind of finding.

    `plan_of`: how cases like this one are classified by their shapes alone, where that can be told without a trace.
    `unowned`: why nobody can say what the cases were generated for; then no case is called too strict or too loose.
    """
    known = judge.rules.assignments
    judge = replace(judge, scenario=judged_as(scenarios.names, known))
    cases = case_file.cases
    kinds = kinds_of(cases)
    judging = _Judging(kinds, classify, judge, plan_of, compares_values(scenarios.names, known))
    equivalent: list[EquivalentCases] = []
    """By the number of the kind: kinds are numbered as they come."""
    for start in range(0, len(cases), AT_ONCE):
        numbers = kinds.numbers[start : start + AT_ONCE]
        equivalent += judging.judge(len(equivalent), max(numbers) + 1)
        for number, index in zip(numbers, kinds.indices[start : start + AT_ONCE], strict=True):
            equivalent[number].add(index)
    report = judging.tally.report(shown, scenarios, unowned)
    return JudgedCases(report, tuple(judging.tally.problems(report, unowned)))


class _Judging:
    """Judges kinds in the order in which they come."""

    def __init__(
        self, kinds: CaseTable | HeldKinds, classify: Classify, judge: Judge, plan_of: PlanOf, compares: bool
    ) -> None:
        self.tally = Tally(compares, self._scope, judge.rules.standards)
        self._by_extent = judge.rules.assignments.limits_extents
        self._kinds = kinds
        self._classify = classify
        self._judge = judge
        self._plans = ShapePlans(kinds, plan_of)
        self._depends: dict[Hashable, tuple[int, ...]] = {}
        self._equivalent: dict[Hashable, EquivalentCases] = {}
        self._scopes: dict[int, StandardScope] = {}

    def judge(self, first: int, end: int) -> list[EquivalentCases]:
        """The equivalent of the kinds with these numbers."""
        planned = [self._plans.of(number) for number in range(first, end)]
        cases = [self._kinds.kind(number) for number, planned_case in enumerate(planned, first) if planned_case is None]
        pairs = list(zip(cases, self._classify(cases) if cases else (), strict=True))
        scopes = iter(judge_each([(case, known) for case, known in pairs if known.tensors], self._judge))
        found = iter(pairs)
        equivalent = []
        for number, planned_case in enumerate(planned, first):
            if planned_case is not None:
                equivalent.append(self._alike(number, planned_case))
                continue
            case, known = next(found)
            equivalent.append(self.tally.equivalent_to(number, case, known, next(scopes) if known.tensors else None))
        return equivalent

    def _alike(self, number: int, planned_case: PlannedCase) -> EquivalentCases:
        """The equivalent_to of a kind, judged where it is the first."""
        classes, extents, shapes = planned_case.classes, planned_case.extents, planned_case.shapes
        depends = self._depends.get(classes)
        if depends is not None:
            like = self._equivalent.get((classes, scale(extents, shapes, depends, planned_case.given)))
            if like is not None:
                self.tally.widen(like, number, extents)
                return like
        case, known = self._kinds.kind(number), planned_case.known
        scope = judge_one(case, known, self._judge) if known.tensors else None
        like = self.tally.equivalent_to(number, case, known, scope)
        depends = self._depends.setdefault(classes, dependence(scope, self._by_extent) if scope else ())
        self._equivalent[classes, scale(extents, shapes, depends, planned_case.given)] = like
        return like

    def _scope(self, number: int) -> StandardScope:
        """Once more, for the few that are told of."""
        scope = self._scopes.get(number)
        if scope is None:
            case = self._kinds.kind(number)
            scope = self._scopes[number] = judge_one(case, self._classify([case])[0], self._judge)
        return scope
