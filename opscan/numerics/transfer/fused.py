"""Kernels that add up many things inside: how many meet in one element follows from each kernel's own shapes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from opscan.numerics.bits import CONST, Bits, accumulate, end, round_many, round_once
from opscan.numerics.call import SIGNIFICAND, Call, Operand


def _opaque(call: Call) -> tuple[Bits, ...]:
    """An accumulation over `EXTENTS[packet]` computed values; in an unknown kernel over all it could be."""
    if call.packet in _DISTANCES and call.argument("p") in _DISTANCES[call.packet]:
        return _extreme_distance(call)
    if call.packet == "_sparse_mm_reduce_impl" and call.argument("reduce") in ("amax", "amin"):
        extreme = round_once(call.joined())  # the largest or smallest of products that are rounded one by one
        return tuple(extreme for _ in call.outputs)
    count = EXTENTS.get(call.packet, _everything)(call)
    if call.packet == "multilabel_margin_loss_forward":
        return _multilabel(call, count)
    cause = "contraction" if call.packet in _CONTRACTIONS else "reduction"
    return call.each_output(end(accumulate(round_many(call.joined()), count, cause, "shapes", fused=True)))


def _multilabel(call: Call, count: int) -> tuple[Bits, ...]:
    """The loss, and which classes are targets."""
    loss = accumulate(round_many(call.tensor("self").bits), count, "reduction", "shapes", fused=True)
    return end(loss), call.tensor("target").bits


_DISTANCES = {
    "_cdist_forward": (0, math.inf),
    "_cdist_backward": (0,),
    "_pdist_forward": (0, math.inf),
    "_pdist_backward": (0,),
}
"""Orders in which a distance is no sum of computed values."""


def _extreme_distance(call: Call) -> tuple[Bits, ...]:
    """The number of coordinates that differ, whose gradient is 0, or the largest difference of two coordinates."""
    if call.packet.endswith("_backward"):
        return call.each_output(CONST)
    counts = call.argument("p") == 0 and EXTENTS[call.packet](call) < 2 ** SIGNIFICAND.get(call.output.dtype, 24)
    return call.each_output(call.joined() if counts else round_once(call.joined()))


def _everything(call: Call) -> int:
    """All the axes of all operands that the result lacks: more than really meet, never fewer."""
    left = Counter(size for operand in call.operands() for size in operand.shape)
    left.subtract(min((output.shape for output in call.outputs if output is not None), key=math.prod, default=()))
    return max(3, math.prod(left.elements()))


def _trilinear(call: Call) -> int:
    """The axes of `sumdim`, once each factor has its `expand` axes."""
    factors = []
    for number in (1, 2, 3):
        sizes = list(call.arguments[f"i{number}"].shape)
        for axis in sorted(call.argument(f"expand{number}", ())):
            sizes.insert(axis, 1)
        factors.append(sizes)
    full = [max(sizes) for sizes in zip(*factors, strict=True)]
    return math.prod(full[axis] for axis in call.argument("sumdim", ()))


def _size(name: str, axis: int, extra: int = 0) -> Callable[[Call], int]:
    return lambda call: call.arguments[name].shape[axis] + extra


def _lattice(call: Call) -> int:
    """ctc_loss: time steps times the places of an alignment, a label or the blank around it."""
    targets, lengths = call.tensor("targets"), call.argument("target_lengths")
    if targets.shape and len(targets.shape) > 1:
        labels = targets.shape[-1]
    elif isinstance(lengths, Operand):
        labels = targets.numel
    else:
        labels = max(lengths, default=0)
    return int(call.tensor("log_probs").shape[0] * (2 * labels + 1))


def _samples(call: Call) -> int:
    """How many samples a loss adds up."""
    shape = call.tensor("self").shape
    return shape[0] if len(shape) > 1 and call.argument("reduction", 1) != 0 else 1


def _classes(call: Call) -> int:
    return (call.tensor("self").shape or (1,))[-1]


def _pairs(call: Call) -> int:
    """The most pairs of a class that is a target and one that is not; a pair of its own has no order."""
    classes = _classes(call)
    pairs = (classes // 2) * (classes - classes // 2)
    return max(pairs, classes) if pairs > 1 else pairs


def _cross_entropy(call: Call) -> int:
    """Logits over the features, their exponentials over the classes, the losses over the samples."""
    features, classes = (operand for operand in list(call.operands())[:2])
    return (features.shape[-1] if call.packet.endswith("no_reduction") else features.numel) * classes.shape[0]


def _lstm_cell(call: Call) -> int:
    """Four gates, each of two products and their biases where there are any, and the cell state."""
    biases = [call.argument(name) for name in ("input_bias", "hidden_bias")]
    return 4 * (2 + sum(isinstance(bias, Operand) for bias in biases)) + 1


def _slice_of_weight(call: Call) -> int:
    """The elements that share one norm."""
    weight = call.tensor("v", "saved_v")
    kept: int = weight.shape[call.argument("dim", 0)]
    return weight.numel // max(kept, 1)


def _recurrent_layer(call: Call) -> int:
    """The features of a step and of the hidden state; in the gradients also the gates, and all steps of all samples."""
    source, hidden = call.tensor("input"), call.tensor("weight1").shape[-1]
    features = source.shape[-1] + hidden
    return max(features, 4 * hidden, math.prod(source.shape[:-1])) if call.packet.endswith("_backward") else features


EXTENTS: dict[str, Callable[[Call], int]] = {
    "_trilinear": _trilinear,
    "_cdist_forward": _size("x1", -1),
    "_euclidean_dist": _size("x1", -1, 2),  # with the two squared norms as further factors
    "_cdist_backward": _size("x2", -2),
    "_pdist_forward": _size("self", -1),
    "_pdist_backward": _size("self", 0, -1),  # each row with all the others
    "_embedding_bag_per_sample_weights_backward": _size("weight", -1),
    "sparse_sampled_addmm": _size("mat1", -1, 1),
    "_sparse_mm_reduce_impl": _size("self", -1),
    "_sparse_mm_reduce_impl_backward": lambda call: max(call.tensor("self").shape[0], call.tensor("weight").shape[-1]),
    "_ctc_loss": _lattice,
    "_ctc_loss_backward": _lattice,
    "multi_margin_loss": lambda call: _classes(call) * _samples(call),
    "multi_margin_loss_backward": lambda call: _classes(call) - 1,
    "multilabel_margin_loss_forward": lambda call: _pairs(call) * _samples(call),
    "multilabel_margin_loss_backward": lambda call: _classes(call) - 1,
    "_thnn_fused_lstm_cell": _lstm_cell,
    "mkldnn_rnn_layer": _recurrent_layer,
    "mkldnn_rnn_layer_backward": _recurrent_layer,
    "affine_grid_generator": _size("theta", -1),
    "_weight_norm_interface": _slice_of_weight,
    "_weight_norm_interface_backward": _slice_of_weight,
    "_linear_cross_entropy_batch_chunked": _cross_entropy,
    "_linear_cross_entropy_batch_chunked_no_reduction": _cross_entropy,
}
_CONTRACTIONS = frozenset(
    {
        "_trilinear", "_embedding_bag_per_sample_weights_backward", "sparse_sampled_addmm", "_sparse_mm_reduce_impl",
        "_sparse_mm_reduce_impl_backward", "_native_multi_head_attention", "_transformer_encoder_layer_fwd",
        "_weight_int4pack_mm", "_weight_int4pack_mm_for_cpu", "_weight_int4pack_mm_with_scales_and_zeros",
        "_weight_int8pack_mm", "affine_grid_generator", "mkldnn_rnn_layer", "mkldnn_rnn_layer_backward",
    }
)  # fmt: skip


def _attention(call: Call) -> tuple[Bits, ...]:
    """Scores over the features, a softmax and a product over the keys.

    In the gradients also a product over the features of the values, and for keys and values one over the queries.
    """
    query, key, value = call.tensor("query"), call.tensor("key"), call.tensor("value")
    keys = key.shape[-2]
    weights = _stage(_stage(call.joined(), query.shape[-1], "contraction"), keys, "reduction")
    if not call.packet.endswith("_backward"):
        return call.each_output(_stage(weights, keys, "contraction"))
    shared = query.shape[-3] // max(key.shape[-3], 1) if len(query.shape) > 2 else 1
    queries = query.shape[-2] * max(shared, 1)
    scores = _stage(weights, value.shape[-1], "contraction")
    gradients = (_stage(scores, keys, "contraction"), _stage(scores, queries, "contraction"))
    return (*gradients, _stage(weights, queries, "contraction"))[: len(call.outputs)]


def _stage(bits: Bits, count: int, cause: str) -> Bits:
    return accumulate(round_many(bits), max(count, 2), cause, "shapes", fused=True)


def _grid_sample(call: Call) -> tuple[Bits, ...]:
    """The places are computed, so which element the nearest mode copies depends on values."""
    bits = round_many(call.joined())
    if _mode(call) == _NEAREST:
        return call.each_output(replace(bits, depends=bits.depends | {"values"}))
    return call.each_output(accumulate(bits, _taps(call), "window", "attributes", fused=True))


def _grid_gradient(call: Call) -> tuple[Bits, ...]:
    """Many samples may fall on one element; a place moves by what all its taps in all channels say."""
    upstream, bits = call.tensor("grad_output"), round_many(call.joined())
    samples = math.prod(upstream.shape[2:])
    if _mode(call) == _BICUBIC and call.argument("padding_mode", 0) != 0:
        samples *= _taps(call)  # the border may stand for all the taps of a sample
    return (
        accumulate(bits, max(3, samples), "scatter", "shapes", "values", fused=True),
        accumulate(bits, _taps(call) * upstream.shape[1], "contraction", "shapes", "attributes", fused=True),
    )


_NEAREST, _BICUBIC = 1, 2


def _mode(call: Call) -> int:
    return int(call.argument("interpolation_mode", 0))


def _taps(call: Call) -> int:
    """Neighbours of one sample."""
    return int((4 if _mode(call) == _BICUBIC else 2) ** (len(call.tensor("input").shape) - 2))


RULES = {
    "opaque": _opaque,
    "attention": _attention,
    "grid-sample": _grid_sample,
    "grid-gradient": _grid_gradient,
}
