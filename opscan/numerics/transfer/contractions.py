"""Matrix products, convolutions, linear algebra and Fourier transforms: sums of products."""

from __future__ import annotations

import math

from opscan.numerics.bits import CONST, Bits, accumulate, join, round_many, round_once
from opscan.numerics.call import Call, Operand


def contract(bits: Bits, count: int, *depends: str, bias: bool = False) -> Bits:
    """`count` products added up: which of two products a fused multiply-add rounds is already open."""
    if count <= 0:
        return bits if bias else CONST
    if count == 1:
        return round_many(bits) if bias else round_once(bits)
    return accumulate(bits, count + bias, "contraction", "shapes", *depends, fused=True)


def _matmul(call: Call) -> tuple[Bits, ...]:
    """mm, bmm, mv, dot (`self` is the left factor) and the add- forms (`self` is added)."""
    added = call.packet.rstrip("_").startswith(("add", "badd", "sparse_addmm", "_addmm"))
    factors = [operand for operand in call.operands() if operand.shape]
    left = call.tensor("mat1", "batch1", "mat") if added else call.tensor("self", "input", "mat1")
    count = left.shape[-1] if left.shape else 1
    if call.packet.startswith("addbmm"):
        count *= left.shape[0]
    bits = join(operand.bits for operand in factors)
    if added and any(call.argument(name, 1) not in (0, 1) for name in ("alpha", "beta")):
        bits = round_many(bits)
    if call.output.complex:
        return call.each_output(contract(round_many(bits), count, bias=added))
    return call.each_output(contract(bits, count, bias=added))


def _convolution(call: Call) -> tuple[Bits, ...]:
    weight = call.tensor("weight")
    transposed = call.argument("transposed") or "_transpose" in call.packet
    channels = weight.shape[0] // call.argument("groups", 1) if transposed else weight.shape[1]
    count = math.prod(weight.shape[2:]) * channels
    bias = isinstance(call.argument("bias"), Operand)
    return call.each_output(contract(call.joined(), count, "attributes", bias=bias))


def _convolution_backward(call: Call) -> tuple[Bits, ...]:
    """Gradients of input, weight and bias, each over another extent."""
    upstream, source, weight = call.tensor("grad_output"), call.tensor("input"), call.tensor("weight")
    transposed, groups = call.argument("transposed"), call.argument("groups", 1)
    kernel = math.prod(weight.shape[2:])
    channels = weight.shape[1] if transposed else weight.shape[0] // groups
    positions = math.prod((source if transposed else upstream).shape[2:]) * upstream.shape[0]
    places = math.prod(upstream.shape[2:]) * upstream.shape[0]
    gradients = (
        contract(join((upstream.bits, weight.bits)), kernel * channels, "attributes"),
        contract(join((upstream.bits, source.bits)), positions, "attributes"),
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
    bits = accumulate(bits, rank, "contraction", "shapes", fused=True)
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
