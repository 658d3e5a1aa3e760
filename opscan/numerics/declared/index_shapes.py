"""Shapes of what is read and written at indices, and of what is ordered, as entries of `catalog/steps/` name them.

Each raises Refused where torch would refuse the sizes or the dtypes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opscan.numerics.declared.shapes import axes_of, axis_of, broadcast, numel, reduced, resized_axis, sizes
from opscan.numerics.declared.values import NotDeclared, Refused, Tensor

__all__ = [
    "bags", "embedded", "extremes", "filling", "gathered", "index_filled", "index_selected", "index_written",
    "indexed", "indices_written", "put_shape", "ranked", "real_only", "restored", "scattered", "search_shape",
    "segments", "taken_along",
]  # fmt: skip

Shape = tuple[int, ...]


def _same_dtype(first: Tensor, second: Any) -> None:
    if isinstance(second, Tensor) and first.dtype != second.dtype:
        raise Refused(f"{second.dtype} is not written into {first.dtype}")


def indexed(value: Tensor, indices: Sequence[Tensor | None]) -> Shape:
    """Of `value[indices]`: the axes of the indices stand where they are named side by side, else in front."""
    if len(indices) > value.ndim:
        raise Refused(f"{len(indices)} indices for {value.ndim} axes")
    named = [axis for axis, index in enumerate(indices) if index is not None]
    given = [index for index in indices if index is not None]
    for index in given:
        if index.dtype in ("bool", "uint8"):
            raise NotDeclared("how many elements a mask chooses depends on its values")
        if index.dtype not in ("int64", "int32"):
            raise Refused(f"an index is a whole number or a mask, not {index.dtype}")
    if not named:
        raise Refused("at least one index is needed")
    chosen = broadcast(*given)
    rest = [size for axis, size in enumerate(value.shape) if axis not in named]
    adjacent = named == list(range(named[0], named[0] + len(named)))
    place = named[0] if adjacent else 0
    return (*rest[:place], *chosen, *rest[place:])


def indices_written(value: Tensor, indices: Sequence[Tensor | None], written: Tensor) -> Shape:
    """Of a tensor into which is written at indices; one number is written wherever a mask says so."""
    _same_dtype(value, written)
    masked = any(index is not None and index.dtype in ("bool", "uint8") for index in indices)
    if not (masked and written.numel() == 1):
        chosen = indexed(value, indices)
        if broadcast(written, chosen) != chosen:
            raise Refused(f"{list(written.shape)} is not written into {list(chosen)}")
    return value.shape


def _along(value: Any, axis: int) -> tuple[Shape, int]:
    """The shape and the axis; a tensor without axes counts as one of a single element."""
    shape = sizes(value)
    return shape or (1,), axis_of(axis, len(shape))


def index_selected(value: Tensor, axis: int, index: Tensor) -> Shape:
    """As many elements along an axis as there are indices."""
    if index.ndim > 1 or (not value.shape and index.numel() != 1):
        raise Refused("the indices must have one axis, and be one for a tensor without axes")
    axis_of(axis, value.ndim)
    return resized_axis(value, axis, index.numel())


def index_written(value: Tensor, axis: int, index: Tensor, written: Any = None) -> Shape:
    """Of a tensor into whose axis is written at the indices, one slice of `written` for each."""
    shape, place = _along(value, axis)
    _same_dtype(value, written)
    if index.ndim > 1:
        raise Refused("the indices must have one axis")
    if isinstance(written, Tensor):
        given = _along(written, axis)[0] if written.ndim or not value.ndim else (1,)
        if len(given) == len(shape) and given[:place] + given[place + 1 :] != shape[:place] + shape[place + 1 :]:
            raise Refused(f"{list(given)} is not written into {list(shape)} along axis {place}")
        if len(given) != len(shape) and written.ndim:
            raise Refused(f"{list(given)} is not written into {list(shape)}")
        if (given[place] if len(given) == len(shape) else 1) != index.numel():
            raise Refused(f"{index.numel()} indices for {list(given)}")
    return value.shape


def filling(value: Tensor, number: Any) -> Any:
    """The number that fills a tensor, or a tensor without axes that holds it."""
    if isinstance(number, Tensor) and number.ndim:
        raise Refused("what fills a tensor has no axes")
    if isinstance(number, complex) and not value.is_complex():
        raise Refused(f"a complex number does not fill {value.dtype}")
    return number


def index_filled(value: Tensor, axis: int, index: Tensor, number: Any) -> Shape:
    """Of a tensor along whose axis one number is written at the indices."""
    filling(value, number)
    return index_written(value, axis, index)


def real_only(gradient: Tensor) -> Tensor:
    """A gradient that PyTorch does not implement for complex numbers."""
    if gradient.is_complex():
        raise Refused("it has no gradient for complex numbers")
    return gradient


def _must_count(index: Tensor) -> None:
    """Of no index at all the dtype does not matter."""
    if index.numel() and index.dtype not in ("int64", "int32"):
        raise Refused(f"an index is int64 or int32, not {index.dtype}")


def gathered(value: Tensor, axis: int, index: Tensor) -> Shape:
    """The shape of the indices, which reach no further than the tensor but along the axis."""
    _must_count(index)
    shape, place = _along(value, axis)
    found = index.shape or (1,)
    if index.numel() and _reaches_out(found, shape, place):
        raise Refused(f"indices of {list(found)} for {list(shape)} along axis {place}")
    return index.shape


def scattered(value: Tensor, axis: int, index: Tensor, written: Any) -> Shape:
    """Of a tensor into which is written at indices, which reach no further than it and than what is written."""
    _must_count(index)
    _same_dtype(value, written)
    shape, place = _along(value, axis)
    found = index.shape or (1,)
    if index.numel():
        beyond = isinstance(written, Tensor) and _reaches_out(found, written.shape or (1,), -1)
        if beyond or _reaches_out(found, shape, place):
            raise Refused(f"indices of {list(found)} for {list(shape)} along axis {place}")
    return value.shape


def _reaches_out(index: Shape, shape: Shape, but: int) -> bool:
    if len(index) != len(shape):
        return True
    return any(axis != but and size > had for axis, (size, had) in enumerate(zip(index, shape, strict=True)))


def put_shape(value: Tensor, index: Tensor, written: Tensor) -> Shape:
    """Of a tensor into which is written at places of its elements, counted through."""
    _same_dtype(value, written)
    if index.numel() != written.numel():
        raise Refused(f"{index.numel()} indices for {written.numel()} elements")
    return value.shape


def taken_along(value: Any, other: Any, axis: int) -> Shape:
    """`value` broadcast against the other but along the axis."""
    shape, against = sizes(value), sizes(other)
    if len(shape) != len(against):
        raise Refused(f"{len(against)} axes for {len(shape)}")
    axis = axis_of(axis, len(shape))
    return resized_axis(broadcast(resized_axis(shape, axis, 1), resized_axis(against, axis, 1)), axis, shape[axis])


def embedded(weight: Tensor, indices: Tensor) -> Shape:
    """One row of the weight for each index."""
    if weight.ndim != 2:
        raise Refused("the weight of an embedding is a matrix")
    return (*indices.shape, weight.shape[1])


def bags(weight: Tensor, indices: Tensor, offsets: Tensor, factors: Tensor | None, closed: bool) -> list[Shape]:
    """Of the combined rows and of the bag, the size and the largest element of each; `closed`: the last offset ends."""
    if indices.dtype != offsets.dtype or indices.ndim != 1 or offsets.ndim != 1 or weight.ndim != 2:
        raise Refused("indices and offsets have one axis and the same dtype, the weight two axes")
    if factors is not None:
        _same_dtype(weight, factors)
    count = offsets.numel() - bool(closed)
    if count < 0:
        raise Refused("without offsets there is no last one")
    return [(count, weight.shape[1]), indices.shape, (count,), (count,)]


def segments(data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int) -> Shape:
    """As many elements along an axis as there are segments, each of its length or between two offsets."""
    given = lengths if lengths is not None else offsets
    if given is None or data.ndim == 0:
        raise Refused("segments have lengths or offsets")
    axis = axis_of(axis, data.ndim)
    count = given.shape[-1] - (lengths is None) if given.ndim else -1
    if given.shape[:-1] != data.shape[:axis] or count < 0:
        raise Refused(f"segments of {list(given.shape)} for {list(data.shape)} along axis {axis}")
    return resized_axis(data, axis, count)


# -- order -------------------------------------------------------------------------------------------------------------


def extremes(value: Tensor, axes: Any = None, keepdim: Any = False) -> Shape:
    """Reduced over axes none of which is empty: there is no largest of no elements."""
    shape = value.shape
    named = axes_of(axes, len(shape))
    if any(shape[axis] == 0 for axis in named if shape) and (axes not in (None, []) or not numel(shape)):
        raise Refused("nothing is largest or smallest among no elements")
    return reduced(value, axes, keepdim)


def restored(value: Any, axes: Sequence[int], keepdim: Any) -> Shape:
    """With 1 in the places of reduced axes, where they were not kept."""
    shape = list(sizes(value))
    if keepdim:
        return tuple(shape)
    rank = len(shape) + len(axes)
    for axis in sorted(axis_of(axis, rank) for axis in axes):
        shape.insert(axis, 1)
    return tuple(shape)


def ranked(value: Tensor, count: int, axis: int) -> int:
    """`count`, where it is one of the places along the axis."""
    shape, place = _along(value, axis)
    if not 0 <= count <= shape[place]:
        raise Refused(f"there is no place {count} among {shape[place]}")
    return count


def search_shape(sequence: Tensor, value: Any, sorter: Any = None) -> Shape:
    """Of the places of values in one sorted sequence, or in one for each row."""
    if not sequence.ndim or (isinstance(sorter, Tensor) and sorter.shape != sequence.shape):
        raise Refused("what is searched has at least one axis, and a sorter the same sizes")
    if not isinstance(value, Tensor):
        if sequence.ndim != 1:
            raise Refused("a number is searched for in one sequence")
        return ()
    _same_dtype(sequence, value)
    if sequence.ndim > 1 and sequence.shape[:-1] != value.shape[:-1]:
        raise Refused(f"{list(value.shape)} is not searched for in {list(sequence.shape)}")
    return value.shape
