"""Judge a spec: the written standard against the classes of everything it compares, over all its cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opscan.dataclass import dataclass
from opscan.judging.assignments import Assignments, assigned, compares_values, judged_as
from opscan.judging.caveats import caveats
from opscan.judging.comparators import comparator_findings
from opscan.judging.drift_parameters import dtypes_of
from opscan.judging.exercised import exercised
from opscan.judging.findings import at_most, find
from opscan.judging.messages import (
    acc_text,
    doubtful,
    implementation_text,
    recommendation_text,
    share_of_run,
    tensors_text,
    unestablished,
    wrong_text,
)
from opscan.judging.safety import doubt_of, fix_label, inputs_of, nan_possible
from opscan.judging.scopes import StandardScope, judge_scope, lets_through
from opscan.judging.settings import Judge
from opscan.judging.tensors import fold
from opscan.judging.verdicts import CaseVerdict, judge_case
from opscan.model import (
    Case,
    Classification,
    Evidence,
    FileReport,
    Finding,
    NumericClass,
    Scenarios,
    Span,
    Spec,
    TensorReport,
)
from opscan.numerics.dtypes import compared_dtype
from opscan.numerics.messages import NEEDS_TORCH
from opscan.shapes.draw import count_cases

if TYPE_CHECKING:
    from opscan.numerics import Plan

Classify = Callable[[Case], Classification]
Many = tuple[Callable[[Sequence[Case]], Sequence[Classification]], Callable[[Case], "Plan | None"]]
"""Classifies cases at once, and plans it for those that differ in their shapes only."""
MANY_CASES = 2000
"""Up to so many, every case of a spec stands for itself."""

_IN_TORCH = ("torch.", "Tensor.", "aten.", "F.", "nn.functional.", "functional.")
"""How names begin that only torch itself can tell."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A report with its findings. `proposal`: what `standard.acc` should become, None if nothing is to be written."""

    report: FileReport
    findings: tuple[Finding, ...]
    proposal: Any = None
    note: str = ""
    """What the proposal holds for, where its thresholds are derived: a comment."""
    verdicts: tuple[CaseVerdict, ...] = ()
    doubt: str = ""
    """Why the prediction proves nothing, unless it is emulated."""
    certain: bool = False
    """Nothing but that doubt keeps an edit from being safe."""


def judge_spec(  # noqa: PLR0913
    spec: Spec,
    shown: str,
    evidence: Evidence,
    scenarios: Scenarios,
    classify: Classify,
    judge: Judge,
    *,
    executor_reason: str = "",
    has_golden: bool = False,
    deterministic: bool = False,
    many: Many | None = None,
) -> Judged:
    """The report on one spec. `shown` is its path as the user named it; `evidence` its concrete cases.

    `executor_reason`: why the plugin that would hold the golden is not there, if the spec needs one. `has_golden`:
    `classify` reads it in a plugin, so that the spec's name need not mean an operator. `deterministic`: a node file
    of the spec switches the deterministic mode on. `many`: how the cases of a large case file are classified at once.
    """
    base = FileReport(
        path=shown,
        kind="spec",
        status="unknown",
        reason="",
        operator=spec.name,
        scenarios=scenarios.names,
        scenario_source=scenarios.source,
        backward=spec.backward,
        found=spec.acc,
    )
    if not has_golden and (foreign := foreign_name(spec)) is not None:
        return _undecided(spec, base, "; ".join(filter(None, (foreign, executor_reason))), "unknown-operator")
    if not evidence.cases:
        from opscan.judging.invariance import invariant_evidence

        invariant = invariant_evidence(spec, classify)
        if invariant is None:
            return _undecided(spec, base, evidence.reason, "unknown-shapes")
        evidence = invariant
    judge = replace(judge, scenario=judged_as(scenarios.names, judge.rules.assignments))
    pairs = _classified(evidence.cases, classify, many, judge)
    runnable = [pair for pair in pairs if pair[1].tensors]
    findings = _mismatches(spec, shown, pairs)
    if not runnable:
        return _unrunnable(spec, base, pairs, findings)
    verdicts = _verdicts(runnable, judge)
    findings += comparator_findings(spec, shown, verdicts)
    findings += exercised(spec, shown, evidence, verdicts, classify, judge)
    judged = _decided(
        spec, base, evidence, judge_scope(verdicts, judge, _floating_dtypes(spec, verdicts)), findings, judge
    )
    judged = replace(judged, verdicts=tuple(verdicts))
    if deterministic or "determinism" not in scenarios.names:
        return judged
    return replace(judged, findings=(*judged.findings, *_determinism_notes(spec, judged.report)))


def _classified(
    cases: Sequence[Case], classify: Classify, many: Many | None, judge: Judge
) -> list[tuple[Case, Classification]]:
    if many is not None and len(cases) > MANY_CASES:
        from opscan.judging.kinds import shared_pairs
        from opscan.reading.case_table import CaseTable

        if isinstance(cases, CaseTable):
            return shared_pairs(cases, *many, judge)
    return [(case, classify(case)) for case in cases]


def _verdicts(pairs: Sequence[tuple[Case, Classification]], judge: Judge) -> list[CaseVerdict]:
    """The verdicts on the cases; those that are one object share theirs."""
    known: dict[int, CaseVerdict] = {}
    for pair in pairs:
        if id(pair) not in known:
            known[id(pair)] = judge_case(*pair, pair[0].acc, judge)
    return [known[id(pair)] for pair in pairs]


def _floating_dtypes(spec: Spec, verdicts: Sequence[CaseVerdict]) -> tuple[str, ...]:
    """The floating dtypes that any tensor input declares, under the names that compared tensors carry.

    None where the golden returns a dtype of its own: then no other is compared.
    """
    if not any(v.tensor.dtype in dtypes_of(case.case) for case in verdicts for v in case.tensors):
        return ()
    declared = [
        str(dtype) for given in inputs_of(spec) if given.kind.startswith("tensor") for dtype in given.dtypes.values
    ]
    return tuple(name for name in dict.fromkeys(map(compared_dtype, declared)) if name)


def _decided(
    spec: Spec, base: FileReport, evidence: Evidence, scope: StandardScope, findings: list[Finding], judge: Judge
) -> Judged:
    basis = scope.verdicts[0].classification.basis
    tensors = fold(scope.verdicts, scope.statuses, evidence.source)
    compares = compares_values(base.scenarios, judge.rules.assignments)
    status = scope.status if compares else "ok"
    broken = next((f.message for f in findings if f.rule == "OPS104" and f.severity == "error"), "")
    status = "invalid" if broken else status
    report = replace(
        base,
        status=status,
        reason=broken or _reason(status, tensors, evidence, base, compares),
        basis=basis,
        recommended=dict(scope.recommendation.standards) or None,
        expression=scope.recommendation.expression,
        expression_reason="; ".join(filter(None, (scope.recommendation.reason, *scope.recommendation.derivations))),
        tensors=tensors if compares else tuple(_satisfied(tensor) for tensor in tensors),
    )
    if not compares:
        reason = f"{_reason(status, tensors, evidence, base, compares)}; no comparator decides it"
        report = replace(
            report,
            recommended=_instead(scope, base, judge.rules.assignments),
            expression=None,
            expression_reason=reason,
        )
        return Judged(report, tuple(findings))
    fix = fix_label(spec, evidence, scope, basis, established=base.scenario_source is not None)
    judged = standard_findings(spec, report, evidence, scope, fix)
    judged += caveats(spec, report.path, evidence, scope, judge, fix)
    if basis == "name":
        judged = [at_most(finding, "warning") for finding in judged]
    wanted = any(finding.fix in ("safe", "unsafe") for finding in judged)
    proposal = scope.recommendation.expression if wanted else None
    doubt = doubt_of(scope)
    return Judged(report, (*findings, *judged), proposal, scope.recommendation.note, doubt=doubt, certain=fix == "safe")


def _instead(scope: StandardScope, base: FileReport, known: Assignments) -> dict[str, str] | None:
    """The standard per dtype of a run that does not compare outputs with a golden, if any is assigned."""
    scenario = judged_as(base.scenarios, known)
    found = {}
    for verdict in (v for case in scope.verdicts for v in case.tensors):
        steps = assigned(verdict.tensor, scenario, known).standards
        found.update({verdict.tensor.dtype: steps[0]} if steps else {})
    return found or None


def standard_findings(
    spec: Spec, report: FileReport, evidence: Evidence, scope: StandardScope, fix: str
) -> list[Finding]:
    """The findings on the standard itself; each stands at the value of `standard.acc`."""
    cases = len(scope.verdicts) if evidence.source == "cases" else count_cases(spec)
    advice = recommendation_text(scope.recommendation, cases)
    span = _acc_span(spec)
    findings = []
    written = acc_text(spec.acc)
    unsure = doubt_of(scope)

    def add(rule: str, message: str, label: str = fix) -> None:
        doubt = unsure if rule in ("standard-inadequate", "standard-vacuous") else ""
        severity, label = ("warning", "unsafe" if label == "safe" else label) if doubt else (None, label)
        text = message + doubtful(doubt) + unestablished(report.scenario_source)
        findings.append(find(rule, report.path, text, spans=[span], fix=label, severity=severity))

    exact, rowless, inadequate = (_strict_by(scope, report, how) for how in ("exact", "rowless", "inadequate"))
    vacuous = _vacuous(scope)
    passed = [tensor for tensor in report.tensors if tensor.status == "too-loose" and tensor.name not in vacuous]
    steps = [tensor for tensor in passed if set(tensor.effective.values()) == {"quantised"}]
    loose = [tensor for tensor in passed if tensor not in steps]
    zeros = [tensor for tensor in report.tensors if tensor.status == "too-loose" and tensor.name in vacuous]
    if exact:
        add("standard-too-strict", f"{written} fails correct kernels: {tensors_text(exact, evidence)}; {advice}")
    if inadequate:
        rate = share_of_run(scope.rate, cases)
        message = f"{written} fails correct kernels in {rate}: {tensors_text(inadequate, evidence)}; {advice}"
        message += implementation_text(scope)
        add("standard-inadequate", message, fix if scope.recommendation.adequate else "manual")
    if rowless:
        dtypes = ", ".join(sorted({v.tensor.dtype for c in scope.verdicts for v in c.tensors if not v.mendable}))
        add("no-threshold-row", f"ATK compares {dtypes} with torch.equal whatever the standard says, but "
            f"{tensors_text(rowless, evidence)}: leave these dtypes out, or compare them in a plugin",
            "manual")  # fmt: skip
    if zeros:
        message = f"{written} passes even {wrong_text([scope])}: {tensors_text(zeros, evidence)}; {advice}"
        add("standard-vacuous", message)
    if steps:
        copies = tensors_text(steps, evidence, copies=True)
        add("int8-step", f"{written} lets int8 differ by 1: {copies}, so bits must agree; write `equal`")
    if loose:
        label = "unsafe" if fix == "safe" and nan_possible(spec, evidence) else fix
        caveat = _nan_caveat(spec, evidence)
        copies = tensors_text(loose, evidence, copies=True)
        message = f"{written} passes wrong kernels: {copies}, so bits must agree; write `equal`{caveat}"
        add("standard-too-loose", message, label)
    if report.status == "ambiguous" and not findings:
        add("ambiguous-default", f"{written} means another comparator in another ATK version; {advice}")
    shared = [tensor for tensor in report.tensors if tensor.status == "shared"]
    if shared and not _chosen_per_case(scope):
        how = " (opscan fix --split)" if any(_is_broadcast(tensor) for tensor in report.tensors) else ""
        add("standard-shared", f"{tensors_text(shared, evidence, copies=True)}, yet shares the tolerance that "
            f"{_needers(scope)} needs: split the spec{how} to compare it bit by bit", "none")  # fmt: skip
    return findings


def _chosen_per_case(scope: StandardScope) -> bool:
    """Whether a plugin gives the cases different standards: then nothing is left that splitting the spec would add."""
    return any(case.acc != scope.verdicts[0].case.acc for case in (verdict.case for verdict in scope.verdicts))


def _is_broadcast(tensor: TensorReport) -> bool:
    return tensor.role == "gradient" and str(NumericClass.BROADCAST_REDUCED) in tensor.cases


def _nan_caveat(spec: Spec, evidence: Evidence) -> str:
    if not nan_possible(spec, evidence):
        return ""
    return " after switching has_infnan and nan ranges off: a partly-NaN output never equals itself"


def foreign_name(spec: Spec) -> str | None:
    """Why the spec's name means no operator of PyTorch, told without importing torch; None where it may mean one."""
    if spec.tensor_input is not None or (spec.name or "").startswith(_IN_TORCH):
        return None
    from opscan.numerics.names import find as find_described

    if any(name and find_described(name) for name in (spec.aclnn_name, spec.name)):
        return None
    if not spec.name:
        return "the spec names no golden operator"
    from opscan.numerics.operators import resolve

    resolved = resolve(spec.name)
    return resolved if isinstance(resolved, str) else None


def _undecided(spec: Spec, base: FileReport, reason: str, rule: str) -> Judged:
    spans = [spec.spans.get(("generate",)) or spec.spans.get(("name",))]
    finding = find(
        rule, base.path, f"the classes of {spec.name or 'this operator'} cannot be told: {reason}", spans=spans
    )
    return Judged(replace(base, status="unknown", reason=reason), (finding,))


def _unrunnable(
    spec: Spec, base: FileReport, pairs: Sequence[tuple[Case, Classification]], findings: list[Finding]
) -> Judged:
    first = pairs[0][1]
    report = replace(base, basis=first.basis, reason=first.reason)
    if all(known.mismatch for _, known in pairs):
        return Judged(replace(report, status="invalid"), tuple(findings))
    name_span = [spec.spans.get(("name",)) or spec.spans.get(("api_type",))]
    evaluated = first.basis == "none" and spec.api_type == "function" and (spec.name or "").startswith(_IN_TORCH)
    evaluated = evaluated and not first.reason.startswith(NEEDS_TORCH)
    severity = "warning" if evaluated else None  # ATK evaluates the name itself, so no plugin can give it a meaning
    finding = find("unknown-operator", base.path, first.reason, spans=name_span, severity=severity)
    return Judged(report, (*findings, finding))


def _mismatches(spec: Spec, shown: str, pairs: Sequence[tuple[Case, Classification]]) -> list[Finding]:
    refused = [known.reason for _, known in pairs if known.mismatch]
    if not refused or not inputs_of(spec):  # a spec without inputs has a finding that says so
        return []
    severity = "error" if len(refused) == len(pairs) else "warning"
    message = f"{len(refused)} of {len(pairs)} cases cannot run: {refused[0]}"
    span = spec.spans.get(("inputs",)) or spec.spans.get(("name",))
    return [find("shapes-cannot-meet", shown, message, spans=[span], count=len(refused), severity=severity)]


def _reason(status: str, tensors: Sequence[TensorReport], evidence: Evidence, base: FileReport, compares: bool) -> str:
    if not compares:
        if "determinism" in base.scenarios:
            return "runs on one device are compared with each other: bitwise is right"
        return f"a {base.scenarios[0]} run compares no values"
    decisive = [tensor for tensor in tensors if tensor.status == status] or list(tensors)
    if status == "unknown":
        return why_unknown(decisive)
    if status == "ok" and all(rule == "value-equal" for tensor in tensors for rule in tensor.effective.values()):
        return f"compared with torch.equal in effect; {tensors_text(decisive, evidence)}"
    return tensors_text(decisive, evidence)


def why_unknown(tensors: Sequence[TensorReport]) -> str:
    for tensor in tensors:
        if tensor.numeric_class is NumericClass.RANDOM:
            return f"{tensor.name} draws random numbers, which cannot be compared"
        if tensor.reason:
            return tensor.reason
    return "the rule in effect is not known"


def _determinism_notes(spec: Spec, report: FileReport) -> list[Finding]:
    scattered = [tensor for tensor in report.tensors if tensor.cause == "scatter"]
    if not scattered:
        return []
    names = ", ".join(tensor.name for tensor in scattered)
    message = f"{names} is accumulated by atomics: it repeats bit by bit only in the node file's deterministic mode"
    return [find("scatter-determinism", report.path, message, spans=[_acc_span(spec)])]


def _satisfied(tensor: TensorReport) -> TensorReport:
    return replace(tensor, status="ok")


def _acc_span(spec: Spec) -> Span | None:
    for where in (("standard", "acc"), ("standard",), ("name",)):
        if where in spec.spans:
            return spec.spans[where]
    return None


def _vacuous(scope: StandardScope) -> set[str]:
    return {v.tensor.name for c in scope.verdicts for v in c.tensors if lets_through(v, scope.recommendation)}


def _strict_by(scope: StandardScope, report: FileReport, how: str) -> list[TensorReport]:
    """The tensors that are judged too strictly: `exact` where a tolerance can be written, `rowless` where it cannot for
    their dtype, `inadequate` where one is in effect that correct kernels fail."""
    names: set[str] = set()
    for case, statuses in zip(scope.verdicts, scope.statuses, strict=True):
        for verdict, status in zip(case.tensors, statuses, strict=True):
            if status == "too-strict":
                found = "inadequate" if not verdict.exact else "exact" if verdict.mendable else "rowless"
                names.update({verdict.tensor.name} if found == how else ())
    return [tensor for tensor in report.tensors if tensor.name in names]


def _needers(scope: StandardScope) -> str:
    names = dict.fromkeys(v.tensor.name for case in scope.verdicts for v in case.tensors if v.need == "tolerance")
    return f"`{next(iter(names))}`" if names else "another tensor"
