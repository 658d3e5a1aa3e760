"""The sentences of findings: what happens to which tensors, in how many cases, and what fits instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opscan.judging.drifts.formulas import keeps_short, steps_of
from opscan.judging.floating import SHORT
from opscan.judging.recommend import Recommendation
from opscan.judging.scopes import StandardScope, lets_through
from opscan.judging.sharpness import BLUNT, MISTAKES, WRONG
from opscan.model import Evidence, NumericClass, TensorReport

_NAMED = 3

_HOW = {
    "broadcast": "sums up to {n} addends because it was broadcast",
    "reduction": "reduces up to {n} addends",
    "contraction": "contracts up to {n} products",
    "scatter": "collects up to {n} addends at repeated indices",
    "window": "adds up to {n} overlapping windows",
    "scan": "runs over up to {n} addends",
}


def acc_text(acc: Any) -> str:
    """A standard in a sentence: the comparator's name, or the whole value if short."""
    if acc is None:
        return "no standard (ATK's `default`)"
    if isinstance(acc, dict):
        return f"`{next(iter(acc), '{}')}`"
    return f"`{acc}`"


def tensor_text(tensor: TensorReport) -> str:
    """`the gradient of `other``, `output 0`."""
    if tensor.role == "gradient":
        return f"the gradient of `{tensor.name.removeprefix('grad:')}`"
    return tensor.name.replace(":", " ")


def behaviour(tensor: TensorReport) -> str:
    kind = tensor.numeric_class
    if kind in (NumericClass.BROADCAST_REDUCED, NumericClass.ACCUMULATED):
        return _HOW.get(tensor.cause or "", "accumulates up to {n} addends").format(n=tensor.extent[1])
    if kind is NumericClass.ARITHMETIC:
        return "rounds once" if tensor.correctly_rounded else "rounds"
    return "only copies"


def share_text(tensor: TensorReport, evidence: Evidence, kind: NumericClass) -> str:
    """`in 55 of 94 cases`; drawn cases say so."""
    count = tensor.cases.get(str(kind), 0)
    noun = "cases" if evidence.source == "cases" else "drawn cases"
    return f"in {count} of {tensor.present} {noun}"


def tensors_text(tensors: Sequence[TensorReport], evidence: Evidence, *, copies: bool = False) -> str:
    """The first few tensors with what happens to them, and how many more there are.

    `copies`: what is said is that they only copy, in the cases where they do.
    """
    parts = []
    for tensor in tensors[:_NAMED]:
        kind = NumericClass.SELECT_ONLY if copies else tensor.numeric_class
        happens = "only copies" if copies else behaviour(tensor)
        parts.append(f"{tensor_text(tensor)} {happens} {share_text(tensor, evidence, kind)}")
    more = len(tensors) - _NAMED
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "")


def recommendation_text(recommendation: Recommendation, cases: int = 0) -> str:
    """What to write instead, with the predicted rate of false alarms, or why nothing can be written.

    `cases`: how many a run has, where that is known.
    """
    names = _by_name(recommendation.standards)
    if recommendation.expression is None:
        return f"{names} would fit, but cannot be written: {recommendation.reason}"
    if not recommendation.adequate:
        worst = max(recommendation.inadequate.values())
        return (
            f"no standard is adequate (the loosest, {names}, still fails correct kernels in {percent(worst)} of "
            f"the cases): {recommendation.remedies}"
        )
    expected = (
        f", {recommendation.rate * cases:.2g} of {cases} cases per run" if recommendation.rate * cases > 0.01 else ""
    )
    rate = f" (predicted false alarms {percent(recommendation.rate)}{expected})" if recommendation.rate else ""
    fits = f"the strictest that fits is {names}{rate}"
    if "derived" in recommendation.standards.values():
        fits = f"what fits is {names}{rate}; derived for {recommendation.note}{_instead(recommendation)}"
    wrong, share = max(recommendation.blunt.values(), key=lambda found: found[1], default=("", 0.0))
    if share >= BLUNT:
        fits += f", under which {WRONG[wrong]} still passes {percent(share)} of the cases: {recommendation.remedies}"
    return fits


def _instead(recommendation: Recommendation) -> str:
    """Why thresholds are derived: what happens under the named standard that comes nearest; told once for each."""
    clauses = {
        f"under {named} {MISTAKES[wrong]} passes" if wrong else f"{named} fails correct kernels": share
        for named, wrong, share in recommendation.why.values()
    }
    parts = [f"{clause} in {percent(share)} of the cases" for clause, share in clauses.items()]
    return f", for {' and '.join(parts)}" if parts else ""


def implementation_text(scope: StandardScope) -> str:
    """Which of the legitimate kernels failed a tolerance of 16 bits, as a clause; "" where there is one way alone."""
    verdicts = [v for case in scope.verdicts for v in case.tensors if not v.exact and v.failure]
    worst = max(verdicts, key=lambda verdict: verdict.failure, default=None)
    if (
        worst is None
        or worst.parameters is None
        or worst.parameters.spread is None
        or worst.tensor.dtype not in SHORT.values()
    ):
        return ""
    if steps_of(worst.tensor.formula) < 2:
        return ""
    kernel = "; judged by a fused kernel, which keeps fp32 inside and rounds once at the end"
    if keeps_short(worst.tensor.formula, worst.tensor.dtype):
        return f"{kernel}, against a golden that rounds its steps to {worst.tensor.dtype}"
    return f"{kernel}, as its golden does"


def wrong_text(scopes: Sequence[StandardScope]) -> str:
    """The wrong results that pass the standard in effect, in words."""
    found = {
        wrong
        for scope in scopes
        for case in scope.verdicts
        for verdict in case.tensors
        for wrong in lets_through(verdict, scope.recommendation)
    }
    return " and ".join(WRONG[wrong] for wrong in WRONG if wrong in found)


def _by_name(standards: Mapping[str, str]) -> str:
    grouped: dict[str, list[str]] = {}
    for dtype, name in standards.items():
        grouped.setdefault(name, []).append(dtype)
    if len(grouped) == 1:
        return next(iter(grouped))
    return ", ".join(f"{name} for {' and '.join(dtypes)}" for name, dtypes in grouped.items())


def share_of_run(share: float, cases: int) -> str:
    """A share of cases, and how many of a run are to be expected: `12 % of the cases, about 11 of 94 per run`."""
    expected = share * cases
    if expected < 0.01:
        return f"{percent(share)} of the cases" if share else "no case"
    count = f"{expected:.2g}" if expected < 10 else f"{expected:.0f}"
    return f"{percent(share)} of the cases, about {count} of {cases} per run"


def unestablished(source: str | None) -> str:
    """What a finding adds where accuracy is no more than assumed: what would establish it."""
    if source is not None:
        return ""
    return "; that values are compared with a golden is assumed: a run script that names the file with --task would say"


def doubtful(doubt: str) -> str:
    """What makes a prediction doubtful, as the end of a sentence."""
    return f"; not sure: {doubt} (--confirm runs it)" if doubt else ""


def percent(share: float) -> str:
    """A probability as a person reads it: `0.02 %`, `12 %`, `under 0.01 %`."""
    if share < 1e-4:
        return "under 0.01 %"
    return f"{100 * share:.2g} %" if share < 0.995 else "nearly all"
