"""Matrix products, convolutions, linear algebra and Fourier transforms: sums of products."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opscan.numerics.bits import CONST, Bits, Level, accumulate, add, at_least, end, join, multiply, round_many
from opscan.numerics.call import Call, Operand, is_scale, spatial
from opscan.numerics.overlaps import Windows, windows_along


def contract(bits: Bits, count: int, *depends: str, base: Bits | None = None) -> Bits:
    """`count` products added up, to `base` where there is one.

    Which of two products a fused multiply-add rounds is already open, and whether a product is rounded before it is
    added to the base.
    """
    if count <= 0:
        return base or CONST
    total = multiply(bits) if count == 1 else accumulate(bits, count, "contraction", "shapes", *depends, fused=True)
    return total if base is None else at_least(add(base, total), Level.ARITHMETIC)


_ADDING = frozenset({"addbmm", "addmm", "addmv", "baddbmm", "_sparse_addmm"})
"""Products that are added to `self`."""


def _matmul(call: Call) -> tuple[Bits, ...]:
    """mm, bmm, mv, dot (`self` is the left factor) and the add- forms (`self` is added)."""
    added = call.packet in _ADDING
    start = call.tensor("self") if added else None
    left = call.tensor("mat1", "batch1", "mat") if added else call.tensor("self", "input", "mat1")
    count = left.shape[-1] if left.shape else 1
    if call.packet == "addbmm":
        count *= left.shape[0]
    bits = call.joined("self") if added else call.joined()
    dtype = call.output.dtype
    if call.output.complex or (added and not is_scale(call.argument("alpha", 1), dtype)):
        bits = round_many(bits)
    if added and call.argument("alpha", 1) == 0:
        count = 0
    return call.each_output(contract(bits, count, base=_base(call, start) if start else None))


def _base(call: Call, start: Operand) -> Bits | None:
    """What the products are added to; nothing where that is zeros or is not read."""
    beta = call.argument("beta", 1)
    if beta == 0 or start.zero:
        return None
    return start.bits if is_scale(beta, call.output.dtype) else multiply(start.bits, once=False)


def _convolution(call: Call) -> tuple[Bits, ...]:
    source, weight, bias = call.tensor("input", "self"), call.tensor("weight"), call.argument("bias")
    taps = _taps(call, source.shape, call.output.shape, weight.shape)
    if _transposed(call):
        count = math.prod(axis.readers for axis in taps) * weight.shape[0] // call.argument("groups", 1)
    else:
        count = math.prod(axis.taps for axis in taps) * weight.shape[1]
    bits = call.joined("bias")
    bits = round_many(bits) if call.output.complex else bits
    base = bias.bits if isinstance(bias, Operand) else None
    return call.each_output(contract(bits, count, "attributes", base=base))


def _transposed(call: Call) -> bool:
    return bool(call.argument("transposed")) or "_transpose" in call.packet


def _taps(call: Call, source: Sequence[int], result: Sequence[int], weight: Sequence[int]) -> list[Windows]:
    """The windows of a convolution over its input, axis by axis; of a transposed one over its result."""
    if call.packet == "conv_tbc":
        return [Windows(source[0], weight[0], 1, 1, call.argument("pad", 0), result[0])]
    rank = len(weight) - 2
    wide, narrow = (result, source) if _transposed(call) else (source, result)
    stride, dilation, padding = (
        spatial(call.argument(name), rank, default)
        for name, default in (("stride", 1), ("dilation", 1), ("padding", 0))
    )
    return windows_along(wide[-rank:], weight[2:], stride, dilation, padding, narrow[-rank:])


def _convolution_backward(call: Call) -> tuple[Bits, ...]:
    """Gradients of input, weight and bias, each over another extent."""
    upstream, source, weight = call.tensor("grad_output"), call.tensor("input"), call.tensor("weight")
    taps = _taps(call, source.shape, upstream.shape, weight.shape)
    if _transposed(call):
        meeting = math.prod(axis.taps for axis in taps) * weight.shape[1]
    else:
        meeting = math.prod(axis.readers for axis in taps) * weight.shape[0] // call.argument("groups", 1)
    batch = upstream.shape[0] if len(upstream.shape) > len(weight.shape) - 2 + 1 else 1
    positions = math.prod(axis.places for axis in taps) * batch
    places = math.prod(upstream.shape[2:]) * upstream.shape[0]
    rounds = round_many if upstream.complex else (lambda bits: bits)
    gradients = (
        contract(rounds(join((upstream.bits, weight.bits))), meeting, "attributes"),
        contract(rounds(join((upstream.bits, source.bits))), positions, "attributes"),
        accumulate(upstream.bits, places, "reduction", "shapes"),
    )
    return gradients[: len(call.outputs)]


def _cross(call: Call) -> tuple[Bits, ...]:
    """Each element is the difference of two products, of which a fused multiply-add rounds only one."""
    return call.each_output(accumulate(call.joined(), 2, "contraction", fused=True))


def _linear_algebra(call: Call) -> tuple[Bits, ...]:
    matrices = [operand for operand in call.operands() if operand.rounds]
    rank = max((max(operand.shape[-2:]) for operand in matrices if len(operand.shape) >= 2), default=1)
    bits = round_many(call.joined())
    if rank <= 1:
        return call.each_output(bits)
    bits = end(accumulate(bits, rank, "contraction", "shapes", fused=True))
    return tuple(bits for _ in call.outputs)


def _triangular_solve(call: Call) -> tuple[Bits, ...]:
    """The solution, and a copy of the coefficients."""
    return (_linear_algebra(call)[0], call.tensor("A").bits)


def _fourier(call: Call) -> tuple[Bits, ...]:
    source = call.output if call.packet == "_fft_c2r" else call.tensor("self")
    count = math.prod(source.shape[axis] for axis in call.argument("dim", ()))
    inherited = call.joined()
    if count <= 1:
        return call.each_output(inherited)
    if count == 2 and call.argument("normalization", 0) == 0:
        return call.each_output(accumulate(inherited, 2, "contraction", "shapes"))
    return call.each_output(accumulate(inherited, max(count, 3), "contraction", "shapes", fused=True))


RULES = {
    "matmul": _matmul,
    "convolution": _convolution,
    "convolution-backward": _convolution_backward,
    "cross": _cross,
    "linear-algebra": _linear_algebra,
    "triangular-solve": _triangular_solve,
    "fourier": _fourier,
}
