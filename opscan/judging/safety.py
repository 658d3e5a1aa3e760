"""When an edit may be applied without asking: by the contract's promises on evidence, basis and adequacy."""

from __future__ import annotations

from collections.abc import Sequence

from opscan.judging.scopes import StandardScope
from opscan.judging.verdicts import CaseVerdict, TensorVerdict, read_values
from opscan.model import Case, CaseInput, Evidence, Spec, SpecInput
from opscan.shapes.draw import varies

_FLOATING = ("fp", "bf", "hf", "float", "double", "complex")


def fix_label(spec: Spec, evidence: Evidence, scope: StandardScope, basis: str, *, established: bool) -> str:
    """safe, unsafe or manual. To loosen a standard one witness is enough; to tighten it nothing may be unseen.

    `established`: a file says what the spec is for.
    """
    recommendation = scope.recommendation
    if recommendation.expression is None or not recommendation.adequate:
        return "manual"
    if any(verdict.case.acc != spec.acc for verdict in scope.verdicts):
        return "manual"  # the plugin sets the standard of single cases: the spec's value is not what counts there
    tightens = all(standard == "value-equal" for standard in recommendation.standards.values())
    certain = evidence.certain and (not tightens or evidence.complete or not _unseen(spec, evidence, scope.verdicts))
    unsure = not recommendation.registered or any(
        is_unsure(verdict) for case in scope.verdicts for verdict in case.tensors
    )
    drawn = any(read_values(verdict.classification) for verdict in scope.verdicts)
    read = basis in ("golden", "plugin") and not drawn and established
    return "safe" if certain and read and recommendation.registered and not unsure else "unsafe"


def is_unsure(verdict: TensorVerdict) -> bool:
    """Whether the rule in effect or the predicted error rests on an assumption about this very tensor."""
    parameters = verdict.parameters
    return not verdict.effective.known or (parameters is not None and bool(parameters.doubt))


def doubt_of(scope: StandardScope) -> str:
    """Why the prediction proves nothing, where that is so of each tensor that fails its tolerance, or passes it."""
    tight = [
        verdict
        for case, statuses in zip(scope.verdicts, scope.statuses, strict=True)
        for verdict, status in zip(case.tensors, statuses, strict=True)
        if status in ("too-strict", "too-loose") and not verdict.exact and verdict.parameters is not None
    ]
    doubts = [verdict.parameters.doubt or verdict.parameters.weak for verdict in tight if verdict.parameters]
    return doubts[0] if doubts and all(doubts) else ""


def _unseen(spec: Spec, evidence: Evidence, verdicts: Sequence[CaseVerdict]) -> bool:
    """Whether a case that was not drawn could have another class.

    Shapes decide where a class says so, and in a backward of several tensors, for a gradient that was never broadcast
    does not show that it could have been. Attributes decide wherever they vary. A dtype counts that no case has.
    """
    given = inputs_of(spec)
    several = sum(one.kind.startswith("tensor") for one in given) > 1
    by_shapes = any("shapes" in v.tensor.depends_on for case in verdicts for v in case.tensors)
    attributes = any(not one.kind.startswith("tensor") and varies(one) for one in given)
    return (spec.backward and several) or by_shapes or attributes or not all_dtypes_drawn(spec, evidence)


def all_dtypes_drawn(spec: Spec, evidence: Evidence) -> bool:
    """Whether each dtype that a tensor input declares occurs in some case."""
    drawn = [{case.inputs[place].dtype for case in evidence.cases if place < len(case.inputs)}
             for place in range(len(spec.inputs))]  # fmt: skip
    return all(
        not one.kind.startswith("tensor") or one.kind.startswith("tensors") or set(one.dtypes.values) <= seen
        for one, seen in zip(spec.inputs, drawn, strict=True)
    )


def inputs_of(spec: Spec) -> tuple[SpecInput, ...]:
    """Every input of a spec, its receiver and method inputs included."""
    return (*((spec.tensor_input,) if spec.tensor_input else ()), *spec.method_inputs, *spec.inputs)


def nan_possible(spec: Spec, evidence: Evidence) -> bool:
    """Whether some case can give an output that is NaN in part: then even a correct copy fails `equal`.

    A tensor that is all NaN is enough: padding or a triangle puts zeros beside it. The tensors that ATK draws as NaN by
    its own default count where another tensor stands beside them; the output of one tensor alone is then all NaN.
    """
    given = inputs_of(spec)
    tensors = [one for one in given if one.kind.startswith("tensor")]
    several = len(tensors) > 1 or any(one.kind.startswith("tensors") for one in tensors)
    boundary = spec.extra_numbers != 0 and any(one.boundary.get("has_infnan", True) for one in given)
    declared = any(
        "nan" in spec.source.text[span.start : span.end]
        for where, span in spec.spans.items()
        if "ranges" in where and where[-1] != "ranges"
    )
    by_default = several and evidence.source != "cases" and any(map(draws_nan_by_default, tensors))
    return boundary or declared or by_default or any(map(draws_nan, evidence.cases))


def draws_nan_by_default(given: SpecInput) -> bool:
    """Whether ATK now and then draws a tensor as NaN though the spec does not say so: `ranges.invalid` is left out."""
    floating = not given.dtypes.values or any(str(d).startswith(_FLOATING) for d in given.dtypes.values)
    return given.invalid is None and given.valid_weights < 1 and floating


def draws_nan(case: Case) -> bool:
    """Whether a tensor of the case is drawn as NaN."""

    def is_nan(given: CaseInput) -> bool:
        return any(map(is_nan, given.members or ())) or (given.shape is not None and "nan" in str(given.values))

    receiver = (case.tensor_input,) if case.tensor_input else ()
    return any(map(is_nan, (*receiver, *case.method_inputs, *case.inputs)))
