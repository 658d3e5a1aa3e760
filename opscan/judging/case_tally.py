"""What the cases of a case file come to, taken in one by one: nothing is kept of a case but its position."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from opscan.judging import case_words
from opscan.judging.comparators import ignored_keywords, unregistered
from opscan.judging.findings import at_most, find
from opscan.judging.messages import doubtful, unestablished
from opscan.judging.safety import doubt_of
from opscan.judging.scopes import StandardScope
from opscan.judging.standards import Standards
from opscan.judging.tensors import Folding, Slot, worst
from opscan.model import Case, Classification, FileReport, Finding, Scenarios

_NONE = (-1, -1)
_WITHOUT_SCENARIO = ("ok", "unknown", "invalid")
"""Statuses that hold whatever the cases are for."""
_PLACES = 24
"""Bits for the proposal of a case, beside its position."""


@dataclass(frozen=True, slots=True)
class CaseProblem:
    """One kind of problem and the positions of the cases that have it, in order, with what each should say instead.

    `chosen`: for each case, which of `proposals`; empty where nothing is to be written.
    """

    finding: Finding
    indices: array[int]
    chosen: Sequence[int] = ()
    proposals: tuple[Any, ...] = ()

    def proposal(self, position: int) -> Any:
        """What the case at a position of `indices` should have for a standard; None where nothing is to be written."""
        return self.proposals[self.chosen[position]] if self.chosen else None


@dataclass(slots=True)
class _Group:
    """The cases that have one problem with one standard: `members` are their positions, each with its proposal."""

    rule: str
    first: StandardScope
    largest: tuple[int, int]
    """Extent and kind of the first case in which the most is added up."""
    members: array[int] = field(default_factory=lambda: array("Q"))
    proposals: dict[str, tuple[int, Any]] = field(default_factory=dict)
    safe: bool = True
    writable: bool = True
    rates: list[tuple[EquivalentCases, float]] = field(default_factory=list)
    """False alarms under the standard, of one case of each equivalent_to."""

    @property
    def rate(self) -> float:
        """The mean over its cases."""
        return sum(like.count * rate for like, rate in self.rates) / max(len(self.members), 1)


@dataclass(slots=True)
class EquivalentCases:
    """Cases that are judged alike. `place`: which of the proposals of its group is theirs."""

    status: str = ""
    slots: list[Slot] = field(default_factory=list)
    group: _Group | None = None
    place: int = 0
    comparator_problem: array[int] | None = None
    """Where cases are noted whose comparator has something to be told of."""
    unknown: array[int] | None = None
    untold: bool = False
    count: int = 0

    def add(self, index: int) -> None:
        """Count one case."""
        self.count += 1
        if self.group is not None:
            self.group.members.append(index << _PLACES | self.place)
        if self.comparator_problem is not None:
            self.comparator_problem.append(index)
        if self.unknown is not None:
            self.unknown.append(index)


class Tally:
    """The cases so far. `compares`: whether the scenario looks at values at all; `scope_of`: judges a kind.

    Of a kind only extents are looked at where others were judged alike; the few that are told of are judged at last.
    """

    def __init__(self, compares: bool, scope_of: Callable[[int], StandardScope], known: Standards) -> None:
        self._known = known
        self._compares = compares
        self._scope_of = scope_of
        self._first: tuple[Case, Classification] | None = None
        self._basis: str | None = None
        self._backward = False
        self._written: dict[str, Any] = {}
        self._equivalent: list[EquivalentCases] = []
        self._reasons: list[str] = []
        self._largest: dict[str, tuple[int, int]] = {}
        self._first_wrong: StandardScope | None = None
        self._standards: dict[bool, dict[str, str]] = {}
        self._folding = Folding()
        self._groups: dict[tuple[str, str], _Group] = {}
        self._comparator_problems: dict[tuple[str, str, str | None], array[int]] = {}
        self._unknown: dict[tuple[bool, str], array[int]] = {}

    def equivalent_to(
        self, number: int, case: Case, known: Classification, scope: StandardScope | None
    ) -> EquivalentCases:
        """A new equivalent_to, with its first kind; `scope` is None where the compared tensors are not known."""
        self._first = self._first or (case, known)
        self._backward = self._backward or case.backward
        self._written.setdefault(repr(case.acc), case.acc)
        if scope is None:
            unknown = self._unknown.setdefault((known.mismatch, known.reason), array("I"))
            self._reasons = self._reasons or ([known.reason] if known.reason else [])
            like = EquivalentCases(unknown=unknown, untold=bool(known.reason))
            self._equivalent.append(like)
            return like
        self._basis = self._basis or known.basis
        own = scope.statuses[0]
        status = case_words.status_of(scope) if self._compares else "ok"
        like = EquivalentCases(
            status, self._folding.slots(scope.verdicts[0], own if status != "ok" else ("ok",) * len(own))
        )
        self._equivalent.append(like)
        self._compare(scope, status)
        if status in case_words.RULES:
            self._join_group(like, scope)
        rules = [verdict.effective for verdict in scope.verdicts[0].tensors]
        if custom := unregistered(case.acc, case.api_type, rules):
            like.comparator_problem = self._comparator_problems.setdefault(("unknown-comparator", *custom), array("I"))
        elif message := ignored_keywords(case.acc, rules):
            like.comparator_problem = self._comparator_problems.setdefault(
                ("ignored-keyword", message, None), array("I")
            )
        self.widen(like, number, [verdict.tensor.extent for verdict in scope.verdicts[0].tensors])
        return like

    def widen(self, like: EquivalentCases, number: int, extents: Sequence[int]) -> None:
        """Take in a kind that is like others; `extents` are those of its compared tensors."""
        for slot, extent in zip(like.slots, extents, strict=True):
            if slot.widen(extent):
                slot.origin = number
        most = max(extents, default=0)
        if most > self._largest.get(like.status, _NONE)[0]:
            self._largest[like.status] = most, number
        if like.group is not None and most > like.group.largest[0]:
            like.group.largest = most, number

    def _compare(self, scope: StandardScope, status: str) -> None:
        """Keep what the first scope that needs another standard needs, and which standards all of them do."""
        wrong = status not in ("ok", "unknown")
        if wrong and self._first_wrong is None:
            self._first_wrong = scope
        merged = self._standards.setdefault(wrong, {})
        for dtype, name in scope.recommendation.standards.items():
            held = merged.get(dtype)
            if held is None or (held != name and self._looseness(name, dtype) > self._looseness(held, dtype)):
                merged[dtype] = name

    def _looseness(self, name: str, dtype: str) -> tuple[float, float]:
        if name == "derived":  # thresholds for one case count as the loosest
            return (math.inf, math.inf)
        rule = self._known.rule(name, dtype)
        return (-1.0, 0.0) if rule is None or rule.exact else (rule.rtol, rule.atol)

    def _join_group(self, like: EquivalentCases, scope: StandardScope) -> None:
        rule = case_words.rule_of(scope, like.status)
        key = rule, repr(scope.verdicts[0].case.acc)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Group(rule, scope, _NONE)
        group.safe = group.safe and case_words.is_safe(scope)
        group.writable = group.writable and case_words.is_writable(scope)
        proposal = scope.recommendation.expression
        group.rates.append((like, scope.rate))
        like.group = group
        like.place = group.proposals.setdefault(repr(proposal), (len(group.proposals), proposal))[0]

    # -- what is said of it ------------------------------------------------------------------------------------------

    def report(self, shown: str, scenarios: Scenarios, unowned: str = "") -> FileReport:
        """The report on the file. `unowned`: why nobody can say what the cases are for, if so."""
        statuses: Counter[str] = Counter()
        unjudged = untold = 0
        for like in self._equivalent:
            for slot in like.slots:
                slot.count += like.count
            if like.unknown is None:
                statuses[like.status] += like.count
            else:
                unjudged += like.count
                untold += like.count * like.untold
        for slot in self._folding.wanted():
            self._look_up(slot)
        reason = ""
        if unowned and (doubted := [status for status in statuses if status not in _WITHOUT_SCENARIO]):
            count = sum(statuses.pop(status) for status in doubted)
            statuses["unknown"] += count
            reason = f"whether values are compared is not known for {count} cases: {unowned}"
        verdicts = statuses + Counter({"unknown": unjudged} if unjudged else {})
        status = worst(list(statuses)) if statuses else "unknown"
        wrong, written = self._first_wrong, list(self._written.values())
        case, known = self._first or (None, None)
        return FileReport(
            path=shown,
            kind="cases",
            status=status,
            reason=reason or self._reason(status, statuses, untold),
            operator=case.name if case else None,
            basis=self._basis or (known.basis if known else "none"),
            scenarios=scenarios.names,
            scenario_source=scenarios.source,
            backward=self._backward,
            found=written[0] if len(written) == 1 else written or None,
            recommended=self._standards.get(wrong is not None) or None,
            expression=wrong.recommendation.expression if wrong else None,
            expression_reason="" if wrong else "no case needs another standard",
            verdicts=dict(verdicts),
            tensors=self._folding.reports("cases"),
        )

    def _look_up(self, slot: Slot) -> None:
        if slot.origin is None:
            return
        name, kind = slot.tensor.name, slot.tensor.numeric_class
        tensors = [verdict.tensor for verdict in self._scope_of(slot.origin).verdicts[0].tensors]
        slot.tensor = next(t for t in tensors if (t.name, t.numeric_class, t.extent) == (name, kind, slot.most))
        slot.origin = None

    def _reason(self, status: str, statuses: Counter[str], untold: int) -> str:
        if not statuses:
            return self._reasons[0] if self._reasons else "the file holds no cases"
        unknown = f"; {untold} cannot be told: {self._reasons[0]}" if self._reasons else ""
        example = self._scope_of(self._largest[status][1])
        words = case_words.why_unknown(example) if status == "unknown" else case_words.first_words(example, status)
        detail = f": {words}" if status != "ok" else ""
        return f"{statuses[status]} of {sum(statuses.values()) + untold} cases are {status}{detail}{unknown}"

    def problems(self, report: FileReport, unowned: str = "") -> Iterator[CaseProblem]:
        """One problem for each thing that is wrong, with the positions of all the cases that have it."""
        shown, basis = report.path, report.basis
        doubted = [group for (rule, _), group in self._groups.items() if unowned and rule != "unknown-comparator"]
        if doubted:
            indices = array("I", sorted(member >> _PLACES for group in doubted for member in group.members))
            message = case_words.unowned_message(doubted[0].first, unowned)
            yield CaseProblem(find("scenario-unknown", shown, message, count=len(indices)), indices)
        for (rule, _), group in self._groups.items():
            if group in doubted:
                continue
            fix = "safe" if group.safe else "unsafe" if group.writable else "manual"
            fix = "manual" if rule == "no-threshold-row" else fix
            fix = "unsafe" if fix == "safe" and report.scenario_source is None else fix
            message = case_words.message(
                rule, group.first, self._scope_of(group.largest[1]), (group.rate, len(group.members))
            )
            doubt = doubt_of(group.first) if rule in ("standard-inadequate", "standard-vacuous") else ""
            severity, fix = ("warning", "unsafe" if fix == "safe" else fix) if doubt else (None, fix)
            message += doubtful(doubt) + unestablished(report.scenario_source)
            finding = find(rule, shown, message, count=len(group.members), fix=fix, severity=severity)
            if basis == "name":
                finding = at_most(finding, "warning")
            members = array("Q", sorted(group.members))
            indices = array("I", [member >> _PLACES for member in members])
            if fix not in ("safe", "unsafe"):
                yield CaseProblem(finding, indices)
                continue
            chosen = array("I", [member & (1 << _PLACES) - 1 for member in members])
            yield CaseProblem(finding, indices, chosen, tuple([each for _, each in group.proposals.values()]))
        for (rule, message, severity), found in self._comparator_problems.items():
            yield CaseProblem(find(rule, shown, message, count=len(found), severity=severity), found)
        for (mismatch, reason), found in self._unknown.items():
            rule, severity = ("shapes-cannot-meet", "warning") if mismatch else ("unknown-operator", None)
            yield CaseProblem(find(rule, shown, reason, count=len(found), severity=severity), found)
