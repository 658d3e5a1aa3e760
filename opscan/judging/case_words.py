"""What is said of the cases of a case file: which case decides, and in which words."""

from __future__ import annotations

from opscan.judging.messages import (
    acc_text,
    behaviour,
    implementation_text,
    percent,
    recommendation_text,
    share_of_run,
    tensor_text,
    wrong_text,
)
from opscan.judging.safety import draws_nan, is_unsure
from opscan.judging.scopes import StandardScope, lets_through
from opscan.judging.tensors import fold
from opscan.judging.verdicts import read_values
from opscan.model import NumericClass

RULES = {
    "too-strict": "standard-too-strict",
    "too-loose": "standard-too-loose",
    "ambiguous": "ambiguous-default",
    "invalid": "unknown-comparator",
}


def status_of(scope: StandardScope) -> str:
    """A case whose comparator does not exist cannot run, whatever its tensors are."""
    crash = any(v.effective.crash for case in scope.verdicts for v in case.tensors)
    return "invalid" if crash else scope.status


def rule_of(scope: StandardScope, status: str) -> str:
    decisive = [v for v, one in zip(scope.verdicts[0].tensors, scope.statuses[0], strict=True) if one == status]
    if status == "too-strict" and not any(v.mendable for v in decisive):
        return "no-threshold-row"
    if any(lets_through(v, scope.recommendation) for v in decisive):
        return "standard-vacuous"
    if status == "too-loose" and all(v.effective.name == "quantised" for v in decisive):
        return "int8-step"
    inadequate = status == "too-strict" and not all(v.exact for v in decisive)
    return "standard-inadequate" if inadequate else RULES[status]


def is_safe(scope: StandardScope) -> bool:
    verdict = scope.verdicts[0]
    golden = verdict.classification.basis in ("golden", "plugin")
    known = scope.recommendation.registered and not any(is_unsure(v) for v in verdict.tensors)
    writable = scope.recommendation.expression is not None and scope.recommendation.adequate
    drawn = read_values(verdict.classification)
    return golden and known and writable and not drawn and not draws_nan(verdict.case)


def is_writable(scope: StandardScope) -> bool:
    return scope.recommendation.expression is not None and scope.recommendation.adequate


def message(rule: str, first: StandardScope, largest: StandardScope, rate: tuple[float, int]) -> str:
    """Of cases that have one problem: the first of them, and the one that adds up most. `rate`: the mean share of them
    that correct kernels fail, and how many they are."""
    acc = acc_text(first.verdicts[0].case.acc)
    crash = next((v.effective.crash for v in first.verdicts[0].tensors if v.effective.crash), "")
    if crash:
        return f"{acc} will not run: {crash}"
    worst_status = first.status
    words = first_words(largest, worst_status)
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
    if rule != "standard-inadequate":
        return f"{acc} fails correct kernels: {words}; {advice}"
    share, cases = rate
    own = f", {percent(largest.rate)} of those like this" if abs(largest.rate - share) > share / 2 else ""
    often = share_of_run(share, cases)
    return f"{acc} fails correct kernels in {often}{own}: {words}; {advice}{implementation_text(largest)}"


def unowned_message(scope: StandardScope, unowned: str) -> str:
    """Of cases that would be judged wrong if values are compared, where nobody can say whether they are."""
    acc = acc_text(scope.verdicts[0].case.acc)
    return (f"whether {acc} fits depends on what these cases are for, which is not known: {unowned}; audit them "
            "together with the spec or the run script")  # fmt: skip


def why_unknown(scope: StandardScope) -> str:
    """What keeps a case from being judged: the tensor is not comparable, or the rule in effect is not known."""
    verdicts = [
        v for v, status in zip(scope.verdicts[0].tensors, scope.statuses[0], strict=True) if status == "unknown"
    ]
    for verdict in verdicts:
        if verdict.tensor.numeric_class is NumericClass.RANDOM:
            return f"{verdict.tensor.name} draws random numbers"
        if verdict.tensor.reason or verdict.effective.detail:
            return verdict.tensor.reason or verdict.effective.detail
    return "the rule in effect is not known"


def first_words(scope: StandardScope, status: str) -> str:
    """The tensor that decides the case, in words."""
    reports = fold(scope.verdicts, scope.statuses, "cases")
    decisive = [report for report in reports if report.status == status] or list(reports)
    return f"{tensor_text(decisive[0])} {behaviour(decisive[0])}"
