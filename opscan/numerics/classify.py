"""Classify every compared tensor of one case by running its operator under the tracer."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opscan.model import Case, Classification, NumericClass, Plugin, TensorClass
from opscan.numerics.binding import Binding, TensorArgument, Unbindable, bind, readings
from opscan.numerics.bits import Bits
from opscan.numerics.confirming import refusal
from opscan.numerics.declared.answering import declare
from opscan.numerics.declared.operators import operator as declared_operator
from opscan.numerics.described import bind_described
from opscan.numerics.messages import OUT_OF_MEMORY
from opscan.numerics.names import basis_of, described, is_npu_name
from opscan.numerics.operators import NotFollowed, Operator, resolve
from opscan.numerics.outcome import describe

if TYPE_CHECKING:
    from opscan.numerics.goldens import Golden

REAL_ELEMENTS = 1 << 20
"""Largest number of input elements for which an operator that needs data runs on real CPU tensors."""
SURE_ELEMENTS = 1 << 16
"""Up to so many elements, and attributes no larger than that, a refusal on fake tensors is confirmed on real ones."""


def classify(case: Case, golden: Plugin | str | None = None) -> Classification:
    """The class of every forward output and, where `case.backward`, of every gradient.

    `golden`: the plugin that holds the executor of the case, or why that cannot be read; what its code does decides,
    never the name. Anything that cannot be told is a Classification without tensors and with the reason; nothing is
    raised.
    """
    if isinstance(golden, str):
        return Classification((), "none", golden)
    if golden is not None:
        return _read(case, golden)
    basis = basis_of(case)
    if basis == "name" or is_npu_name(case.name or ""):
        known = _described(case)
        if known is not None:
            return known
    if not case.name:
        return Classification((), "none", "the spec names no golden operator")
    operator = resolve(case.name, method=case.tensor_input is not None)
    if isinstance(operator, str):
        return Classification((), "none", operator)
    if (steps := declared_operator(case.name, is_method=case.tensor_input is not None)) is not None:
        operator = replace(operator, parameters=steps.parameters)
    try:
        attempts = _attempts(case, operator, basis)
    except Unbindable as problem:
        return Classification((), basis, str(problem), mismatch=basis == "golden")
    declared = declare(case)
    doubted = declared is not None and declared.mismatch
    outcome = Classification((), basis, "nothing was traced")
    for attempt in attempts:
        outcome = _trace(operator, attempt, case, basis, doubted=doubted)
        if outcome.tensors:
            break
    return outcome


def _attempts(case: Case, operator: Operator, basis: str) -> list[Binding]:
    """The ways in which the case may call its operator, the likeliest first. Raises Unbindable."""
    attempts = readings(case, operator.parameters, basis)
    if case.outputs is not None and not 0 <= case.outputs < len(attempts[0].args) + len(attempts[0].kwargs):
        raise Unbindable(f"`outputs: {case.outputs}` names no argument")
    return attempts


def _read(case: Case, plugin: Plugin) -> Classification:
    """The answer of the executor's own code."""
    from opscan.numerics.goldens import golden_of

    golden = golden_of(plugin, case.api_type, case)
    if isinstance(golden, str):
        return Classification((), "none", golden)
    return classify_golden(golden, case)


def classify_golden(golden: Golden, case: Case) -> Classification:
    """The class of every compared tensor of a case whose golden is code."""
    try:
        known = _trace(golden, bind(case, (), executor=True), replace(case, outputs=None), "plugin")
    except Unbindable as problem:
        return Classification((), "plugin", str(problem))
    if not golden.looked:
        return known
    # what the code did holds for the values that were drawn for it
    largest = {tensor.name: tensor for tensor in _with_largest(golden, case)}
    tensors = (_loosest(tensor, largest.get(tensor.name, tensor)) for tensor in known.tensors)
    return replace(
        known, tensors=tuple(replace(t, depends_on=tuple(sorted({*t.depends_on, "values"}))) for t in tensors)
    )


def _with_largest(golden: Golden, case: Case) -> tuple[TensorClass, ...]:
    """What the code does where the whole numbers among the inputs, which may be counts, are as large as they may be."""
    from opscan.numerics.running import NeedsData, OutOfMemory, Refused, trace

    try:
        run = trace(golden, bind(case, (), executor=True), None, real=True, largest=True)
    except (NeedsData, OutOfMemory, Refused, NotFollowed):
        return ()
    return tuple(_described_tensor(*entry) for entry in run)


def _loosest(one: TensorClass, other: TensorClass) -> TensorClass:
    order = list(NumericClass)
    return max(one, other, key=lambda tensor: (order.index(tensor.numeric_class), tensor.extent))


def _described(case: Case) -> Classification | None:
    """The answer of the catalog's own entry for the aclnn name; None where it has none."""
    entry = described(case)
    if entry is None:
        return None
    try:
        binding = bind_described(case, entry.as_traced())
        return _trace(entry.operator(), binding, replace(case, outputs=None), "name")
    except Unbindable as problem:
        return Classification((), "name", str(problem))


def _trace(operator: Operator, binding: Binding, case: Case, basis: str, *, doubted: bool = False) -> Classification:
    """`doubted`: the declared steps refuse the call, and fake kernels do not check all that real ones do."""
    from opscan.numerics.running import NeedsData, OutOfMemory, Refused, trace

    elements = sum(math.prod(tensor.shape) for tensor in binding.tensors())
    small = max(elements, _magnitude((binding.args, *binding.kwargs.values()))) <= SURE_ELEMENTS
    why = ""
    try:
        try:
            run = trace(operator, binding, case.outputs, real=doubted and small)
            if basis == "golden" and (why := refusal(operator, binding, case.outputs)):
                raise Refused(why)
        except NeedsData as need:
            if elements > REAL_ELEMENTS:
                reason = f"{need}; with {elements} elements that was not tried"
                return Classification((), basis, reason)
            run = trace(operator, binding, case.outputs, real=True)
        except Refused:
            if why:
                raise
            # the checks of PyTorch's fake kernels are not always those of the real ones
            if not small or doubted:
                raise
            run = trace(operator, binding, case.outputs, real=True)
    except OutOfMemory:
        return Classification((), basis, f"{operator.name} {OUT_OF_MEMORY}")
    except NotFollowed as problem:
        return Classification((), "none", str(problem))
    except (Refused, NeedsData) as problem:
        refused = isinstance(problem, Refused)
        return Classification(
            (),
            basis,
            f"{operator.name} refuses these inputs: {problem}" if refused else str(problem),
            mismatch=refused and basis == "golden",
        )
    tensors = tuple(_described_tensor(*entry) for entry in run)
    unknown = next((tensor.reason for tensor in tensors if tensor.reason), "")
    reason = unknown if tensors else f"{operator.name} returns nothing that is compared"
    return Classification(tensors, basis, reason)


def _described_tensor(name: str, role: str, argument: TensorArgument | None, tensor: Any, bits: Bits) -> TensorClass:
    shape = tuple(int(size) for size in tensor.shape)
    known = describe(name, role, argument, str(tensor.dtype).removeprefix("torch."), shape, bits)
    return replace(known, traced=True)


def _magnitude(value: Any) -> float:
    """The product of all the numbers among the attributes: a bound for what they can make an operator allocate."""
    if isinstance(value, (list, tuple)):
        return math.prod(_magnitude(item) for item in value)
    number = isinstance(value, (int, float)) and math.isfinite(value)
    return max(abs(float(value)), 1.0) if number else 1.0
