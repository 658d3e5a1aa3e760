"""Judge a case file: every case has a standard of its own, so every case is a unit of its own.

What is said of a case follows from all of it but its number, so each kind of case is looked at once; kinds that differ
in their shapes only share a plan for classifying them, and those that are judged alike one verdict. Of the cases
themselves only positions are kept.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from opscan.judging.assignments import compares_values, judged_as
from opscan.judging.case_tally import CaseProblem, Likeness, Tally
from opscan.judging.kinds import AT_ONCE, Classify, HeldKinds, Outlined, Outlines, PlanOf, kinds_of
from opscan.judging.likeness import dependence, scale
from opscan.judging.settings import Judge
from opscan.judging.units import Unit, judge_each, judge_one
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
    likenesses: list[Likeness] = []
    """By the number of the kind: kinds are numbered as they come."""
    for start in range(0, len(cases), AT_ONCE):
        numbers = kinds.numbers[start : start + AT_ONCE]
        likenesses += judging.judge(len(likenesses), max(numbers) + 1)
        for number, index in zip(numbers, kinds.indices[start : start + AT_ONCE], strict=True):
            likenesses[number].add(index)
    report = judging.tally.report(shown, scenarios, unowned)
    return JudgedCases(report, tuple(judging.tally.problems(report, unowned)))


class _Judging:
    """Judges kinds in the order in which they come."""

    def __init__(
        self, kinds: CaseTable | HeldKinds, classify: Classify, judge: Judge, plan_of: PlanOf, compares: bool
    ) -> None:
        self.tally = Tally(compares, self._unit, judge.rules.standards)
        self._by_extent = judge.rules.assignments.limits_extents
        self._kinds = kinds
        self._classify = classify
        self._judge = judge
        self._outlines = Outlines(kinds, plan_of)
        self._depends: dict[Hashable, tuple[int, ...]] = {}
        self._likenesses: dict[Hashable, Likeness] = {}
        self._units: dict[int, Unit] = {}

    def judge(self, first: int, end: int) -> list[Likeness]:
        """The likenesses of the kinds with these numbers."""
        told = [self._outlines.of(number) for number in range(first, end)]
        cases = [self._kinds.kind(number) for number, outlined in enumerate(told, first) if outlined is None]
        pairs = list(zip(cases, self._classify(cases) if cases else (), strict=True))
        units = iter(judge_each([(case, known) for case, known in pairs if known.tensors], self._judge))
        found = iter(pairs)
        likenesses = []
        for number, outlined in enumerate(told, first):
            if outlined is not None:
                likenesses.append(self._alike(number, outlined))
                continue
            case, known = next(found)
            likenesses.append(self.tally.likeness(number, case, known, next(units) if known.tensors else None))
        return likenesses

    def _alike(self, number: int, outlined: Outlined) -> Likeness:
        """The likeness of a kind, judged where it is the first."""
        classes, extents, shapes = outlined.classes, outlined.extents, outlined.shapes
        depends = self._depends.get(classes)
        if depends is not None:
            like = self._likenesses.get((classes, scale(extents, shapes, depends, outlined.given)))
            if like is not None:
                self.tally.widen(like, number, extents)
                return like
        case, known = self._kinds.kind(number), outlined.known
        unit = judge_one(case, known, self._judge) if known.tensors else None
        like = self.tally.likeness(number, case, known, unit)
        depends = self._depends.setdefault(classes, dependence(unit, self._by_extent) if unit else ())
        self._likenesses[classes, scale(extents, shapes, depends, outlined.given)] = like
        return like

    def _unit(self, number: int) -> Unit:
        """Once more, for the few that are told of."""
        unit = self._units.get(number)
        if unit is None:
            case = self._kinds.kind(number)
            unit = self._units[number] = judge_one(case, self._classify([case])[0], self._judge)
        return unit
