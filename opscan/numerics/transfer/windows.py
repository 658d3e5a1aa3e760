"""Pooling, padding, resampling and unfolding: accumulation only where windows overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from opscan.numerics.bits import Bits, accumulate, bend, multiply, round_many
from opscan.numerics.call import SIGNIFICAND, Call, Operand, is_scale, spatial
from opscan.numerics.facts import pool_of
from opscan.numerics.overlaps import Windows, adaptive_windows, copies, padding_hits, windows_along
from opscan.numerics.resampling import FILTERS, Reads, reads


def _rank(call: Call) -> int:
    return next(rank for rank in (1, 2, 3) if f"{rank}d" in call.packet)


def _windows(call: Call, sizes: Sequence[int], counts: Sequence[int]) -> list[Windows]:
    """The windows of a pooling from `sizes` to `counts`."""
    rank = len(sizes)
    kernel = spatial(call.argument("kernel_size"), rank)
    stride = spatial(call.argument("stride") or kernel, rank)
    dilation, padding = (spatial(call.argument(name), rank, at) for name, at in (("dilation", 1), ("padding", 0)))
    return windows_along(sizes, kernel, stride, dilation, padding, counts)


def _divisors(call: Call, windows: Sequence[Windows]) -> list[int]:
    """What the means of these windows are divided by, axis by axis; their products divide."""
    if (given := call.argument("divisor_override")) is not None:
        return [given]
    border = call.argument("count_include_pad", True) is not False
    return [divisor for axis in windows for divisor in axis.lengths(border=border)]


def _pool_average(call: Call) -> tuple[Bits, ...]:
    rank = _rank(call)
    sizes, counts = call.tensor("self").shape[-rank:], call.output.shape[-rank:]
    if call.packet.startswith("_adaptive"):
        count, _, lengths = adaptive_windows(sizes, counts)
        divisors = list(lengths)
    else:
        windows = _windows(call, sizes, counts)
        count, divisors = math.prod(axis.taps for axis in windows), _divisors(call, windows)
    bits = accumulate(call.joined(), count, "window", "shapes", "attributes")
    return call.each_output(bits if _even(divisors, call) else multiply(bits, once=False))


def _even(divisors: Sequence[int], call: Call) -> bool:
    """Whether dividing by any product of these is exact."""
    return all(is_scale(1 / divisor, call.output.dtype) for divisor in (*divisors, math.prod(divisors)))


def _pool_backward(call: Call) -> tuple[Bits, ...]:
    """avg_pool and max_pool gradients; ties decide which element of a window gets a max gradient."""
    rank = _rank(call)
    windows = _windows(call, call.tensor("self").shape[-rank:], call.tensor("grad_output").shape[-rank:])
    hits = math.prod(axis.readers for axis in windows)
    if not call.packet.startswith("avg"):
        return _by_winners(call, hits, "attributes", "values")
    bits = call.joined()
    bits = bits if _even(_divisors(call, windows), call) else multiply(bits, once=False)
    return call.each_output(accumulate(bits, hits, "window", "shapes", "attributes"))


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


def _adaptive_backward(call: Call) -> tuple[Bits, ...]:
    rank = _rank(call)
    upstream = call.tensor("grad_output").shape[-rank:]
    source = call.tensor("self").shape[-rank:]
    bits = call.joined()
    if call.packet.startswith("fractional"):
        kernel, digits = spatial(call.argument("kernel_size"), rank), SIGNIFICAND.get(call.tensor("self").dtype, 24)
        crowded = math.prod(_crowded(*axis, digits) for axis in zip(kernel, upstream, source, strict=True))
        return _by_winners(call, crowded, "values")
    _, most, lengths = adaptive_windows(source, upstream)
    if call.packet.startswith("_adaptive_avg"):
        bits = bits if _even(list(lengths), call) else multiply(bits, once=False)
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


def _resampled(call: Call, source: Sequence[int], target: Sequence[int]) -> list[Reads]:
    """What each axis of the target reads of the source."""
    taps = next(count for name, count in FILTERS.items() if name in call.packet)
    scales = call.argument("scale_factors") or [value for name, value in call.arguments.items() if "scales" in name]
    align, smooth = bool(call.argument("align_corners")), "_aa" in call.packet
    scales = scales if any(scales) else [None] * len(source)
    axes = zip(source, target, scales, strict=True)
    return [reads(size, to, taps, align=align, scale=scale, smooth=smooth) for size, to, scale in axes]


def _interpolate(call: Call) -> tuple[Bits, ...]:
    source = call.tensor("input", "self").shape[2:]
    axes = _resampled(call, source, call.output.shape[2:])
    if all(axis.copies for axis in axes):
        return call.each_output(call.joined())
    taps = math.prod(axis.taps for axis in axes)
    return call.each_output(accumulate(round_many(call.joined()), taps, "window", "attributes", fused=True))


def _interpolate_backward(call: Call) -> tuple[Bits, ...]:
    axes = _resampled(call, call.output.shape[2:], call.tensor("grad_output").shape[2:])
    bits, readers = call.joined(), math.prod(axis.readers for axis in axes)
    if all(axis.copies for axis in axes):
        return call.each_output(accumulate(bits, readers, "window", "shapes", "attributes"))
    return call.each_output(accumulate(round_many(bits), readers, "window", "shapes", "attributes", fused=True))


def _fold(call: Call) -> tuple[Bits, ...]:
    """col2im: the patches are added up where they overlap. With a border there can be more of them than elements."""
    kernel, stride, dilation = (spatial(call.argument(name), 2) for name in ("kernel_size", "stride", "dilation"))
    padding, sizes = spatial(call.argument("padding"), 2, default=0), spatial(call.argument("output_size"), 2)
    axes = zip(sizes, kernel, stride, dilation, padding, strict=True)
    patches = [(size + 2 * border - spread * (taps - 1) - 1) // step + 1 for size, taps, step, spread, border in axes]
    windows = windows_along(sizes, kernel, stride, dilation, padding, patches)
    hits = math.prod(axis.readers for axis in windows)
    return call.each_output(accumulate(call.joined(), hits, "window", "attributes"))


def _unfold_backward(call: Call) -> tuple[Bits, ...]:
    size, step, sizes = call.argument("size", 1), call.argument("step", 1), call.argument("input_sizes", ())
    length = sizes[call.argument("dim", 0)] if sizes else 1
    windows = Windows(length, size, step, 1, 0, (length - size) // step + 1)
    return call.each_output(accumulate(call.joined(), windows.readers, "window", "attributes"))


def _max_pool(call: Call) -> tuple[Bits, ...]:
    """The values are copies; with ties the index may name another element of the window.

    Fractional windows lie where random samples say.
    """
    bits = bend(call.joined())
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
