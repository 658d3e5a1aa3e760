"""Shapes that entries of `catalog/steps/` name: sizes of results from sizes of inputs and attributes.

Each raises Refused where torch would refuse the sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opscan.numerics.declared.values import Refused, Tensor

__all__ = [
    "axes_of", "axis_of", "broadcast", "cat_shape", "expanded", "inserted", "matrix_product",
    "moved", "numel", "permuted", "reduced", "repeated", "reshaped", "resized_axis", "sizes", "sliced",
    "spread_axes", "squeezed", "swapped", "windows", "without",
]  # fmt: skip

Shape = tuple[int, ...]


def sizes(value: Any) -> Shape:
    """The shape of a tensor, or sizes as they are."""
    return value.shape if isinstance(value, Tensor) else tuple(value)


def numel(value: Any) -> int:
    return math.prod(sizes(value))


def broadcast(*values: Any) -> Shape:
    """The shape that tensors, sizes and numbers have together; numbers and None count for nothing."""
    shapes = [sizes(value) for value in values if isinstance(value, (Tensor, list, tuple))]
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            if size != 1:
                if result[axis] not in (1, size):
                    raise Refused(f"shapes {' and '.join(str(list(s)) for s in shapes)} do not broadcast")
                result[axis] = size
    return tuple(result)


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front; a tensor without axes has one for this."""
    if not -max(rank, 1) <= axis < max(rank, 1):
        raise Refused(f"there is no axis {axis} among {rank}")
    return axis % max(rank, 1)


def axes_of(axes: Any, rank: int) -> list[int]:
    """Axes counted from the front; all of them for None and for an empty list."""
    if axes is None or (isinstance(axes, (list, tuple)) and not axes):
        return list(range(rank))
    found = [axis_of(axis, rank) for axis in (axes if isinstance(axes, (list, tuple)) else [axes])]
    if len(set(found)) < len(found):
        raise Refused("an axis is named twice")
    return found


def reduced(value: Any, axes: Any = None, keepdim: Any = False) -> Shape:
    """Without the reduced axes, or with 1 in their place."""
    shape = sizes(value)
    gone = set(axes_of(axes, len(shape)))
    return tuple(1 if axis in gone else size for axis, size in enumerate(shape) if keepdim or axis not in gone)


def without(value: Any, axis: int) -> Shape:
    shape = sizes(value)
    axis = axis_of(axis, len(shape))
    return shape[:axis] + shape[axis + 1 :]


def inserted(value: Any, axis: int, size: int = 1) -> Shape:
    """With one axis more; `axis` counts among those of the result."""
    shape = sizes(value)
    axis = axis_of(axis, len(shape) + 1)
    return (*shape[:axis], size, *shape[axis:])


def resized_axis(value: Any, axis: int, size: int) -> Shape:
    shape = sizes(value)
    if not shape:
        return shape
    axis = axis_of(axis, len(shape))
    return (*shape[:axis], size, *shape[axis + 1 :])


def swapped(value: Any, first: int, second: int) -> Shape:
    shape = list(sizes(value))
    first, second = axis_of(first, len(shape)), axis_of(second, len(shape))
    if shape:
        shape[first], shape[second] = shape[second], shape[first]
    return tuple(shape)


def permuted(value: Any, axes: Sequence[int]) -> Shape:
    shape = sizes(value)
    if len(axes) != len(shape):
        raise Refused(f"{len(axes)} axes are named for {len(shape)}")
    return tuple(shape[axis] for axis in axes_of(axes, len(shape))) if shape else ()


def moved(rank: int, source: Sequence[int], target: Sequence[int]) -> list[int]:
    """The permutation that movedim makes."""
    if len(source) != len(target):
        raise Refused("as many axes must be moved as there are places for them")
    gone = axes_of(source, rank) if source else []
    places = axes_of(target, rank) if target else []
    order = [-1] * rank
    for axis, place in zip(gone, places, strict=True):
        order[place] = axis
    rest = iter(axis for axis in range(rank) if axis not in gone)
    return [next(rest) if axis < 0 else axis for axis in order]


def reshaped(value: Any, target: Sequence[int]) -> Shape:
    """`target` with the one size of -1 filled in."""
    total, wanted = numel(value), list(target)
    open_axes = [axis for axis, size in enumerate(wanted) if size == -1]
    known = math.prod(size for size in wanted if size != -1)
    if len(open_axes) > 1 or any(size < -1 for size in wanted):
        raise Refused(f"{wanted} are no sizes")
    if open_axes:
        if known == 0 or total % known:
            raise Refused(f"{total} elements do not fit {wanted}")
        wanted[open_axes[0]] = total // known
    elif known != total:
        raise Refused(f"{total} elements do not fit {wanted}")
    return tuple(wanted)


def expanded(value: Any, target: Sequence[int]) -> Shape:
    """`target` with -1 for the size that is there."""
    shape = sizes(value)
    lead = len(target) - len(shape)
    if lead < 0 or any(size < 0 for size in target[:lead]) or any(size < -1 for size in target):
        raise Refused(f"{list(shape)} cannot be expanded to {list(target)}")
    found = [*target[:lead], *(had if size == -1 else size for size, had in zip(target[lead:], shape, strict=True))]
    if any(had not in (1, size) for size, had in zip(found[lead:], shape, strict=True)):
        raise Refused(f"{list(shape)} cannot be expanded to {list(target)}")
    return tuple(found)


def squeezed(value: Any, axes: Any = None) -> Shape:
    shape = sizes(value)
    gone = range(len(shape)) if axes is None else (axes_of(axes, len(shape)) if axes != [] else [])
    return tuple(size for axis, size in enumerate(shape) if axis not in gone or size != 1)


def repeated(value: Any, repeats: Sequence[int]) -> Shape:
    shape = sizes(value)
    lead = len(repeats) - len(shape)
    if lead < 0 or any(count < 0 for count in repeats):
        raise Refused(f"{list(repeats)} are no repeats of {list(shape)}")
    return tuple(count * size for count, size in zip(repeats, (1,) * lead + shape, strict=True))


def cat_shape(tensors: Sequence[Any], axis: int) -> Shape:
    """Sizes must agree but along `axis`; tensors of shape [0] are left out, as torch does."""
    shapes = [sizes(tensor) for tensor in tensors]
    counted = [shape for shape in shapes if shape != (0,)] or shapes[:1]
    if not counted or any(not shape for shape in shapes):
        raise Refused("only tensors with axes can be joined, and at least one")
    axis = axis_of(axis, len(counted[0]))
    if len({shape[:axis] + shape[axis + 1 :] for shape in counted}) > 1 or len(set(map(len, counted))) > 1:
        raise Refused(f"sizes must agree but along axis {axis}")
    return resized_axis(counted[0], axis, sum(shape[axis] for shape in counted))


def matrix_product(left: Any, right: Any, rank: int) -> Shape:
    """Of two matrices (`rank` 2), or of two batches of them with equal sizes (3)."""
    first, second = sizes(left), sizes(right)
    if len(first) != rank or len(second) != rank or first[-1] != second[-2] or first[:-2] != second[:-2]:
        raise Refused(f"{list(first)} and {list(second)} are not multiplied")
    return (*first[:-1], second[-1])


def sliced(value: Any, axis: int, start: Any, end: Any, step: int) -> Shape:
    shape = sizes(value)
    if not shape or step <= 0:
        raise Refused("a slice needs an axis and a step above 0")
    axis = axis_of(axis, len(shape))
    return resized_axis(shape, axis, len(range(*slice(start, end, step).indices(shape[axis]))))


def spread_axes(value: Any, rank: int, default: int = 1) -> list[int]:
    """An attribute such as `stride`: one number for each of `rank` axes. Raises Refused for another count."""
    if value is None or (isinstance(value, (list, tuple)) and not value):
        return [default] * rank
    numbers = list(value) if isinstance(value, (list, tuple)) else [value]
    numbers = numbers * rank if len(numbers) == 1 else numbers
    if len(numbers) != rank:
        raise Refused(f"{len(numbers)} numbers for {rank} axes")
    return numbers


def windows(
    spatial: Sequence[int], kernel: Any, stride: Any, padding: Any = 0, dilation: Any = 1, ceil_mode: Any = False
) -> Shape:
    """How many windows fit along each axis of pooling, convolution and unfolding."""
    rank = len(spatial)
    absent = stride is None or (isinstance(stride, (list, tuple)) and not stride)
    kernel, padding, dilation = (spread_axes(v, rank, d) for v, d in ((kernel, 1), (padding, 0), (dilation, 1)))
    stride = kernel if absent else spread_axes(stride, rank)
    counts = []
    for size, taps, step, border, apart in zip(spatial, kernel, stride, padding, dilation, strict=True):
        if min(taps, step, apart) <= 0 or border < 0:
            raise Refused("kernel, stride and dilation must be above 0, padding not below")
        room = size + 2 * border - apart * (taps - 1) - 1
        count = (room + (step - 1 if ceil_mode else 0)) // step + 1
        if ceil_mode and (count - 1) * step >= size + border:
            count -= 1
        if count < 1 or (room < 0 and not ceil_mode):
            raise Refused(f"a window of {taps} does not fit {size}")
        counts.append(count)
    return tuple(counts)
