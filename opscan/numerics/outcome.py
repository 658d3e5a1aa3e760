"""From the bits of a tensor to what is said of it: one place for declared steps and for traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opscan.dataclass import replace
from opscan.model import NumericClass, Step, TensorClass
from opscan.numerics.binding import TensorArgument
from opscan.numerics.bits import Bits, Level, extend, few, place_key, places
from opscan.numerics.call import Call, Operand
from opscan.numerics.dtypes import ATK_DTYPES
from opscan.numerics.elements.term import linear

_UNDRAWN = frozenset({"view", "const", "uninitialised", "sequence", "fill"})
"""Kinds that are no step worth drawing."""

_PLACEWISE = frozenset(
    {
        "sum-of-two", "product", "quotient", "multiply-add", "power", "scaled-copy", "masked-scale", "difference",
        "quantise", "arithmetic", "exact", "cast", "fill",
    }
)  # fmt: skip
"""Kinds whose results depend on the operands at the same place alone."""
_PLACEWISE_CHOICES = frozenset(
    {
        "clamp", "clamp_max", "clamp_min", "complex", "fmax", "fmin", "hardshrink", "hardshrink_backward", "hardtanh",
        "hardtanh_backward", "heaviside", "masked_fill", "maximum", "minimum", "nan_to_num", "relu",
        "softshrink_backward", "threshold", "threshold_backward", "where", "tril", "triu",
    }
)  # fmt: skip
_PUT_BACK = frozenset({"select_backward", "slice_backward"})
"""Calls that put a part where it was, among zeros."""

_CLASSES = {
    Level.CONST: NumericClass.SELECT_ONLY,
    Level.SELECT: NumericClass.SELECT_ONLY,
    Level.ROUNDED_ONCE: NumericClass.ARITHMETIC,
    Level.ARITHMETIC: NumericClass.ARITHMETIC,
    Level.ACCUMULATED: NumericClass.ACCUMULATED,
    Level.RANDOM: NumericClass.RANDOM,
    Level.UNKNOWN: NumericClass.UNKNOWN,
}


def class_of(bits: Bits) -> NumericClass:
    if bits.uninitialised:
        return NumericClass.RANDOM
    if bits.level == Level.ACCUMULATED and {stage.cause for stage in bits.stages} == {"broadcast"}:
        return NumericClass.BROADCAST_REDUCED
    return _CLASSES[bits.level]


def with_step(call: Call, kind: str | None, bits: Bits) -> Bits:
    """`bits` with `call` on the path, where it is worth drawing."""
    if kind in _UNDRAWN or bits.uninitialised:
        return bits
    numeric_class = class_of(bits)
    reduced = numeric_class in (NumericClass.ACCUMULATED, NumericClass.BROADCAST_REDUCED)
    phase = "backward" if call.backward else "forward"
    return extend(bits, Step(call.op, phase, numeric_class, bits.extent if reduced else 1))


def sourced(call: Call, kind: str | None, bits: Bits, identities: Sequence[Any]) -> Bits:
    """Where the elements come from: of one place of each operand, or of places of this call's own choice.

    `identities`: what tells the arguments of the call from those of others; equal calls choose equal places.
    """
    if kind == "view" or all(operand.numel <= 1 for operand in call.operands()):
        return bits
    whole = call.packet in _PUT_BACK and call.output.numel == next(call.operands()).numel
    if kind in _PLACEWISE or call.packet in _PLACEWISE_CHOICES or whole:
        return replace(bits, sources=call.joined().sources)
    geometry = place_key((call.packet, identities, call.output.shape))
    return replace(
        bits,
        sources=few(
            (tensor, place_key((geometry, name, place)))
            for name, value in call.arguments.items()
            for operand in (value if isinstance(value, list) else [value])
            if isinstance(operand, Operand) and operand.bits.level != Level.CONST
            for tensor, place in operand.bits.sources or ((0, 0),)
        ),
    )


def describe(
    name: str, role: str, argument: TensorArgument | None, dtype: str, shape: tuple[int, ...], bits: Bits
) -> TensorClass:
    """What is said of a compared tensor; the calls on its path each once, with the largest extent they had."""
    own = [stage for stage in bits.stages if stage.cause != "broadcast"]
    reduced = bits.level == Level.ACCUMULATED
    reason = "its memory is never written" if bits.uninitialised else bits.reason
    return TensorClass(
        name=name,
        role=role,
        dtype=ATK_DTYPES.get(dtype, dtype),
        shape=shape,
        numeric_class=class_of(bits),
        input=argument.position if argument else None,
        correctly_rounded=bits.level == Level.ROUNDED_ONCE,
        cause=max(own or bits.stages, key=lambda stage: stage.extent).cause if reduced else None,
        depends_on=tuple(sorted(bits.depends)),
        extent=bits.extent if reduced or _adds_elements(bits) else 1,
        products=bits.products,
        path=_each_once(bits.path),
        reason=reason if bits.level == Level.UNKNOWN or bits.uninitialised else "",
        stages=bits.stages if reduced else (),
        formula=linear(bits.term),
    )


def _adds_elements(bits: Bits) -> bool:
    """Whether two elements of one tensor meet; two tensors that are added are no sum over elements."""
    return bits.level == Level.ROUNDED_ONCE and (bits.chain == 1 or places(bits) != 1)


def _each_once(path: tuple[Step, ...]) -> tuple[Step, ...]:
    steps: dict[tuple[str, str, NumericClass], Step] = {}
    for step in path:
        key = (step.op, step.phase, step.numeric_class)
        if key not in steps or steps[key].extent < step.extent:
            steps[key] = step
    return tuple(steps.values())
