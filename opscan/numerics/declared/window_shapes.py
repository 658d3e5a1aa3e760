"""Shapes of what slides windows over the last axes: convolution, pooling, padding, resampling, columns.

Each raises Refused where torch would refuse the sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opscan.numerics.declared.shapes import Shape, sizes, spread_axes, windows
from opscan.numerics.declared.values import NotDeclared, Refused

__all__ = [
    "adapted", "adapted_back", "columns", "convolved", "convolved_in_time", "filled_sizes", "fractional",
    "from_columns", "line_of", "padded", "padded_back", "pooled", "pooled_back", "resampled", "resampled_size",
    "sampled", "unpooled", "unpooled_size",
]  # fmt: skip
_NARROW = ("uint8", "int8", "int16", "int32")


def _held(value: Any, rank: int) -> Shape:
    """The shape of `channels, *spatial` or `samples, channels, *spatial`; only samples may be none."""
    shape = sizes(value)
    if len(shape) not in (rank + 1, rank + 2) or 0 in shape[-rank - 1 :]:
        raise Refused(f"{list(shape)} are no channels with {rank} axes that hold something")
    return shape


def convolved(  # noqa: PLR0913 - what ATen's convolution takes
    source: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int, result: Any = None,
) -> Shape:  # fmt: skip
    """What a convolution makes; `result`, where given, must have that shape."""
    shape, kernel = sizes(source), sizes(weight)
    rank = len(shape) - 2
    if rank < 1 or len(kernel) != rank + 2 or groups <= 0 or 0 in kernel[2:]:
        raise Refused(f"{list(shape)} is not convolved with {list(kernel)}")
    stride, padding, dilation = (spread_axes(v, rank, d) for v, d in ((stride, 1), (padding, 0), (dilation, 1)))
    beyond = spread_axes(output_padding, rank, 0)
    if min(*stride, *dilation) <= 0 or min(*padding, *beyond) < 0:
        raise Refused("stride and dilation must be above 0, padding not below")
    if getattr(source, "dtype", "int64") in _NARROW and (transposed or max(dilation) > 1):
        raise Refused("of whole numbers only int64 is convolved like this")
    into, out = (kernel[0], kernel[1] * groups) if transposed else (kernel[1] * groups, kernel[0])
    if shape[1] != into or kernel[0] % groups or kernel[0] < groups:
        raise Refused(f"{shape[1]} channels in {groups} groups do not fit a weight of {list(kernel)}")
    if bias is not None and sizes(bias) != (out,):
        raise Refused(f"a bias of {list(sizes(bias))} does not fit {out} channels")
    if transposed:
        if any(more >= max(step, apart) for more, step, apart in zip(beyond, stride, dilation, strict=True)):
            raise Refused("the output padding must be smaller than stride or dilation")
        axes = zip(shape[2:], stride, padding, dilation, kernel[2:], beyond, strict=True)
        places = tuple((n - 1) * step - 2 * p + apart * (k - 1) + more + 1 for n, step, p, apart, k, more in axes)
    else:
        places = windows(shape[2:], kernel[2:], stride, padding, dilation)
    if min(places) < 0 or (transposed and min(places) < 1):
        raise Refused("nothing would be left")
    made = (shape[0], out, *places)
    if result is not None and sizes(result) != made:
        raise Refused(f"{list(sizes(result))} instead of {list(made)}")
    return made


def convolved_in_time(source: Any, weight: Any, bias: Any, border: int) -> Shape:
    shape, kernel = sizes(source), sizes(weight)
    if len(shape) != 3 or len(kernel) != 3 or shape[2] != kernel[1] or sizes(bias) != (kernel[2],):
        raise Refused("time, samples, channels and a weight of taps, channels, channels are needed")
    places = shape[0] + 2 * border - kernel[0] + 1
    if places <= 0 or border < 0:
        raise Refused(f"{kernel[0]} taps do not fit {shape[0]} steps")
    return (places, shape[1], kernel[2])


def line_of(value: Any) -> list[int]:
    """The shape of `channels, length` or `samples, channels, length` as that of pictures one element high."""
    shape = sizes(value)
    if len(shape) not in (2, 3):
        raise Refused(f"{list(shape)} are no channels with one axis")
    return [*shape[:-1], 1, shape[-1]]


def pooled(
    value: Any, rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, divisor: Any = None
) -> Shape:
    """Of a pooling; that of means takes no border of three axes for room, so it leaves `dilation` None."""
    shape = _held(value, rank)
    taps, border = spread_axes(kernel, rank), spread_axes(padding, rank, 0)
    if any(2 * width > count for width, count in zip(border, taps, strict=True)):
        raise Refused("the padding is at most half the window")
    if divisor == 0:
        raise Refused("the divisor is 0")
    if dilation is None and rank == 3 and any(k > size for k, size in zip(taps, shape[-rank:], strict=True)):
        raise Refused("a window is longer than its axis")
    return (*shape[:-rank], *windows(shape[-rank:], taps, stride, border, dilation or 1, ceil_mode))


def pooled_back(value: Any, rank: int, upstream: Any, *attributes: Any) -> Shape:
    """The shape of what was pooled; refuses an upstream gradient that pooling with these attributes does not have."""
    if pooled(value, rank, *attributes) != sizes(upstream):
        raise Refused(f"a gradient of {list(sizes(upstream))} is not that of this pooling")
    return sizes(value)


def filled_sizes(target: Any, value: Any, rank: int) -> list[int]:
    """An output size with None for the axes that stay as they are."""
    numbers = list(target) if isinstance(target, (list, tuple)) else [target] * rank
    if len(numbers) != rank or len(sizes(value)) <= rank:
        raise Refused(f"{len(numbers)} sizes for {rank} axes")
    own = sizes(value)[-rank:]
    return [had if size is None else size for size, had in zip(numbers, own, strict=True)]


def adapted(value: Any, rank: int, target: Any) -> Shape:
    shape, wanted = _held(value, rank), spread_axes(target, rank)
    if min(wanted) < 0:
        raise Refused("sizes below 0")
    return (*shape[:-rank], *wanted)


def adapted_back(value: Any, rank: int, upstream: Any) -> Shape:
    shape, given = _held(value, rank), sizes(upstream)
    if len(given) != len(shape) or given[:-rank] != shape[:-rank] or 0 in given[-rank - 1 :]:
        raise Refused(f"a gradient of {list(given)} is not that of pooling {list(shape)}")
    return shape


def fractional(value: Any, rank: int, kernel: Any, target: Any, samples: Any) -> Shape:
    shape, taps, wanted = _held(value, rank), spread_axes(kernel, rank), spread_axes(target, rank)
    axes = zip(shape[-rank:], taps, wanted, strict=True)
    spare = 1 if rank == 3 else 0
    if 0 in wanted:
        raise NotDeclared("no window at all, which not every kernel refuses")
    fits = all(count > 0 and k > 0 and count + k - 1 + spare <= size for size, k, count in axes)
    batch = shape[0] if len(shape) == rank + 2 else 1
    given = sizes(samples)
    if not fits or len(given) != 3 or given[0] < batch or given[1] < shape[-rank - 1] or given[2] != rank:
        raise Refused(f"{wanted} windows of {taps} do not fit {list(shape)} with samples of {list(given)}")
    return (*shape[:-rank], *wanted)


def unpooled(value: Any, rank: int, indices: Any, target: Any) -> Shape:
    shape, wanted = _held(value, rank), spread_axes(target, rank)
    if sizes(indices) != shape:
        raise Refused("there must be one index for each element")
    return (*shape[:-rank], *wanted)


def unpooled_size(value: Any, rank: int, kernel: Any, stride: Any, padding: Any, target: Any) -> list[int]:
    """The size that unpooling undoes a pooling to; a `target` may differ from it by less than a stride."""
    shape, taps, border = sizes(value), spread_axes(kernel, rank), spread_axes(padding, rank, 0)
    step = spread_axes(stride, rank) if stride else taps
    if len(shape) < rank:
        raise Refused("fewer axes than those that are pooled")
    plain = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(shape[-rank:], step, taps, border, strict=True)]
    if target is None:
        return plain
    wanted = list(target[2:]) if len(target) == rank + 2 else list(target)
    if len(wanted) != rank or any(abs(a - b) >= s for a, b, s in zip(wanted, plain, step, strict=True)):
        raise Refused(f"{list(target)} is not a size that was pooled to {list(shape)}")
    return wanted


def columns(value: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Shape:
    shape = _held(value, 2)
    counts = windows(shape[-2:], spread_axes(kernel, 2), stride, padding, dilation)
    return (*shape[:-3], shape[-3] * math.prod(spread_axes(kernel, 2)), math.prod(counts))


def from_columns(value: Any, target: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Shape:
    shape, wanted, taps = sizes(value), spread_axes(target, 2), math.prod(spread_axes(kernel, 2))
    if len(shape) not in (2, 3) or 0 in shape[-2:] or taps <= 0 or shape[-2] % taps:
        raise Refused(f"{list(shape)} are no columns of windows of {taps}")
    if math.prod(windows(wanted, spread_axes(kernel, 2), stride, padding, dilation)) != shape[-1]:
        raise Refused(f"{shape[-1]} windows do not make {wanted}")
    return (*shape[:-2], shape[-2] // taps, *wanted)


def padded(value: Any, padding: Sequence[int], rank: int | None = None, *, within: str = "") -> Shape:
    """With borders, those of the last axis first. `within` 'reflect': a border must be shorter than its axis."""
    shape = list(sizes(value))
    if len(padding) % 2 or len(padding) > 2 * len(shape) or (rank is not None and len(padding) != 2 * rank):
        raise Refused(f"{list(padding)} are no borders of {shape}")
    if rank is not None:
        _held(value, rank)
    for place in range(len(padding) // 2):
        axis, before, after = -1 - place, padding[2 * place], padding[2 * place + 1]
        if within == "reflect" and max(before, after) >= shape[axis]:
            raise Refused(f"a border of {max(before, after)} is not reflected from {shape[axis]} elements")
        if shape[axis] + before + after < 0 or (rank is None and shape[axis] + min(before, 0) + min(after, 0) < 0):
            raise Refused("more is cut off than there is")
        shape[axis] += before + after
    if rank is not None and max(shape[-rank:]) < 1:
        raise Refused("nothing is left")
    return tuple(shape)


def padded_back(value: Any, padding: Sequence[int], rank: int, upstream: Any, *, within: str = "") -> Shape:
    if padded(value, padding, rank, within=within) != sizes(upstream):
        raise Refused(f"a gradient of {list(sizes(upstream))} is not that of this padding")
    return sizes(value)


def resampled(value: Any, target: Any, rank: int) -> Shape:
    """`samples, channels, *target`."""
    shape, wanted = sizes(value), spread_axes(target, rank)
    if len(shape) != rank + 2 or 0 in shape[1:] or min(wanted) <= 0:
        raise Refused(f"{list(shape)} is not resampled to {wanted}")
    return (*shape[:2], *wanted)


def resampled_size(value: Any, scales: Sequence[float]) -> list[int]:
    return [int(size * scale) for size, scale in zip(sizes(value)[2:], scales, strict=True)]


def sampled(value: Any, grid: Any, rank: int) -> Shape:
    """One sample for each place of `grid`, whose last axis holds coordinates."""
    shape, places = sizes(value), sizes(grid)
    if len(shape) != rank + 2 or len(places) != rank + 2 or places[0] != shape[0] or places[-1] != rank:
        raise Refused(f"{list(shape)} has no samples at {list(places)}")
    if 0 in shape[2:]:
        raise Refused("there is nothing to sample")
    return (*shape[:2], *places[1:-1])
