"""Shapes of views, joins and their parts, as entries of `catalog/steps/` name them.

Each raises Refused where torch would refuse the sizes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from opscan.numerics.bits import CONST
from opscan.numerics.declared.shapes import axis_of, inserted, reshaped, resized_axis, sizes, swapped, without
from opscan.numerics.declared.values import NotDeclared, Refused, Tensor
from opscan.numerics.facts import Facts

__all__ = [
    "block_diagonal", "borders", "chunk_sizes", "chunks_joined", "diagonal_of", "embedded_diagonal", "flattened",
    "has_repeats", "parts", "pixel_shuffled", "pixel_unshuffled", "places_seen", "rolled", "rotated",
    "selected", "span", "split_sizes", "stacked", "strided", "unflattened", "unfolded",
]  # fmt: skip

Shape = tuple[int, ...]
_MOST_PLACES = 1 << 16


def flattened(value: Any, start: int, end: int) -> Shape:
    """With the axes from `start` to `end` in one; of a tensor without axes, one axis."""
    shape = sizes(value)
    first, last = axis_of(start, len(shape)), axis_of(end, len(shape))
    if first > last:
        raise Refused("the first axis to flatten comes after the last")
    return (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])


def unflattened(value: Any, axis: int, target: Sequence[int]) -> Shape:
    """With one axis cut into axes of these sizes."""
    shape = sizes(value)
    axis = axis_of(axis, len(shape))
    if not target or not shape:
        raise Refused("an axis is unflattened into at least one")
    return (*shape[:axis], *reshaped((shape[axis],), target), *shape[axis + 1 :])


def selected(value: Any, axis: int, index: int) -> Shape:
    """Without the axis on which one element is picked."""
    shape = sizes(value)
    if not shape:
        raise Refused("nothing is selected from a tensor without axes")
    size = shape[axis_of(axis, len(shape))]
    if not -size <= index < size:
        raise Refused(f"there is no element {index} among {size}")
    return without(shape, axis)


def span(value: Any, axis: int, start: int, length: int) -> int:
    """Where `narrow` starts, counted from the front."""
    shape = sizes(value)
    if not shape:
        raise Refused("a tensor without axes is not narrowed")
    size = shape[axis_of(axis, len(shape))]
    first = start + size if start < 0 else start
    if length < 0 or not -size <= start <= size or first + length > size:
        raise Refused(f"there are no {length} elements from {start} on among {size}")
    return first


def _two_axes(first: int, second: int, rank: int) -> tuple[int, int]:
    first, second = axis_of(first, rank), axis_of(second, rank)
    if first == second:
        raise Refused("the two axes of a diagonal are the same")
    return first, second


def diagonal_of(value: Any, offset: int, first: int, second: int) -> Shape:
    """With the diagonal of two axes as the last axis."""
    shape = sizes(value)
    first, second = _two_axes(first, second, len(shape))
    rows, columns = shape[first] - max(-offset, 0), shape[second] - max(offset, 0)
    rest = tuple(size for axis, size in enumerate(shape) if axis not in (first, second))
    return (*rest, max(min(rows, columns), 0))


def embedded_diagonal(value: Any, offset: int, first: int, second: int) -> Shape:
    """With the last axis as a diagonal of two new ones."""
    shape = sizes(value)
    if not shape:
        raise Refused("a tensor without axes is no diagonal")
    low, high = sorted(_two_axes(first, second, len(shape) + 1))
    side = shape[-1] + abs(offset)
    return inserted(inserted(shape[:-1], low, side), high, side)


def unfolded(value: Any, axis: int, size: int, step: int) -> Shape:
    """Windows of `size` elements, `step` apart, as the last axis."""
    shape = sizes(value) or (1,)
    axis = axis_of(axis, len(shape))
    if size < 0 or step <= 0 or size > shape[axis]:
        raise Refused(f"windows of {size} elements, {step} apart, do not fit {shape[axis]}")
    if not sizes(value):
        return (size,)
    return (*resized_axis(shape, axis, (shape[axis] - size) // step + 1), size)


# -- parts -------------------------------------------------------------------------------------------------------------


def parts(value: Any, axis: int, lengths: Sequence[int]) -> list[Shape]:
    """Of consecutive parts with these lengths."""
    shape = sizes(value)
    axis = axis_of(axis, len(shape))
    if not shape or min(lengths, default=0) < 0 or sum(lengths) != shape[axis]:
        raise Refused(f"lengths {list(lengths)} do not add up to the size of axis {axis} of {list(shape)}")
    return [resized_axis(shape, axis, length) for length in lengths]


def split_sizes(value: Any, length: int, axis: int) -> list[int]:
    """The lengths of parts of `length`, the last one shorter."""
    shape = sizes(value)
    if not shape:
        raise Refused("a tensor without axes is not split")
    size = shape[axis_of(axis, len(shape))]
    if length < 0 or (length == 0 and size > 0):
        raise Refused(f"parts of {length} elements")
    if size == 0:
        return [0]
    return [min(length, size - start) for start in range(0, size, length)]


def chunk_sizes(value: Any, chunks: int, axis: int) -> list[int]:
    """The lengths of at most `chunks` parts."""
    shape = sizes(value)
    if not shape or chunks <= 0:
        raise Refused("a tensor with axes is cut into at least one chunk")
    size = shape[axis_of(axis, len(shape))]
    return [0] * chunks if size == 0 else split_sizes(shape, -(-size // chunks), axis)


def borders(value: Any, axis: int, sections: Any) -> list[tuple[int, int]]:
    """The spans of the parts that `tensor_split` makes, of a number of parts or of the places to cut."""
    shape = sizes(value)
    if not shape:
        raise Refused("a tensor without axes is not split")
    size = shape[axis_of(axis, len(shape))]
    if isinstance(sections, (list, tuple)):
        return list(pairwise([0, *sections, size]))
    if not isinstance(sections, int) or sections <= 0:
        raise Refused(f"{sections} parts")
    lengths = [size // sections + (part < size % sections) for part in range(sections)]
    return list(pairwise(accumulate(lengths, initial=0)))


def stacked(tensors: Sequence[Any], axis: int) -> Shape:
    """Tensors of one shape, side by side along a new axis."""
    shapes = {sizes(tensor) for tensor in tensors}
    if len(shapes) != 1:
        raise Refused("at least one tensor is stacked, and all have the same shape")
    return inserted(shapes.pop(), axis, len(tensors))


def block_diagonal(tensors: Sequence[Any]) -> Shape:
    """The height and the width of the blocks together."""
    shapes = [(1,) * (2 - len(sizes(tensor))) + sizes(tensor) for tensor in tensors]
    if any(len(shape) > 2 for shape in shapes):
        raise Refused("a block has at most 2 axes")
    return sum(height for height, _ in shapes), sum(width for _, width in shapes)


def chunks_joined(tensors: Sequence[Any], axis: int, chunks: int) -> Shape:
    """Tensors cut into chunks along an axis, filled up with zeros to equal ones; the first ones joined, and so on."""
    shapes = [sizes(tensor) for tensor in tensors]
    axis = axis_of(axis, min(map(len, shapes), default=0))
    if chunks < 1 or len({shape[:axis] for shape in shapes}) != 1 or any(0 in shape for shape in shapes):
        raise Refused("at least one chunk of tensors with elements, alike up to the axis")
    lengths = [-(-shape[axis] // chunks) * math.prod(shape[axis + 1 :]) for shape in shapes]
    return (*shapes[0][:axis], chunks, sum(lengths))


# -- elements in other places ------------------------------------------------------------------------------------------


def rolled(value: Any, shifts: Sequence[int], axes: Sequence[int]) -> Shape:
    """Its own; a shift for each axis, or one for all elements in a row."""
    shape = sizes(value)
    if math.prod(shape):
        if len(shifts) != (len(axes) or 1):
            raise Refused(f"{len(shifts)} shifts for {len(axes)} axes")
        for axis in axes:
            axis_of(axis, len(shape))
    return shape


def rotated(value: Any, turns: int, axes: Sequence[int]) -> Shape:
    """The two axes change places after an odd number of turns."""
    shape = sizes(value)
    if len(axes) != 2 or len(shape) < 2:
        raise Refused("a rotation needs two axes")
    first, second = (axis_of(axis, len(shape)) for axis in axes)
    if first == second:
        raise Refused("a rotation needs two axes that differ")
    return swapped(shape, first, second) if turns % 2 else shape


def pixel_shuffled(value: Any, factor: int) -> Shape:
    """Channels made into pixels."""
    shape = sizes(value)
    if len(shape) < 3 or factor <= 0 or shape[-3] % factor**2:
        raise Refused(f"{list(shape)} has no channels for pixels of {factor} x {factor}")
    return (*shape[:-3], shape[-3] // factor**2, shape[-2] * factor, shape[-1] * factor)


def pixel_unshuffled(value: Any, factor: int) -> Shape:
    """Pixels made into channels."""
    shape = sizes(value)
    if len(shape) < 3 or factor <= 0 or shape[-2] % factor or shape[-1] % factor:
        raise Refused(f"{list(shape)} is not cut into pixels of {factor} x {factor}")
    return (*shape[:-3], shape[-3] * factor**2, shape[-2] // factor, shape[-1] // factor)


def strided(value: Any, size: Sequence[int], stride: Sequence[int], offset: int | None) -> Shape:
    """`size`, where all that it looks at lies in a contiguous tensor."""
    if len(size) != len(stride) or min((*size, *stride, offset or 0), default=0) < 0:
        raise Refused("sizes and strides must be as many, and none below 0")
    last = (offset or 0) + sum((count - 1) * step for count, step in zip(size, stride, strict=True))
    if 0 not in size and last >= math.prod(sizes(value)):
        raise Refused(f"a tensor of {math.prod(sizes(value))} elements has none at {last}")
    return tuple(size)


def places_seen(size: Sequence[int], stride: Sequence[int]) -> Tensor:
    """The places of the elements that a strided look shows, each as often as it is seen."""
    seen = Counter({0: 1})
    for count, step in zip(size, stride, strict=True):
        further: Counter[int] = Counter()
        for place, met in seen.items():
            for moved in range(count):
                further[place + moved * step] += met
        seen = further
        if len(seen) > _MOST_PLACES:
            raise NotDeclared("a strided look at so many elements is not counted through")
    return Tensor((math.prod(size),), "int64", CONST, Facts(repeats=max(seen.values(), default=0)))


def has_repeats(indices: Tensor) -> bool:
    """Whether one index is known to occur more than once."""
    return indices.facts.repeats > 1
