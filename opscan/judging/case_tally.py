"""What the cases of a case file come to, taken in one by one: nothing is kept of a case but its position."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from opscan.judging import case_words
from opscan.judging.comparators import ignored_keywords
from opscan.judging.findings import at_most, find
from opscan.judging.tensors import Folding, worst
from opscan.judging.units import Unit
from opscan.model import Case, Classification, FileReport, Finding


@dataclass(frozen=True, slots=True)
class CaseProblem:
    """One kind of problem and the positions of the cases that have it, with what each case's standard should become."""

    finding: Finding
    indices: tuple[int, ...]
    proposals: tuple[Any, ...]
    """Parallel to `indices`; None where nothing is to be written."""


@dataclass(slots=True)
class _Group:
    """The cases that have one problem with one standard. `chosen`: for each case, which of `proposals`."""

    rule: str
    first: Unit
    largest: Unit
    indices: array[int] = field(default_factory=lambda: array("Q"))
    proposals: dict[str, tuple[int, Any]] = field(default_factory=dict)
    chosen: array[int] = field(default_factory=lambda: array("L"))
    safe: bool = True
    writable: bool = True


@dataclass(slots=True)
class Kind:
    """Cases that differ in their number only. `place`: which of the proposals of its group is theirs."""

    known: Classification
    unit: Unit | None
    status: str
    group: _Group | None = None
    place: int = 0
    ignored: array[int] | None = None
    unknown: array[int] | None = None
    count: int = 0


class Tally:
    """The cases so far. `compares`: whether the scenario looks at values at all."""

    def __init__(self, compares: bool) -> None:
        self._compares = compares
        self._first: tuple[Case, Classification] | None = None
        self._basis: str | None = None
        self._backward = False
        self._written: dict[str, Any] = {}
        self._statuses: Counter[str] = Counter()
        self._reasons: list[str] = []
        self._untold = 0
        self._unjudged = 0
        self._largest: dict[str, Unit] = {}
        self._first_wrong: Unit | None = None
        self._standards: dict[bool, dict[str, str]] = {}
        self._folding = Folding()
        self._groups: dict[tuple[str, str], _Group] = {}
        self._ignored: dict[str, array[int]] = {}
        self._unknown: dict[tuple[bool, str], array[int]] = {}

    def kind(self, case: Case, known: Classification, unit: Unit | None) -> Kind:
        """A new kind of case, before any is counted; `unit` is None where its tensors are not known."""
        self._first = self._first or (case, known)
        self._backward = self._backward or case.backward
        self._written.setdefault(repr(case.acc), case.acc)
        if unit is None:
            return Kind(known, None, "", unknown=self._unknown.setdefault((known.mismatch, known.reason), array("Q")))
        self._basis = self._basis or known.basis
        status = case_words.status_of(unit) if self._compares else "ok"
        kind = Kind(known, unit, status)
        self._compare(unit, status)
        if status in case_words.RULES:
            self._join_group(kind, unit, status)
        message = ignored_keywords(case.acc, [verdict.effective for verdict in unit.verdicts[0].tensors])
        if message:
            kind.ignored = self._ignored.setdefault(message, array("Q"))
        return kind

    def add(self, kind: Kind, index: int) -> None:
        """Count one case of a kind."""
        kind.count += 1
        if kind.unknown is not None:
            kind.unknown.append(index)
        if kind.group is not None:
            kind.group.indices.append(index)
            kind.group.chosen.append(kind.place)
        if kind.ignored is not None:
            kind.ignored.append(index)

    def settle(self, kinds: Iterable[Kind]) -> None:
        """Take the counts of kinds into the report; they are not counted on."""
        for kind in kinds:
            if kind.unit is None:
                self._unjudged += kind.count
                if kind.known.reason:
                    self._untold += kind.count
                    self._reasons = self._reasons or [kind.known.reason]
                continue
            self._statuses[kind.status] += kind.count
            own = kind.unit.statuses[0]
            statuses = own if kind.status != "ok" else ("ok",) * len(own)
            self._folding.add(kind.unit.verdicts[0], statuses, kind.count)

    def _compare(self, unit: Unit, status: str) -> None:
        """Keep the unit if it is the first or the largest of its like."""
        largest = self._largest.get(status)
        if largest is None or case_words.largest_extent(unit) > case_words.largest_extent(largest):
            self._largest[status] = unit
        wrong = status not in ("ok", "unknown")
        if wrong and self._first_wrong is None:
            self._first_wrong = unit
        merged = self._standards.setdefault(wrong, {})
        for dtype, name in unit.recommendation.standards.items():
            held = merged.get(dtype)
            if held is None or (held != name and _looseness(name, dtype) > _looseness(held, dtype)):
                merged[dtype] = name

    def _join_group(self, kind: Kind, unit: Unit, status: str) -> None:
        rule = case_words.rule_of(unit, status)
        key = rule, repr(unit.verdicts[0].case.acc)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Group(rule, unit, unit)
        elif case_words.largest_extent(unit) > case_words.largest_extent(group.largest):
            group.largest = unit
        group.safe = group.safe and case_words.is_safe(unit)
        group.writable = group.writable and case_words.is_writable(unit)
        proposal = unit.recommendation.expression
        kind.group = group
        kind.place = group.proposals.setdefault(repr(proposal), (len(group.proposals), proposal))[0]

    # -- what is said of it ------------------------------------------------------------------------------------------

    def report(self, shown: str, scenarios: tuple[str, ...]) -> FileReport:
        verdicts = self._statuses + Counter({"unknown": self._unjudged} if self._unjudged else {})
        status = worst(list(self._statuses)) if self._statuses else "unknown"
        wrong, written = self._first_wrong, list(self._written.values())
        case, known = self._first or (None, None)
        return FileReport(
            path=shown,
            kind="cases",
            status=status,
            reason=self._reason(status),
            operator=case.name if case else None,
            basis=self._basis or (known.basis if known else "none"),
            scenarios=scenarios,
            backward=self._backward,
            found=written[0] if len(written) == 1 else written or None,
            recommended=self._standards.get(wrong is not None) or None,
            expression=wrong.recommendation.expression if wrong else None,
            expression_reason="" if wrong else "no case needs another standard",
            verdicts=dict(verdicts),
            tensors=self._folding.reports("cases"),
        )

    def _reason(self, status: str) -> str:
        if not self._statuses:
            return self._reasons[0] if self._reasons else "the file holds no cases"
        unknown = f"; {self._untold} cannot be told: {self._reasons[0]}" if self._reasons else ""
        example = self._largest[status]
        words = case_words.why_unknown(example) if status == "unknown" else case_words.first_words(example, status)
        detail = f": {words}" if status != "ok" else ""
        judged = sum(self._statuses.values())
        return f"{self._statuses[status]} of {judged + self._untold} cases are {status}{detail}{unknown}"

    def problems(self, shown: str, basis: str) -> Iterator[CaseProblem]:
        """One problem for each thing that is wrong, with the positions of all the cases that have it."""
        for (rule, _), group in self._groups.items():
            fix = "safe" if group.safe else "unsafe" if group.writable else "manual"
            fix = "manual" if rule == "no-threshold-row" else fix
            message = case_words.message(rule, group.first, group.largest)
            finding = find(rule, shown, message, count=len(group.indices), fix=fix)
            if basis == "name":
                finding = at_most(finding, "warning")
            by_place = dict(group.proposals.values()) if fix in ("safe", "unsafe") else {}
            yield CaseProblem(finding, tuple(group.indices), tuple([by_place.get(place) for place in group.chosen]))
        for message, indices in self._ignored.items():
            yield _without_edit(find("ignored-keyword", shown, message, count=len(indices)), indices)
        for (mismatch, reason), indices in self._unknown.items():
            rule, severity = ("shapes-cannot-meet", "warning") if mismatch else ("unknown-operator", None)
            yield _without_edit(find(rule, shown, reason, count=len(indices), severity=severity), indices)


def _without_edit(finding: Finding, indices: array[int]) -> CaseProblem:
    return CaseProblem(finding, tuple(indices), (None,) * len(indices))


def _looseness(name: str, dtype: str) -> tuple[float, float]:
    from opscan.judging.standards import load_standards

    if name == "derived":  # thresholds for one case count as the loosest
        return (math.inf, math.inf)
    rule = load_standards().rule(name, dtype)
    return (-1.0, 0.0) if rule is None or rule.exact else (rule.rtol, rule.atol)
