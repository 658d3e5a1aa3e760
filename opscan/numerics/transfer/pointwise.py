"""Element by element arithmetic: exact, rounded once, or rounded several times in a fixed order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opscan.numerics.bits import CONST, Bits, Level, add, at_least, multiply, round_many, round_once
from opscan.numerics.call import Call, Operand, is_representable, is_scale
from opscan.numerics.facts import together
from opscan.numerics.overlaps import most_at_once


def _arithmetic(call: Call) -> tuple[Bits, ...]:
    return call.each_output(round_many(call.joined()))


def _sum_of_two(call: Call) -> tuple[Bits, ...]:
    """add, sub, rsub: one rounding, unless `alpha` multiplies first; sums of sums are longer ones."""
    first, second = call.argument("self"), call.argument("other")
    alpha = call.argument("alpha", 1)
    if call.packet == "rsub":
        first, second = second, first
    for one, other in ((first, second), (second, first)):
        nothing = one.zero if isinstance(one, Operand) else one == 0
        if nothing and isinstance(other, Operand) and _scales(alpha, call) and alpha != 0:
            return call.each_output(other.bits)
    scaled = second.bits if isinstance(second, Operand) else CONST
    if not _scales(alpha, call):
        scaled = multiply(scaled, once=False)
    total = add(
        first.bits if isinstance(first, Operand) else CONST,
        scaled,
        *_meeting(call, first, second),
        through_products=not call.backward,
    )
    if not _whole(second, call) or not _whole(first, call):
        total = at_least(total, Level.ARITHMETIC)
    return call.each_output(total)


def _meeting(call: Call, first: Any, second: Any) -> tuple[str, int | None]:
    """What the sum is named after, and how many addends meet where parts of both are known to be zeros."""
    if not isinstance(first, Operand) or not isinstance(second, Operand):
        return "reduction", None
    sliced = call.backward and any(".slice_backward." in step.op for step in (*first.bits.path, *second.bits.path))
    region = together(first, second)
    return ("window" if sliced else "reduction"), most_at_once(region[1]) if region else None


def _scales(value: Any, call: Call) -> bool:
    return is_scale(value, call.output.dtype)


def _whole(value: Any, call: Call) -> bool:
    return isinstance(value, Operand) or is_representable(value, call.output.dtype)


def _product(call: Call) -> tuple[Bits, ...]:
    """mul: exact by a mask, by signs or by a power of two, else one rounding."""
    first, second = call.argument("self"), call.argument("other")
    inherited = call.joined()
    if any(isinstance(factor, Operand) and (factor.dtype == "bool" or factor.unit) for factor in (first, second)):
        # chosen by a mask, a number that the dtype cannot hold is a rounded one
        return call.each_output(inherited if _whole(first, call) and _whole(second, call) else round_once(inherited))
    if any(_is_zero(factor) for factor in (first, second)):
        return call.each_output(replace(CONST, level=Level.SELECT, depends=inherited.depends))
    if any(not isinstance(factor, Operand) and _scales(factor, call) for factor in (first, second)):
        return call.each_output(inherited)
    once = not call.output.complex and _whole(second, call) and _whole(first, call)
    return call.each_output(multiply(inherited, once=once))


def _is_zero(factor: Any) -> bool:
    return factor.zero if isinstance(factor, Operand) else type(factor) in (int, float) and factor == 0


def _quotient(call: Call) -> tuple[Bits, ...]:
    """div: exact by a power of two or by signs; an NPU's division is not taken to be correctly rounded."""
    divisor = call.argument("other")
    inherited = call.joined()
    if isinstance(divisor, Operand) and divisor.unit and call.tensor("self").rounds and not call.output.complex:
        return call.each_output(inherited)
    if not isinstance(divisor, Operand) and is_scale(divisor) and divisor and call.argument("rounding_mode") is None:
        exact = call.tensor("self").rounds and _scales(1 / divisor, call)
        return call.each_output(inherited if exact else multiply(inherited))
    return call.each_output(multiply(inherited, once=False))


def _multiply_add(call: Call) -> tuple[Bits, ...]:
    """addcmul, addcdiv, addr and lerp: the product may be rounded before it is added, or not."""
    start = call.tensor("self")
    factor, beta = call.argument("value", call.argument("alpha", 1)), call.argument("beta", 1)
    base = start.bits if beta == 1 or _scales(beta, call) else multiply(start.bits, once=False)
    if call.packet == "lerp":
        base = multiply(call.joined("end"), once=False)
    if factor == 0:
        return call.each_output(base)
    product = multiply(call.joined("self"), once=False)
    if start.zero or beta == 0:
        return call.each_output(product)
    return call.each_output(at_least(add(base, product), Level.ARITHMETIC))


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
    "multiply-add": _multiply_add,
    "power": _power,
    "scaled-copy": _scaled_copy,
    "masked-scale": _masked_scale,
    "difference": _difference,
    "quantise": _quantise,
}
