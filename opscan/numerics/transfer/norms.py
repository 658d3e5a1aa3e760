"""Normalisation layers: statistics are sums, and each gradient depends on other operands than the next."""

from __future__ import annotations

import math

from opscan.numerics.bits import Bits, accumulate, end, round_many
from opscan.numerics.call import Call, Operand


def _statistics(bits: Bits, count: int) -> Bits:
    return end(accumulate(round_many(bits), count, "reduction", "shapes", fused=True))


def normalised(call: Call) -> int:
    """How many elements share one mean."""
    if "layer_norm" in call.packet or "rms_norm" in call.packet:
        return math.prod(call.argument("normalized_shape", ()))
    if "group_norm" in call.packet:
        return int(call.argument("C")) // int(call.argument("group")) * int(call.argument("HxW"))
    source = call.tensor("input")
    return source.numel // max(source.shape[1], 1) if len(source.shape) > 1 else source.numel


def training(call: Call) -> bool:
    for name in ("training", "train", "update"):
        if name in call.arguments:
            return bool(call.arguments[name])
    return True


def _norm_forward(call: Call) -> tuple[Bits, ...]:
    bits = call.joined()
    if "batch_norm" in call.packet and not training(call):
        return (round_many(bits), *(bits for _ in call.outputs[1:]))
    statistics = [_statistics(bits, normalised(call)) for _ in call.outputs]
    if normalised(call) == 1 and "rms" not in call.packet and len(statistics) > 1:
        statistics[1] = bits  # the mean of one element is that element
    return tuple(statistics)


def _norm_backward(call: Call) -> tuple[Bits, ...]:
    """Gradients of input, weight and bias. The bias gradient is a pure sum of the upstream gradient."""
    everything, upstream = call.joined(), call.tensor("grad_out", "grad_output").bits
    source = call.tensor("input")
    count = normalised(call)
    others = affine_extent(call, source, count)
    rows = "batch_norm" in call.packet and not training(call)
    gradients = (
        round_many(everything) if rows else _statistics(everything, max(count, 2)),
        accumulate(round_many(everything), others, "reduction", "shapes", fused=True),
        accumulate(upstream, others, "reduction", "shapes"),
    )
    return tuple(gradients[position] for position in range(len(call.outputs)))


def affine_extent(call: Call, source: Operand, count: int) -> int:
    """Over how many elements a weight or bias gradient is summed."""
    if "group_norm" in call.packet:
        return int(call.argument("N")) * int(call.argument("HxW"))
    if "layer_norm" in call.packet or "rms_norm" in call.packet:
        return source.numel // max(count, 1)
    return count


def _renorm_embedding(call: Call) -> tuple[Bits, ...]:
    bits = accumulate(round_many(call.joined()), call.tensor("self").shape[-1], "reduction", "values", fused=True)
    return tuple(end(bits) for _ in call.outputs)


RULES = {"norm-layer": _norm_forward, "norm-layer-backward": _norm_backward, "renorm-embedding": _renorm_embedding}
