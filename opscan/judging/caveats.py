"""What must be said of a standard that may fit all the same: what it leaves unread, and rows unlike those of others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opscan.judging.assignments import assigned
from opscan.judging.drift_parameters import dtypes_of
from opscan.judging.findings import find
from opscan.judging.messages import acc_text, recommendation_text
from opscan.judging.pass_rules import Rule
from opscan.judging.safety import draws_nan, inputs_of, nan_possible
from opscan.judging.scopes import StandardScope
from opscan.judging.settings import Judge
from opscan.judging.standards import Standards
from opscan.judging.verdicts import TensorVerdict
from opscan.model import Evidence, Finding, KeyPath, NumericClass, Span, Spec

_TOLERANCES = ("share-within-tolerance", "mean-and-max-relative")
_FLOATING = ("fp", "bf", "hf", "complex")
_SAME = 0.01
"""Thresholds of two tables that differ by less are roundings of one number."""


def caveats(
    spec: Spec, shown: str, evidence: Evidence, scope: StandardScope, judge: Judge, fix: str
) -> Iterator[Finding]:
    """The findings on a spec whose standard compares values. `fix`: whether the recommendation may be written."""
    span = spec.spans.get(("standard", "acc")) or spec.spans.get(("standard",)) or spec.spans.get(("name",))
    verdicts = [verdict for case in scope.verdicts for verdict in case.tensors]
    floating = [v for v in verdicts if v.tensor.dtype.startswith(_FLOATING)]
    yield from _random(spec, shown, verdicts, span)
    yield from _golden_dtype(shown, scope, span)
    yield from _unread(spec, shown, evidence, floating)
    yield from _nan_under_equal(spec, shown, evidence, floating, span)
    yield from _own_rows(spec, shown, span, judge.rules.standards)
    yield from _not_as_assigned(spec, shown, scope, judge, span, fix)


def _random(spec: Spec, shown: str, verdicts: list[TensorVerdict], span: Span | None) -> Iterator[Finding]:
    """Random numbers belong to a test of distributions, and nothing else does."""
    drawn = sorted({v.tensor.name for v in verdicts if v.tensor.numeric_class is NumericClass.RANDOM})
    compared = [v for v in verdicts if v.tensor.name in drawn and v.effective.name != "distribution"]
    fixed = sorted(
        {v.tensor.name for v in verdicts if v.tensor.name not in drawn and v.effective.name == "distribution"}
    )
    if fixed:
        message = (
            f"{acc_text(spec.acc)} compares distributions, but {', '.join(fixed)} draws nothing: elements in any order "
        )
        yield find("random-compared", shown, f"{message}would pass", spans=[span], fix="manual")
    if drawn and compared:
        message = f"{', '.join(drawn)} draws random numbers, and {acc_text(spec.acc)} compares them one by one"
        yield find("random-compared", shown, message, spans=[span], fix="manual")


def _golden_dtype(shown: str, scope: StandardScope, span: Span | None) -> Iterator[Finding]:
    """A golden in a plugin that returns another floating dtype than any input has: the device's result has not."""
    for case in scope.verdicts:
        own = {dtype for dtype in dtypes_of(case.case) if dtype.startswith(_FLOATING)}
        strange = [
            v.tensor for v in case.tensors
            if v.tensor.role == "output" and v.tensor.dtype.startswith(_FLOATING) and v.tensor.dtype not in own
        ]  # fmt: skip
        if case.classification.basis == "plugin" and len(own) == 1 and strange:
            (dtype,), tensor = own, strange[0]
            name = tensor.name.replace(":", " ")
            message = (
                f"the golden of {name} is {tensor.dtype}, its inputs are {dtype}: a device that answers in {dtype} is "
                f"judged by the row of {tensor.dtype}; unless it does not, round the golden to {dtype} at the end"
            )
            # some operators answer in float32 whatever they are given, none in float64
            severity = None if tensor.dtype == "fp64" else "info"
            yield find("golden-dtype", shown, message, spans=[span], fix="manual", severity=severity)
            return


def _unread(spec: Spec, shown: str, evidence: Evidence, floating: list[TensorVerdict]) -> Iterator[Finding]:
    """A golden with NaN or Inf passes a tolerance comparator unread."""
    if not any(v.effective.rule is not None and v.effective.rule.passes in _TOLERANCES for v in floating):
        return
    where = _non_finite(spec)
    if where is None and not any(draws_nan(case) for case in evidence.cases):
        return
    reason, span = where or ("a case is drawn as NaN", None)
    message = f"{reason}: under {acc_text(spec.acc)} a golden that holds NaN or Inf passes unread, so they test nothing"
    yield find("nonfinite-unread", shown, message, spans=[span], fix="manual")


def _non_finite(spec: Spec) -> tuple[str, Span | None] | None:
    """Why cases with NaN or Inf are drawn, and where that is written; None where they are not."""
    for where, value in _texts(spec):
        if value.strip("'\"").lower() in ("inf", "-inf", "nan") and "valid" in where:
            return f"`{value}` is among the ranges", spec.spans[where]
    tensors = [one for one in inputs_of(spec) if one.kind.startswith("tensor")]
    floats = [one for one in tensors if any(str(d).startswith(("fp", "bf", "hf", "float")) for d in one.dtypes.values)]
    if spec.extra_numbers != 0 and any(one.boundary.get("has_infnan", True) for one in floats):
        return f"extra_numbers is {spec.extra_numbers} and has_infnan is on", spec.spans.get(("extra_numbers",))
    return None


def _texts(spec: Spec) -> Iterator[tuple[KeyPath, str]]:
    for where, span in spec.spans.items():
        if "ranges" in where and span.end - span.start < 8:
            yield where, spec.source.text[span.start : span.end]


def _nan_under_equal(
    spec: Spec, shown: str, evidence: Evidence, floating: list[TensorVerdict], span: Span | None
) -> Iterator[Finding]:
    copies = [v for v in floating if v.need in ("bits", "either") and v.effective.name == "value-equal"]
    if copies and all(v.need in ("bits", "either") for v in floating) and nan_possible(spec, evidence):
        name = copies[0].tensor.name
        message = (
            f"{name} is compared with torch.equal, which fails a correct copy that holds NaN in part, as it can here"
        )
        yield find(
            "nan-breaks-equal", shown, f"{message}: switch has_infnan and nan ranges off", spans=[span], fix="manual"
        )


def _own_rows(spec: Spec, shown: str, span: Span | None, data: Standards) -> Iterator[Finding]:
    """Rows of mixed_tolerance_bm that are not those of the published standard of the same form."""
    given = _keywords(spec.acc)
    if given is None:
        return
    declared = {str(dtype) for one in inputs_of(spec) if one.kind.startswith("tensor") for dtype in one.dtypes.values}
    for dtype in sorted(declared):
        own, published = data.rule("mixed-tolerance", dtype), data.rule("ecosystem-july", dtype)
        if own is None or published is None or any(key.startswith(f"{dtype}_") for key in given):
            continue
        if not _alike(own, published):
            thresholds = f"rtol {own.rtol:g} and atol {own.atol:g}, where the published standard has "
            message = f"without keywords {dtype} is judged by {thresholds}{published.rtol:g} and {published.atol:g}"
            yield find("default-row-differs", shown, f"{message}: write the ones that are meant", spans=[span])


def _keywords(acc: Any) -> dict[str, Any] | None:
    """The keywords of mixed_tolerance_bm; None where another comparator, or whatever `default` means, is written."""
    if acc == "mixed_tolerance_bm":
        return {}
    if isinstance(acc, dict) and next(iter(acc), None) == "mixed_tolerance_bm":
        return dict(acc["mixed_tolerance_bm"]) if isinstance(acc["mixed_tolerance_bm"], dict) else {}
    return None


def _alike(left: Rule, right: Rule) -> bool:
    pairs = ((left.rtol, right.rtol), (left.atol, right.atol))
    return all(abs(a - b) <= _SAME * max(a, b) for a, b in pairs)


def _not_as_assigned(
    spec: Spec, shown: str, scope: StandardScope, judge: Judge, span: Span | None, fix: str
) -> Iterator[Finding]:
    """Where an entry of the assignments leaves no choice, another tolerance is not what was agreed on."""
    for case in scope.verdicts:
        for verdict in case.tensors:
            steps = assigned(verdict.tensor, judge.scenario, judge.rules.assignments).standards or ()
            named = verdict.effective.name
            if (
                verdict.need == "tolerance"
                and len(steps) == 1
                and not verdict.exact
                and named not in (*steps, "unknown")
            ):
                message = f"{verdict.tensor.name} is assigned {steps[0]}, but {acc_text(spec.acc)} applies {named}"
                advice = recommendation_text(scope.recommendation)
                yield find("not-as-assigned", shown, f"{message}; {advice}", spans=[span], fix=fix)
                return
