"""Pooling, padding, resampling and unfolding: accumulation only where windows overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from opscan.numerics.bits import Bits, accumulate, round_many
from opscan.numerics.call import SIGNIFICAND, Call, Operand, is_scale, spatial
from opscan.numerics.facts import pool_of
from opscan.numerics.overlaps import adaptive_windows, copies, overlap, padding_hits, tapped
from opscan.numerics.transfer.reductions import mean_of


def _rank(call: Call) -> int:
    return next(rank for rank in (1, 2, 3) if f"{rank}d" in call.packet)


def _pool_average(call: Call) -> tuple[Bits, ...]:
    rank = _rank(call)
    if call.packet.startswith("_adaptive"):
        count, _ = adaptive_windows(call.tensor("self").shape[-rank:], call.output.shape[-rank:])
    else:
        count = math.prod(spatial(call.argument("kernel_size"), rank))
    divisor = call.argument("divisor_override")
    if divisor is None:
        return call.each_output(mean_of(call.joined(), count, "window", "attributes"))
    bits = accumulate(call.joined(), count, "window", "shapes", "attributes")
    return call.each_output(bits if is_scale(1 / divisor, call.output.dtype) else round_many(bits))


def _pool_backward(call: Call) -> tuple[Bits, ...]:
    """avg_pool and max_pool gradients; ties decide which element of a window gets a max gradient."""
    rank = _rank(call)
    upstream = call.tensor("grad_output")
    kernel = spatial(call.argument("kernel_size"), rank)
    stride = spatial(call.argument("stride"), rank, default=0)
    stride = kernel if not any(stride) else stride
    dilation = spatial(call.argument("dilation"), rank)
    hits = overlap(kernel, stride, dilation, upstream.shape[-rank:])
    bits = call.joined()
    if call.packet.startswith("avg"):
        divisor = call.argument("divisor_override")
        even = is_scale(1 / (divisor or math.prod(kernel)), call.output.dtype)
        even = even and (divisor is not None or not _padded(call, rank))
        return call.each_output(accumulate(bits if even else round_many(bits), hits, "window", "shapes", "attributes"))
    return _by_winners(call, hits, "attributes", "values")


def _by_winners(call: Call, hits: int, *depends: str) -> tuple[Bits, ...]:
    """A max gradient goes where the indices say: into its window if this trace's pooling made them."""
    indices, bits = call.tensor("indices"), call.joined()
    if indices.pool is not None and indices.pool == pool_of(call):
        return call.each_output(accumulate(bits, hits, "window", *depends))
    if indices.distinct:
        return call.each_output(bits)
    places = math.prod(call.tensor("grad_output").shape[-_rank(call) :])
    repeated = () if indices.distinct is False else ("values",)
    return call.each_output(accumulate(bits, places, "scatter", "shapes", *repeated))


def _padded(call: Call, rank: int) -> bool:
    """Whether windows can be cut to sizes that are no powers of two."""
    if max(spatial(call.argument("kernel_size"), rank)) <= 2:
        return False
    cut = any(spatial(call.argument("padding"), rank, default=0)) and call.argument("count_include_pad", True) is False
    return cut or bool(call.argument("ceil_mode"))


def _adaptive_backward(call: Call) -> tuple[Bits, ...]:
    rank = _rank(call)
    upstream = call.tensor("grad_output").shape[-rank:]
    source = call.tensor("self").shape[-rank:]
    bits = call.joined()
    if call.packet.startswith("fractional"):
        kernel, digits = spatial(call.argument("kernel_size"), rank), SIGNIFICAND.get(call.tensor("self").dtype, 24)
        crowded = math.prod(_crowded(*axis, digits) for axis in zip(kernel, upstream, source, strict=True))
        return _by_winners(call, crowded, "values")
    largest, most = adaptive_windows(source, upstream)
    if call.packet.startswith("_adaptive_avg"):
        even = all(size % count == 0 for size, count in zip(source, upstream, strict=True))
        even = even and is_scale(1 / max(largest, 1), call.output.dtype)
        bits = bits if even else round_many(bits)
        return call.each_output(accumulate(bits, most, "window", "shapes", "attributes"))
    return _by_winners(call, most, "shapes", "values")


def _crowded(kernel: int, count: int, size: int, digits: int) -> int:
    """How many of `count` windows of fractional pooling can cover one of `size` elements.

    Window i begins at the whole part of (i + u) * step, up to a common shift, computed with so many `digits`: an
    addition, a division and a multiplication may have moved each of the two ends of a span.
    """
    if count <= 1 or size <= kernel:
        return max(1, min(kernel, count))
    if count == 2:  # the first window begins at the first element, the last ends at the last one
        return 2 if 2 * kernel > size else 1
    step = (size - kernel) / (count - 1)
    return min(count, math.floor((kernel + 6 * size * 2.0**-digits) / step) + 1)


def _pad_backward(call: Call) -> tuple[Bits, ...]:
    """Reflected and replicated borders are added back onto the elements they were copied from."""
    padding, shape = list(call.argument("padding", ())), call.tensor("self").shape
    most = padding_hits(shape, padding, reflect=call.packet.startswith("reflection"))
    return call.each_output(accumulate(call.joined(), most, "window", "attributes", "shapes"))


def _nearest_backward(call: Call) -> tuple[Bits, ...]:
    upstream, sizes = call.tensor("grad_output").shape[2:], list(call.argument("input_size", ()))[2:]
    scales = call.argument("scale_factors") or [value for name, value in call.arguments.items() if "scale" in name]
    most = 1
    for given, size, scale in zip(upstream, sizes, scales if any(scales) else [None] * len(sizes), strict=True):
        most *= copies(given, size, scale)
    return call.each_output(accumulate(call.joined(), most, "window", "shapes", "attributes"))


def _taps(call: Call) -> tuple[int, int]:
    """(addends of one interpolated element, axes that are resampled)."""
    axes = _rank(call) if "trilinear" not in call.packet else 3
    per_axis = next((taps for name, taps in (("bicubic", 4), ("lanczos", 6)) if name in call.packet), 2)
    return per_axis, axes


def _keeps_size(call: Call, source: Sequence[int], target: Sequence[int]) -> bool:
    """Every weight is 0 or 1 then, unless a scale factor places the samples elsewhere."""
    given = [value for name, value in call.arguments.items() if "scale" in name and value is not None]
    scales = [scale for value in given for scale in (value if isinstance(value, (list, tuple)) else [value])]
    return list(source) == list(target) and all(scale == 1 for scale in scales)


def _interpolate(call: Call) -> tuple[Bits, ...]:
    per_axis, axes = _taps(call)
    if _keeps_size(call, call.tensor("input", "self").shape[-axes:], call.output.shape[-axes:]):
        return call.each_output(call.joined())
    if call.packet.endswith("_aa"):
        source, target = call.tensor("input", "self").shape[-axes:], call.output.shape[-axes:]
        per_axis = max(per_axis * math.ceil(size / max(to, 1)) for size, to in zip(source, target, strict=True))
    taps = per_axis**axes
    bits = round_many(call.joined())
    return call.each_output(accumulate(bits, taps, "window", "attributes", fused=True))


def _interpolate_backward(call: Call) -> tuple[Bits, ...]:
    per_axis, axes = _taps(call)
    upstream = call.tensor("grad_output").shape[-axes:]
    sizes = call.output.shape[-axes:]
    if _keeps_size(call, upstream, sizes):
        return call.each_output(call.joined())
    most = 1
    for given, size in zip(upstream, sizes, strict=True):
        most *= tapped(given, size, per_axis)
    bits = round_many(call.joined())
    return call.each_output(accumulate(bits, most, "window", "shapes", "attributes", fused=True))


def _fold(call: Call) -> tuple[Bits, ...]:
    """col2im: the patches are added up where they overlap. With a border there can be more of them than elements."""
    kernel, stride, dilation = (spatial(call.argument(name), 2) for name in ("kernel_size", "stride", "dilation"))
    padding = spatial(call.argument("padding"), 2, default=0)
    axes = zip(spatial(call.argument("output_size"), 2), kernel, stride, dilation, padding, strict=True)
    patches = [(size + 2 * border - spread * (taps - 1) - 1) // step + 1 for size, taps, step, spread, border in axes]
    return call.each_output(
        accumulate(call.joined(), overlap(kernel, stride, dilation, patches), "window", "attributes")
    )


def _unfold_backward(call: Call) -> tuple[Bits, ...]:
    hits = math.ceil(call.argument("size", 1) / call.argument("step", 1))
    return call.each_output(accumulate(call.joined(), hits, "window", "attributes"))


def _max_pool(call: Call) -> tuple[Bits, ...]:
    """The values are copies; with ties the index may name another element of the window.

    Fractional windows lie where random samples say.
    """
    bits = call.joined()
    tied = replace(bits, depends=bits.depends | {"values"})
    return tuple(tied if position else bits for position in range(len(call.outputs)))


def _unpool(call: Call) -> tuple[Bits, ...]:
    bits = call.joined()
    duplicates = isinstance(call.argument("indices"), Operand)
    return tuple(replace(bits, depends=bits.depends | {"values"}) if duplicates else bits for _ in call.outputs)


RULES = {
    "max-pool": _max_pool,
    "max-unpool": _unpool,
    "average-pool": _pool_average,
    "pool-backward": _pool_backward,
    "adaptive-backward": _adaptive_backward,
    "pad-backward": _pad_backward,
    "nearest-backward": _nearest_backward,
    "interpolate": _interpolate,
    "interpolate-backward": _interpolate_backward,
    "fold": _fold,
    "unfold-backward": _unfold_backward,
}
