"""Judge a case file: every case has a standard of its own, so every case is a unit of its own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from opscan.judging.assignments import compares_values, judged_as
from opscan.judging.comparators import ignored_keywords
from opscan.judging.findings import at_most, find
from opscan.judging.messages import acc_text, behaviour, percent, recommendation_text, tensor_text, wrong_text
from opscan.judging.safety import draws_nan, is_unsure
from opscan.judging.settings import Judge
from opscan.judging.tensors import fold, worst
from opscan.judging.units import Unit, judge_each, lets_through
from opscan.judging.verdicts import CaseVerdict, read_values
from opscan.model import Case, CaseFile, Classification, FileReport, Finding, NumericClass, TensorReport

_RULES = {
    "too-strict": "standard-too-strict",
    "too-loose": "standard-too-loose",
    "ambiguous": "ambiguous-default",
    "invalid": "unknown-comparator",
}


@dataclass(frozen=True, slots=True)
class CaseProblem:
    """One kind of problem and the positions of the cases that have it, with what each case's standard should become."""

    finding: Finding
    indices: tuple[int, ...]
    proposals: tuple[Any, ...]
    """Parallel to `indices`; None where nothing is to be written."""


@dataclass(frozen=True, slots=True)
class JudgedCases:
    report: FileReport
    problems: tuple[CaseProblem, ...]


def judge_case_file(
    case_file: CaseFile,
    shown: str,
    scenarios: tuple[str, ...],
    classify: Callable[[Case], Classification],
    judge: Judge,
) -> JudgedCases:
    """The report on a case file: statuses by case, and one problem per kind of finding."""
    pairs = [(case, classify(case)) for case in case_file.cases]
    runnable = [(case, known) for case, known in pairs if known.tensors]
    judge = replace(judge, scenario=judged_as(scenarios))
    units = judge_each(runnable, judge)
    compares = compares_values(scenarios)
    # Cases that were judged at once share their statuses.
    distinct = {id(unit.statuses): unit for unit in units}
    told = {number: status_of(unit) if compares else "ok" for number, unit in distinct.items()}
    statuses = [told[id(unit.statuses)] for unit in units]
    verdicts = Counter(statuses) + Counter(["unknown"] * (len(pairs) - len(runnable)))
    report = _report(shown, scenarios, pairs, units, statuses, verdicts)
    problems = _problems(shown, units, statuses, report.basis) + _ignored(shown, units) + _unknowns(shown, pairs)
    return JudgedCases(report, tuple(problems))


def status_of(unit: Unit) -> str:
    """A case whose comparator does not exist cannot run, whatever its tensors are."""
    crash = any(v.effective.crash for case in unit.verdicts for v in case.tensors)
    return "invalid" if crash else unit.status


def _report(
    shown: str,
    scenarios: tuple[str, ...],
    pairs: Sequence[tuple[Case, Classification]],
    units: Sequence[Unit],
    statuses: Sequence[str],
    verdicts: Counter[str],
) -> FileReport:
    judged = [unit.verdicts[0] for unit in units]
    written = {repr(case.acc): case.acc for case, _ in pairs}
    wrong = [unit for unit, status in zip(units, statuses, strict=True) if status not in ("ok", "unknown")]
    reasons = [known.reason for _, known in pairs if known.reason and not known.tensors]
    status = worst(statuses) if units else "unknown"
    first = pairs[0][0] if pairs else None
    return FileReport(
        path=shown,
        kind="cases",
        status=status,
        reason=_reason(status, units, statuses, reasons),
        operator=first.name if first else None,
        basis=next((known.basis for _, known in pairs if known.tensors), pairs[0][1].basis if pairs else "none"),
        scenarios=scenarios,
        backward=any(case.backward for case, _ in pairs),
        found=next(iter(written.values())) if len(written) == 1 else list(written.values()) or None,
        recommended=_merged(
            list({id(unit.recommendation): unit.recommendation.standards for unit in wrong or units}.values())
        ),
        expression=wrong[0].recommendation.expression if wrong else None,
        expression_reason="" if wrong else "no case needs another standard",
        verdicts=dict(verdicts),
        tensors=_fold(judged, units, statuses),
    )


def _fold(judged: Sequence[CaseVerdict], units: Sequence[Unit], statuses: Sequence[str]) -> tuple[TensorReport, ...]:
    per_tensor = [
        unit.statuses[0] if status != "ok" else ("ok",) * len(unit.statuses[0])
        for unit, status in zip(units, statuses, strict=True)
    ]
    return fold(judged, per_tensor, "cases")


def _merged(standards: Sequence[Any]) -> dict[str, str] | None:
    """Per dtype the loosest standard that any case needs; thresholds derived for a case count as the loosest."""
    merged: dict[str, str] = {}
    for one in standards:
        for dtype, name in one.items():
            if dtype not in merged or _looseness(name, dtype) > _looseness(merged[dtype], dtype):
                merged[dtype] = name
    return merged or None


def _looseness(name: str, dtype: str) -> tuple[float, float]:
    from opscan.judging.standards import load_standards

    if name == "derived":
        return (math.inf, math.inf)
    rule = load_standards().rule(name, dtype)
    return (-1.0, 0.0) if rule is None or rule.exact else (rule.rtol, rule.atol)


def _reason(status: str, units: Sequence[Unit], statuses: Sequence[str], reasons: Sequence[str]) -> str:
    if not units:
        return reasons[0] if reasons else "the file holds no cases"
    count = sum(one == status for one in statuses)
    unknown = f"; {len(reasons)} cannot be told: {reasons[0]}" if reasons else ""
    same = [unit for unit, one in zip(units, statuses, strict=True) if one == status] or units
    example = max(same, key=_largest_extent)
    words = _why_unknown(example) if status == "unknown" else _first_words(example, status)
    detail = f": {words}" if status != "ok" else ""
    return f"{count} of {len(statuses) + len(reasons)} cases are {status}{detail}{unknown}"


def _why_unknown(unit: Unit) -> str:
    """What keeps a case from being judged: the tensor is not comparable, or the rule in effect is not known."""
    verdicts = [v for v, status in zip(unit.verdicts[0].tensors, unit.statuses[0], strict=True) if status == "unknown"]
    for verdict in verdicts:
        if verdict.tensor.numeric_class is NumericClass.RANDOM:
            return f"{verdict.tensor.name} draws random numbers"
        if verdict.tensor.reason or verdict.effective.detail:
            return verdict.tensor.reason or verdict.effective.detail
    return "the rule in effect is not known"


def _largest_extent(unit: Unit) -> int:
    return max((verdict.tensor.extent for verdict in unit.verdicts[0].tensors), default=0)


def _first_words(unit: Unit, status: str) -> str:
    """The tensor that decides the case, in words."""
    reports = fold(unit.verdicts, unit.statuses, "cases")
    decisive = [report for report in reports if report.status == status] or list(reports)
    return f"{tensor_text(decisive[0])} {behaviour(decisive[0])}"


def _problems(shown: str, units: Sequence[Unit], statuses: Sequence[str], basis: str) -> list[CaseProblem]:
    grouped: dict[tuple[str, str], list[Unit]] = {}
    for unit, status in zip(units, statuses, strict=True):
        if status in _RULES:
            grouped.setdefault((_rule(unit, status), repr(unit.verdicts[0].case.acc)), []).append(unit)
    problems = []
    for (rule, _), same in grouped.items():
        fix = "safe" if all(_is_safe(unit) for unit in same) else _fallback(same)
        fix = "manual" if rule == "no-threshold-row" else fix
        finding = find(rule, shown, _message(rule, same), count=len(same), fix=fix)
        if basis == "name":
            finding = at_most(finding, "warning")
        indices = tuple(unit.verdicts[0].case.index for unit in same)
        wanted = fix in ("safe", "unsafe")
        proposals = tuple(unit.recommendation.expression if wanted else None for unit in same)
        problems.append(CaseProblem(finding, indices, proposals))
    return problems


def _rule(unit: Unit, status: str) -> str:
    decisive = [v for v, one in zip(unit.verdicts[0].tensors, unit.statuses[0], strict=True) if one == status]
    if status == "too-strict" and not any(v.mendable for v in decisive):
        return "no-threshold-row"
    if any(lets_through(v, unit.recommendation) for v in decisive):
        return "standard-vacuous"
    if status == "too-loose" and all(v.effective.name == "quantised" for v in decisive):
        return "int8-step"
    inadequate = status == "too-strict" and not all(v.exact for v in decisive)
    return "standard-inadequate" if inadequate else _RULES[status]


def _is_safe(unit: Unit) -> bool:
    verdict = unit.verdicts[0]
    golden = verdict.classification.basis in ("golden", "plugin")
    known = unit.recommendation.registered and not any(is_unsure(v) for v in verdict.tensors)
    writable = unit.recommendation.expression is not None and unit.recommendation.adequate
    drawn = read_values(verdict.classification)
    return golden and known and writable and not drawn and not draws_nan(verdict.case)


def _fallback(units: Sequence[Unit]) -> str:
    writable = all(unit.recommendation.expression is not None and unit.recommendation.adequate for unit in units)
    return "unsafe" if writable else "manual"


def _message(rule: str, units: Sequence[Unit]) -> str:
    first = units[0]
    acc = acc_text(first.verdicts[0].case.acc)
    crash = next((v.effective.crash for v in first.verdicts[0].tensors if v.effective.crash), "")
    if crash:
        return f"{acc} will not run: {crash}"
    worst_status = first.status
    largest = max(units, key=_largest_extent)
    words = _first_words(largest, worst_status)
    advice = recommendation_text(largest.recommendation)
    if rule == "standard-too-loose":
        return f"{acc} passes wrong kernels: {words}, so bits must agree; write `equal`"
    if rule == "int8-step":
        return f"{acc} lets int8 differ by 1: {words}, so bits must agree; write `equal`"
    if rule == "standard-vacuous":
        return f"{acc} passes even {wrong_text([largest])}: {words}; {advice}"
    if rule == "ambiguous-default":
        return f"{acc} means another comparator in another ATK version: {words}; {advice}"
    if rule == "no-threshold-row":
        dtype = largest.verdicts[0].tensors[-1].tensor.dtype
        return f"ATK compares {dtype} with torch.equal whatever the standard says, but {words}: leave this dtype out"
    rate = f" in {percent(largest.rate)} of such cases" if rule == "standard-inadequate" else ""
    return f"{acc} fails correct kernels{rate}: {words}; {advice}"


def _ignored(shown: str, units: Sequence[Unit]) -> list[CaseProblem]:
    """The cases with keywords that their comparator ignores, grouped by what is written."""
    grouped: dict[str, list[int]] = {}
    for unit in units:
        verdict = unit.verdicts[0]
        message = ignored_keywords(verdict.case.acc, [v.effective for v in verdict.tensors])
        if message:
            grouped.setdefault(message, []).append(verdict.case.index)
    return [
        CaseProblem(find("ignored-keyword", shown, message, count=len(same)), tuple(same), tuple(None for _ in same))
        for message, same in grouped.items()
    ]


def _unknowns(shown: str, pairs: Sequence[tuple[Case, Classification]]) -> list[CaseProblem]:
    grouped: dict[tuple[bool, str], list[int]] = {}
    for case, known in pairs:
        if not known.tensors:
            grouped.setdefault((known.mismatch, known.reason), []).append(case.index)
    problems = []
    for (mismatch, reason), indices in grouped.items():
        rule = "shapes-cannot-meet" if mismatch else "unknown-operator"
        severity = "warning" if mismatch else None
        finding = find(rule, shown, reason, count=len(indices), severity=severity)
        problems.append(CaseProblem(finding, tuple(indices), tuple(None for _ in indices)))
    return problems
