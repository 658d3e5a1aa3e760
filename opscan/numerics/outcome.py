"""From the bits of a tensor to what is said of it: one place for declared steps and for traces."""

from __future__ import annotations

from opscan.model import NumericClass, Step, TensorClass
from opscan.numerics.binding import TensorArgument
from opscan.numerics.bits import Bits, Level, extend
from opscan.numerics.call import Call
from opscan.numerics.dtypes import ATK_DTYPES

_UNDRAWN = frozenset({"view", "const", "uninitialised", "sequence", "fill"})
"""Kinds that are no step worth drawing."""

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
    if bits.level == Level.ACCUMULATED and set(bits.causes) == {"broadcast"}:
        return NumericClass.BROADCAST_REDUCED
    return _CLASSES[bits.level]


def with_step(call: Call, kind: str | None, bits: Bits) -> Bits:
    """`bits` with `call` on the path, where it is worth drawing."""
    if kind in _UNDRAWN or bits.uninitialised:
        return bits
    numeric_class = class_of(bits)
    reduced = numeric_class in (NumericClass.ACCUMULATED, NumericClass.BROADCAST_REDUCED)
    phase = "backward" if call.backward else "forward"
    return extend(bits, Step(call.op, phase, numeric_class, bits.addends if reduced else 1))


def describe(
    name: str, role: str, argument: TensorArgument | None, dtype: str, shape: tuple[int, ...], bits: Bits
) -> TensorClass:
    """What is said of a compared tensor; the calls on its path each once, with the largest extent they had."""
    own = [cause for cause in bits.causes if cause != "broadcast"]
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
        cause=next(iter(own or bits.causes), None) if reduced else None,
        depends_on=tuple(sorted(bits.depends)),
        extent=bits.addends if reduced or bits.level == Level.ROUNDED_ONCE else 1,
        products=bits.products,
        path=_each_once(bits.path),
        reason=reason if bits.level == Level.UNKNOWN or bits.uninitialised else "",
    )


def _each_once(path: tuple[Step, ...]) -> tuple[Step, ...]:
    steps: dict[tuple[str, str, NumericClass], Step] = {}
    for step in path:
        key = (step.op, step.phase, step.numeric_class)
        if key not in steps or steps[key].extent < step.extent:
            steps[key] = step
    return tuple(steps.values())
