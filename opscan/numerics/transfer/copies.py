"""Calls that only copy, compare, count or create: no rounding in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from opscan.numerics.bits import CONST, UNINITIALISED, Bits, Level, at_least, bend, draw_random, join, round_once
from opscan.numerics.call import (
    EXPONENT_BITS,
    INTEGER_BITS,
    SIGNIFICAND,
    Call,
    Operand,
    is_representable,
    is_scale,
    real_part,
    spatial,
)

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


def _resized(call: Call) -> tuple[Bits, ...]:
    """The same elements; those by which the memory grows are nobody's."""
    bits = call.joined()
    grown = call.output.numel > call.tensor("self").numel
    return call.each_output(replace(bits, uninitialised=grown), lambda bits: replace(bits, uninitialised=grown))


def _sequence(call: Call) -> tuple[Bits, ...]:
    """arange is exact on whole numbers; any other ramp multiplies and adds."""
    ramp = [call.argument(name, default) for name, default in (("start", 0), ("end", 0), ("step", 1))]
    whole = call.packet == "arange" and all(
        float(value).is_integer() for value in ramp if not isinstance(value, Operand)
    )
    return call.each_output(CONST if whole else at_least(CONST, Level.ARITHMETIC))


def _random(call: Call) -> tuple[Bits, ...]:
    """Numbers that are drawn, unless the attributes leave nothing to draw or a fixed seed has drawn them already."""
    packet = call.packet
    if (rule := _CHANCELESS.get(packet)) is not None and (certain := rule(call)) is not None:
        return certain
    drawn = call.drawn
    if drawn == Level.RANDOM:
        return tuple(draw_random(call.joined()) for _ in call.outputs)
    if packet in _CHANGING:
        changed, noise = at_least(call.joined(), Level.ARITHMETIC), Bits(drawn)
        return tuple(noise if position else changed for position in range(len(call.outputs)))
    given = [operand.bits for name in _PARAMETERS.get(packet, ()) for operand in _operand(call, name)]
    bits = at_least(join(given), Level.ARITHMETIC, "values") if given else CONST
    return tuple(at_least(bits, drawn) for _ in call.outputs)


def _operand(call: Call, name: str) -> tuple[Operand, ...]:
    value = call.arguments.get(name)
    return (value,) if isinstance(value, Operand) else ()


_CHANGING = frozenset({"native_dropout", "_fused_dropout", "rrelu_with_noise", "rrelu_with_noise_functional"})
"""Calls that change their first tensor by what they draw; what was drawn is the second result."""
_PARAMETERS = {
    **dict.fromkeys(("poisson", "multinomial", "_standard_gamma", "_sample_dirichlet"), ("self",)),
    "bernoulli": ("self", "p"), "binomial": ("count", "prob"), "normal": ("mean", "std"),
}  # fmt: skip
"""Tensors that say how numbers are distributed; other tensors only say how many are drawn, or are overwritten."""


def _dropout(call: Call) -> tuple[Bits, ...] | None:
    """Nothing is dropped, or everything: copies or zeros, and a mask that is the same everywhere."""
    if call.arguments.get("train") is False or call.arguments.get("p") in (0, 1):
        return tuple(CONST if position else call.tensor("input").bits for position in range(len(call.outputs)))
    return None


def _leaky(call: Call) -> tuple[Bits, ...] | None:
    """A single slope: none is drawn outside training, and between equal bounds there is but one."""
    training = call.argument("training", False)
    lower, upper = call.argument("lower", 1 / 8), call.argument("upper", 1 / 3)
    if training and lower != upper:
        return None
    bits = call.tensor("self").bits
    slope = (lower + upper) / 2
    scaled = bits if is_scale(slope, call.output.dtype) else at_least(bits, Level.ARITHMETIC)
    return tuple(CONST if position else scaled for position in range(len(call.outputs)))


def _bernoulli(call: Call) -> tuple[Bits, ...] | None:
    return _const(call) if call.arguments.get("p") in (0, 1) else None


def _uniform(call: Call) -> tuple[Bits, ...] | None:
    return _const(call) if call.argument("from", 0.0) == call.argument("to", 1.0) else None


def _whole(call: Call) -> tuple[Bits, ...] | None:
    return _const(call) if call.arguments.get("high") == call.argument("low", 0) + 1 else None


def _order(call: Call) -> tuple[Bits, ...] | None:
    return _const(call) if call.arguments.get("n") in (0, 1) else None


_CHANCELESS: dict[str, Callable[[Call], tuple[Bits, ...] | None]] = {
    "native_dropout": _dropout,
    "rrelu_with_noise": _leaky,
    "rrelu_with_noise_functional": _leaky,
    "bernoulli": _bernoulli,
    "uniform": _uniform,
    "randint": _whole,
    "randint_like": _whole,
    "randperm": _order,
}


def without_chance(call: Call) -> Call:
    """The call without the random samples of a pooling whose windows they cannot move.

    On an axis the first window begins at the first element and the last ends at the last one; where there are no
    others, or each covers everything, nothing is left to draw.
    """
    samples = call.arguments.get("random_samples")
    if not isinstance(samples, Operand) or not call.packet.startswith("fractional_max_pool"):
        return call
    rank = samples.shape[-1]
    sizes, windows = call.argument("output_size"), spatial(call.argument("kernel_size"), rank)
    axes = zip(call.tensor("self").shape[-rank:], windows, spatial(sizes, rank), strict=True)
    if not all(count <= 2 or window == size for size, window, count in axes):
        return call
    certain = replace(samples, bits=CONST)
    return replace(call, arguments={**call.arguments, "random_samples": certain})


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
    "resized": _resized,
    "sequence": _sequence,
    "random": _random,
    "cast": _cast,
    "fill": _fill,
}
