"""Element by element arithmetic: exact, rounded once, or rounded several times in a fixed order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opscan.numerics.bits import CONST, Bits, Level, at_least, join, round_many, round_once
from opscan.numerics.call import Call, Operand, is_representable, is_scale
from opscan.numerics.facts import disjoint


def _arithmetic(call: Call) -> tuple[Bits, ...]:
    return call.each_output(round_many(call.joined()))


def _sum_of_two(call: Call) -> tuple[Bits, ...]:
    """add, sub, rsub: one rounding, unless `alpha` multiplies first."""
    first, second = call.argument("self"), call.argument("other")
    alpha = call.argument("alpha", 1)
    inherited = call.joined()
    for one, other in ((first, second), (second, first)):
        if isinstance(one, Operand) and one.zero and isinstance(other, Operand) and _scales(alpha, call) and alpha != 0:
            return call.each_output(other.bits)
    if alpha == 1 and isinstance(first, Operand) and isinstance(second, Operand) and disjoint(first, second):
        return call.each_output(inherited)
    if not _scales(alpha, call) or not _whole(second, call):
        return call.each_output(round_many(inherited))
    if call.backward and isinstance(first, Operand) and isinstance(second, Operand):
        return call.each_output(_gradient_sum(first.bits, second.bits))
    return call.each_output(round_once(inherited))


def _scales(value: Any, call: Call) -> bool:
    return is_scale(value, call.output.dtype)


def _whole(value: Any, call: Call) -> bool:
    return isinstance(value, Operand) or is_representable(value, call.output.dtype)


def _gradient_sum(first: Bits, second: Bits) -> Bits:
    """Partial gradients that autograd adds in the order of its nodes, and another device in another."""
    total = first.addends + second.addends
    bits = join((first, second))
    if bits.level > Level.ARITHMETIC:
        return round_many(bits)
    if total == 2:
        return replace(round_once(bits), addends=2)
    overlapping = any(".slice_backward." in step.op for step in bits.path)
    cause = "window" if overlapping else "reduction"
    causes = tuple(dict.fromkeys((*bits.causes, cause)))
    products = bits.products or bits.level >= Level.ROUNDED_ONCE
    return replace(bits, level=Level.ACCUMULATED, addends=total, causes=causes, products=products)


def _product(call: Call) -> tuple[Bits, ...]:
    """mul: exact by a mask, by signs or by a power of two, else one rounding."""
    first, second = call.argument("self"), call.argument("other")
    inherited = call.joined()
    if any(isinstance(factor, Operand) and (factor.dtype == "bool" or factor.unit) for factor in (first, second)):
        return call.each_output(inherited)
    if any(not isinstance(factor, Operand) and _scales(factor, call) for factor in (first, second)):
        return call.each_output(inherited)
    if call.output.complex or not _whole(second, call) or not _whole(first, call):
        return call.each_output(round_many(inherited))
    return call.each_output(round_once(inherited))


def _quotient(call: Call) -> tuple[Bits, ...]:
    """div: exact by a power of two or by signs; an NPU's division is not taken to be correctly rounded."""
    divisor = call.argument("other")
    inherited = call.joined()
    if isinstance(divisor, Operand) and divisor.unit and call.tensor("self").rounds and not call.output.complex:
        return call.each_output(inherited)
    if not isinstance(divisor, Operand) and is_scale(divisor) and divisor and call.argument("rounding_mode") is None:
        exact = call.tensor("self").rounds and _scales(1 / divisor, call)
        return call.each_output(inherited if exact else round_once(inherited))
    return call.each_output(round_many(inherited))


def _power(call: Call) -> tuple[Bits, ...]:
    exponent, inherited = call.argument("exponent"), call.joined()
    if not isinstance(exponent, Operand) and not call.output.complex:
        if exponent == 1:
            return call.each_output(inherited)
        if exponent == 0:
            return tuple(CONST for _ in call.outputs)
        if exponent == 2:
            return call.each_output(round_once(inherited))
    return call.each_output(round_many(inherited))


def _scaled_copy(call: Call) -> tuple[Bits, ...]:
    """leaky_relu and its kin: an element is copied or multiplied once by a number or a weight."""
    inherited = call.joined()
    slope = call.arguments.get("negative_slope")
    if slope is not None and _scales(slope, call):
        return call.each_output(inherited)
    exact = slope is None or is_representable(slope, call.output.dtype)
    return call.each_output(round_once(inherited) if exact else round_many(inherited))


def _masked_scale(call: Call) -> tuple[Bits, ...]:
    """The gradient of dropout: chosen by a mask, then multiplied by a number."""
    inherited, scale = call.joined(), call.argument("scale")
    if call.tensor("mask").dtype != "bool":
        return call.each_output(round_many(inherited))
    if _scales(scale, call):
        return call.each_output(inherited)
    return call.each_output(round_once(inherited) if _whole(scale, call) else round_many(inherited))


def _difference(call: Call) -> tuple[Bits, ...]:
    """softshrink, frac: one subtraction of a constant."""
    lambd = call.argument("lambd", 0.5)
    inherited = call.joined()
    exact = is_representable(lambd, call.output.dtype)
    return call.each_output(round_once(inherited) if exact else round_many(inherited))


def _quantise(call: Call) -> tuple[Bits, ...]:
    """The rounding decides which integer comes out, so integer outputs are arithmetic too."""
    bits = at_least(call.joined(), Level.ARITHMETIC)
    return tuple(bits for _ in call.outputs)


RULES = {
    "arithmetic": _arithmetic,
    "sum-of-two": _sum_of_two,
    "product": _product,
    "quotient": _quotient,
    "power": _power,
    "scaled-copy": _scaled_copy,
    "masked-scale": _masked_scale,
    "difference": _difference,
    "quantise": _quantise,
}
