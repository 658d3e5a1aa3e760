"""What the cases of a spec never exercise, or cannot: gradients not asked for, broadcasts that never occur, borders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from opscan.judging.assignments import compares_values
from opscan.judging.findings import find
from opscan.judging.safety import inputs_of
from opscan.judging.settings import Judge
from opscan.judging.verdicts import CaseVerdict
from opscan.model import Case, CaseInput, Classification, Evidence, Finding, NumericClass, Spec, SpecInput
from opscan.shapes.draw import tensor_inputs

Classify = Callable[[Case], Classification]

_UPPER_BORDER = 2**31 + 1
_BYTES = {"fp64": 8, "int64": 8, "uint64": 8, "complex64": 8, "fp32": 4, "hf32": 4, "int32": 4, "uint32": 4}
_BYTES |= {"fp16": 2, "bf16": 2, "int16": 2, "uint16": 2}


def exercised(
    spec: Spec, shown: str, evidence: Evidence, verdicts: Sequence[CaseVerdict], classify: Classify, judge: Judge
) -> Iterator[Finding]:
    """The findings on what is tested at all; `verdicts` are those of the cases that can run."""
    yield from _backward_without_effect(spec, shown)
    yield from _upper_border(spec, shown)
    yield from _boundaries(spec, shown, verdicts, classify)
    if not compares_values([judge.scenario], judge.rules.assignments):
        return
    yield from _constant_setting(spec, shown, verdicts, judge)
    if evidence.certain and spec.backward:
        yield from _never_broadcast(spec, shown, verdicts, classify)


def _backward_without_effect(spec: Spec, shown: str) -> Iterator[Finding]:
    """`backward: true` on an input asks for nothing unless the spec itself says so."""
    if spec.backward:
        return
    spans = [
        spec.key_spans.get(where + ("backward",))  # noqa: RUF005  Python 3.10 unpacks no star in a subscript
        for where, given in _written_inputs(spec)
        if given.backward and (*where, "backward") in spec.spans and given.kind.startswith("tensor")
    ]
    if spans:
        meant = "backward" in spec.source.path.stem.lower()
        message = (
            "`backward: true` on an input has no effect without `backward: true` on the spec: no gradient is tested"
        )
        severity = "warning" if meant else None
        yield find("backward-without-effect", shown, message, spans=spans, severity=severity, fix="manual")


def _written_inputs(spec: Spec) -> Iterator[tuple[tuple[str | int, ...], SpecInput]]:
    if spec.tensor_input is not None:
        yield ("tensor_input",), spec.tensor_input
    groups = (("method_inputs", spec.method_inputs), ("inputs", spec.inputs))
    yield from (((key, index), one) for key, given in groups for index, one in enumerate(given))


def _upper_border(spec: Spec, shown: str) -> Iterator[Finding]:
    if spec.extra_numbers == 0 or spec.generate != "default":
        return
    for where, given in _written_inputs(spec):
        if given.kind.startswith("tensor") and given.boundary.get("has_upper_border", True):
            widest = max((_BYTES.get(str(dtype), 1) for dtype in given.dtypes.values), default=4)
            size = f"{_UPPER_BORDER * widest / 2**30:.1f} GiB"
            span = spec.spans.get((*where, "boundary", "has_upper_border")) or spec.spans.get(("extra_numbers",))
            message = f"an upper-border case has 2^31+1 elements in one axis of `{given.name or where[-1]}` ({size}), "
            message += "whatever max_length says: out of memory counts as an accuracy failure"
            yield find("upper-border-size", shown, message, spans=[span], fix="manual")
            return


def _boundaries(spec: Spec, shown: str, verdicts: Sequence[CaseVerdict], classify: Classify) -> Iterator[Finding]:
    """Boundary shapes that the operator refuses; told where one tensor alone is drawn and no plugin changes it."""
    tensors = tensor_inputs(spec)
    if spec.extra_numbers == 0 or spec.generate != "default" or len(tensors) != 1 or tensors[0].kind != "tensor":
        return
    for key, shapes in _border_shapes(verdicts):
        if not tensors[0].boundary.get(key, True):
            continue
        refused = next((r for shape in shapes if (r := _refusal(verdicts[0].case, shape, classify))), None)
        if refused is not None:
            where = next((w for w, given in _written_inputs(spec) if given is tensors[0]), ())
            span = spec.spans.get((*where, "boundary", key)) or spec.spans.get(("extra_numbers",))
            message = f"{key} is on, and the operator refuses such a case: {refused}; switch it off"
            yield find("boundary-cannot-run", shown, message, spans=[span], fix="manual")


def _border_shapes(verdicts: Sequence[CaseVerdict]) -> Iterator[tuple[str, list[tuple[int, ...]]]]:
    """The shapes of each kind of boundary case, at the ranks of the regular cases."""
    shapes = sorted({given.shape for verdict in verdicts for given in _shaped(verdict.case) if given.shape})
    usual = {len(shape): shape for shape in shapes}
    emptied = [(shape, axis) for shape in usual.values() for axis in range(len(shape))]
    yield "has_empty", [(*shape[:axis], 0, *shape[axis + 1 :]) for shape, axis in emptied]
    yield "has_scalar", [()]
    yield "has_lower_border", [(1,) * rank for rank in usual]


def _shaped(case: Case) -> list[CaseInput]:
    given = (*((case.tensor_input,) if case.tensor_input else ()), *case.method_inputs, *case.inputs)
    return [one for one in given if one.shape is not None]


def _refusal(case: Case, shape: tuple[int, ...], classify: Classify) -> str | None:
    known = classify(_with_shapes(case, lambda one: replace(one, shape=shape) if one.shape is not None else one))
    return f"shape {list(shape)}: {known.reason}" if known.mismatch else None


def _with_shapes(case: Case, change: Callable[[CaseInput], CaseInput]) -> Case:
    receiver = change(case.tensor_input) if case.tensor_input else None
    return replace(
        case,
        tensor_input=receiver,
        method_inputs=tuple(map(change, case.method_inputs)),
        inputs=tuple(map(change, case.inputs)),
    )


def _constant_setting(spec: Spec, shown: str, verdicts: Sequence[CaseVerdict], judge: Judge) -> Iterator[Finding]:
    low, high = judge.upstream
    sums = (NumericClass.BROADCAST_REDUCED, NumericClass.ACCUMULATED)
    tensors = (v.tensor for case in verdicts for v in case.tensors if v.tensor.numeric_class in sums)
    gradients = sorted({t.name for t in tensors if t.role == "gradient" and not t.products})
    if low == high and gradients:
        message = f"the setting `upstream` is constant ({low:g}): {', '.join(gradients)} adds up equal numbers, which"
        span = spec.spans.get(("backward",))
        yield find("constant-upstream", shown, f"{message} is exact in any order", spans=[span])


def _never_broadcast(spec: Spec, shown: str, verdicts: Sequence[CaseVerdict], classify: Classify) -> Iterator[Finding]:
    """Inputs whose gradient would be a sum if they were broadcast, which no case does."""
    reduced = {v.tensor.name for case in verdicts for v in case.tensors
               if v.tensor.numeric_class is NumericClass.BROADCAST_REDUCED}  # fmt: skip
    case = max((verdict.case for verdict in verdicts), key=_elements)
    gradients = {v.tensor.name for v in verdicts[0].tensors if v.tensor.role == "gradient"}
    shapes = {given.shape for given in _shaped(case)}
    if len(inputs_of(spec)) < 2 or reduced or len(_shaped(case)) < 2 or len(shapes) != 1 or len(gradients) < 2:
        return
    for target in _shaped(case):
        axis = next((axis for axis, size in enumerate(target.shape or ()) if size > 1), None)
        if axis is None or target.shape is None:
            continue
        narrow = (*target.shape[:axis], 1, *target.shape[axis + 1 :])
        known = classify(_with_shapes(case, _narrowing(target, narrow)))
        name = next((t.name for t in known.tensors if t.numeric_class is NumericClass.BROADCAST_REDUCED), None)
        if name is not None:
            message = (
                f"no case broadcasts an input, so that {name} is never the sum that it is for shape {list(narrow)}: "
            )
            span = spec.spans.get(("generate",)) or spec.spans.get(("name",))
            yield find("broadcast-not-tested", shown, f"{message}the reduced path is not tested", spans=[span])
            return


def _narrowing(target: CaseInput, shape: tuple[int, ...]) -> Callable[[CaseInput], CaseInput]:
    return lambda one: replace(one, shape=shape) if one is target else one


def _elements(case: Case) -> int:
    sizes = [size for given in _shaped(case) for size in given.shape or ()]
    return sum(size > 1 for size in sizes)
