"""Calls that only copy, compare, count or create: no rounding in any order."""

from __future__ import annotations

from dataclasses import replace

from opscan.numerics.bits import CONST, UNINITIALISED, Bits, Level, at_least, bend, draw_random, round_once
from opscan.numerics.call import EXPONENT_BITS, INTEGER_BITS, SIGNIFICAND, Call, Operand, is_representable, real_part

_COMPARED = {
    **dict.fromkeys(("eq", "ne", "ge", "gt", "le", "lt"), ("other",)),
    **dict.fromkeys(("hardshrink", "hardshrink_backward", "softshrink_backward"), ("lambd",)),
    **dict.fromkeys(("threshold", "threshold_backward"), ("threshold",)),
    "hardtanh_backward": ("min_val", "max_val"),
}
"""The numbers that a call compares elements with. A clamp gives the bound on both sides of it, so it is not here."""


_BENT = frozenset(
    {
        "_aminmax", "abs", "amax", "amin", "aminmax", "ceil", "clamp", "clamp_max", "clamp_min", "copysign", "floor",
        "fmax", "fmin", "fmod", "frexp", "hardshrink", "hardtanh", "maximum", "minimum", "nan_to_num", "nextafter",
        "relu", "round", "sgn", "sign", "threshold", "trunc",
    }
)  # fmt: skip
"""Exact calls of which sums do not see through: the absolute value of a sum is none."""


def _joined(call: Call) -> Bits:
    return bend(call.joined()) if call.packet in _BENT else call.joined()


def _inherit(call: Call) -> tuple[Bits, ...]:
    bits = _compared(call, _joined(call))
    return tuple(bits for _ in call.outputs)


def _exact(call: Call) -> tuple[Bits, ...]:
    complex_magnitude = call.packet in ("sgn", "abs") and any(operand.complex for operand in call.operands())
    decimals = call.packet == "round" and call.argument("decimals", 0) != 0
    bits = _compared(call, _joined(call))
    rounded_divisor = call.packet == "fmod" and not is_representable(call.argument("other", 1), call.output.dtype)
    if call.packet in ("sgn", "sign") and bits.level == Level.ROUNDED_ONCE and not complex_magnitude:
        return call.each_output(replace(bits, level=Level.SELECT))  # a rounding keeps the sign
    if complex_magnitude or decimals or (rounded_divisor and not isinstance(call.argument("other"), Operand)):
        return call.each_output(at_least(bits, Level.ARITHMETIC))
    return tuple(bits for _ in call.outputs)


def _compared(call: Call, bits: Bits) -> Bits:
    """Compared with a number that only fp32 holds better: an equal element is on the other side where it is rounded.

    fp32 and fp64 are compared in their own dtype everywhere.
    """
    dtype = call.tensor("self", "sorted_sequence").dtype if call.packet in _COMPARED else ""
    if SIGNIFICAND.get(dtype, 64) >= SIGNIFICAND["float32"]:
        return bits
    bounds = [call.argument(name, 0) for name in _COMPARED[call.packet]]
    held = all(isinstance(bound, Operand) or is_representable(bound, dtype) for bound in bounds)
    return bits if held else at_least(bits, bits.level, "values")


def _index_of_extreme(call: Call) -> tuple[Bits, ...]:
    """Ties leave open which element is meant: an index (the second output) depends on values, a copy does not."""
    bits = bend(call.joined())
    tied = at_least(bits, bits.level, "values")
    if call.argument("stable") is True:
        tied = bits
    unsorted = call.packet == "mode" or (call.packet == "topk" and call.argument("sorted", True) is False)
    lone_index = call.packet.startswith("arg")
    return tuple(tied if position or lone_index or unsorted else bits for position in range(len(call.outputs)))


def _const(call: Call) -> tuple[Bits, ...]:
    return tuple(CONST for _ in call.outputs)


def _uninitialised(call: Call) -> tuple[Bits, ...]:
    return tuple(UNINITIALISED for _ in call.outputs)


def _sequence(call: Call) -> tuple[Bits, ...]:
    """arange is exact on whole numbers; any other ramp multiplies and adds."""
    ramp = [call.argument(name, default) for name, default in (("start", 0), ("end", 0), ("step", 1))]
    whole = call.packet == "arange" and all(
        float(value).is_integer() for value in ramp if not isinstance(value, Operand)
    )
    return call.each_output(CONST if whole else at_least(CONST, Level.ARITHMETIC))


def _random(call: Call) -> tuple[Bits, ...]:
    probability = call.arguments.get("p")
    if call.packet == "bernoulli" and probability in (0, 1) and not isinstance(probability, Operand):
        return tuple(CONST for _ in call.outputs)
    if call.packet == "native_dropout" and call.arguments.get("train") is False:
        return _inherit(call)
    if call.packet == "rrelu_with_noise" and call.arguments.get("training") is False:
        return call.each_output(at_least(call.joined(), Level.ARITHMETIC))
    return tuple(draw_random(call.joined()) for _ in call.outputs)


def cast(bits: Bits, source: str, target: str) -> Bits:
    """The bits after a conversion: rounding only where the target holds fewer digits or a smaller range."""
    source, target = real_part(source), real_part(target)
    digits = SIGNIFICAND.get(target)
    if digits is None or source == target:
        return bits
    if source in SIGNIFICAND:
        narrows = SIGNIFICAND[source] > digits or EXPONENT_BITS[source] > EXPONENT_BITS[target]
    else:
        narrows = INTEGER_BITS.get(source, 64) > digits
    return round_once(bits) if narrows else bits


def _cast(call: Call) -> tuple[Bits, ...]:
    source = call.tensor("src", "self")
    bits = source.bits
    held = source.held or source.dtype
    return tuple(bits if output is None else cast(bits, held, output.dtype) for output in call.outputs)


def _fill(call: Call) -> tuple[Bits, ...]:
    """`fill` forgets what was there; a 0-dim tensor as the value brings its own bits."""
    value = call.arguments.get("value")
    bits = value.bits if isinstance(value, Operand) else CONST
    return tuple(bits for _ in call.outputs)


RULES = {
    "view": _inherit,
    "select": _inherit,
    "exact": _exact,
    "extreme": _index_of_extreme,
    "const": _const,
    "uninitialised": _uninitialised,
    "sequence": _sequence,
    "random": _random,
    "cast": _cast,
    "fill": _fill,
}
