"""The language of a path: sizes and shapes of a call as terms.

A term is a number or a list whose head names what it computes, so that it ships as JSON. It is compiled once into a
function of an `Instance`; where it makes no sense (an axis that is not there, shapes that do not meet) it raises
`NoValue`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from opscan.numerics.call import spatial
from opscan.numerics.overlaps import (
    adaptive_windows,
    copies,
    matmul_shape,
    overlap,
    padded_shape,
    padding_hits,
    scaled_shape,
    tapped,
)
from opscan.numerics.paths.signature import Instance, Sizes

Term = Any
"""A number, or a list such as `["per", ["numel", ["output", 0]], ["numel", ["tensor", 1]]]`."""


class NoValue(Exception):
    """The term makes no sense for this call."""


Number = Callable[[Instance], int]
Shape = Callable[[Instance], Sizes]


def shape(term: Term) -> Shape:
    """The function that `term` means, from a call to a shape."""
    return _SHAPES[term[0]](*term[1:])


def number(term: Term) -> Number:
    """The function that `term` means, from a call to a whole number."""
    if isinstance(term, int):
        return lambda _: term
    return _NUMBERS[term[0]](*term[1:])


# -- shapes ----------------------------------------------------------------------------------------------------------


def _tensor(place: int) -> Shape:
    return lambda call: call.shapes[place]


def _output(place: int) -> Shape:
    def read(call: Instance) -> Sizes:
        if place >= len(call.outputs):
            raise NoValue
        return call.outputs[place]

    return read


def _broadcast(*places: int) -> Shape:
    """The common shape of the tensors at `places`, of all where none is named."""

    def meet(call: Instance) -> Sizes:
        return common_shape([call.shapes[place] for place in places])

    def meet_all(call: Instance) -> Sizes:
        if call.common is None:
            call.common = common_shape(call.shapes)
        return call.common

    return meet if places else meet_all


def common_shape(shapes: Sequence[Sizes]) -> Sizes:
    """What the shapes broadcast to. Raises NoValue where they do not meet."""
    result = [1] * max(map(len, shapes), default=0)
    for sizes in shapes:
        offset = len(result) - len(sizes)
        for axis, size in enumerate(sizes, offset):
            if size != 1 and size != result[axis]:
                if result[axis] != 1:
                    raise NoValue
                result[axis] = size
    return tuple(result)


def _listed(name: str) -> Shape:
    def read(call: Instance) -> Sizes:
        value = call.numbers.get(name)
        return value if isinstance(value, tuple) else (value,) if isinstance(value, int) else _fail()

    return read


def _without(source: Term, name: str, keep: bool) -> Shape:
    """The shape without the axes that attribute `name` lists (all where it is None), or with 1 in their place."""
    whole = shape(source)

    def reduce(call: Instance) -> Sizes:
        sizes = whole(call)
        axes = axes_in(call, name, len(sizes))
        if keep:
            return tuple(1 if axis in axes else size for axis, size in enumerate(sizes))
        return tuple(size for axis, size in enumerate(sizes) if axis not in axes)

    return reduce


def _with_axis(source: Term, axis: int | str, size: Term) -> Shape:
    """The shape with the size of one axis replaced. `axis`: a place, or the attribute that holds it."""
    whole, new = shape(source), number(size)

    def change(call: Instance) -> Sizes:
        sizes = whole(call)
        if not sizes:
            return sizes
        place = _place(call, axis, len(sizes))
        return (*sizes[:place], new(call), *sizes[place + 1 :])

    return change


def _inserted(source: Term, axis: int | str, size: Term) -> Shape:
    """The shape with one more axis, counted as `unsqueeze` does."""
    whole, new = shape(source), number(size)

    def change(call: Instance) -> Sizes:
        sizes = whole(call)
        place = _place(call, axis, len(sizes) + 1)
        return (*sizes[:place], new(call), *sizes[place:])

    return change


def _swapped(source: Term, one: int | str, other: int | str) -> Shape:
    whole = shape(source)

    def change(call: Instance) -> Sizes:
        sizes = list(whole(call))
        first, second = _place(call, one, len(sizes)), _place(call, other, len(sizes))
        sizes[first], sizes[second] = sizes[second], sizes[first]
        return tuple(sizes)

    return change


def _permuted(source: Term, name: str) -> Shape:
    """The axes in the order that attribute `name` lists."""
    whole = shape(source)

    def change(call: Instance) -> Sizes:
        sizes = whole(call)
        order = axes_in(call, name, len(sizes))
        if sorted(order) != list(range(len(sizes))):
            raise NoValue
        return tuple([sizes[axis] for axis in order])

    return change


def _joined(source: Term, start: int, end: int, other: Term) -> Shape:
    """Axes `start` to `end` of one shape, then the other shape."""
    whole, rest = shape(source), shape(other)
    stop = None if end == 0 else end
    return lambda call: whole(call)[start:stop] + rest(call)


def _matmul(one: Term, other: Term) -> Shape:
    """The shape of a matrix product."""
    left, right = shape(one), shape(other)
    return lambda call: _there(matmul_shape(left(call), right(call)))


def _padded(source: Term, name: str) -> Shape:
    """The shape with the border that attribute `name` lists, from the last axis on."""
    whole = shape(source)
    return lambda call: _there(padded_shape(whole(call), _tuple(call, name)))


def _scaled(source: Term, name: str) -> Shape:
    """The shape with its axes from the third on multiplied by attribute `name`."""
    whole = shape(source)
    return lambda call: _there(scaled_shape(whole(call), _tuple(call, name)))


def _tuple(call: Instance, name: str) -> tuple[Any, ...]:
    value = call.numbers.get(name)
    return value if isinstance(value, tuple) else (value,) if value is not None else _fail()


def _there(value: Any) -> Any:
    return _fail() if value is None else value


def _sizes(*terms: Term) -> Shape:
    """Axis by axis."""
    parts = [number(term) for term in terms]
    return lambda call: tuple([part(call) for part in parts])


# -- numbers ---------------------------------------------------------------------------------------------------------


def _numel(source: Term) -> Number:
    whole = shape(source)
    return lambda call: math.prod(whole(call))


def _rank(source: Term) -> Number:
    whole = shape(source)
    return lambda call: len(whole(call))


def _size(source: Term, axis: int) -> Number:
    whole = shape(source)

    def read(call: Instance) -> int:
        sizes = whole(call)
        return sizes[axis] if -len(sizes) <= axis < len(sizes) else _fail()

    return read


def _along(source: Term, name: str) -> Number:
    """The product of the sizes on the axes that attribute `name` lists; of all where it lists none."""
    whole = shape(source)

    def multiply(call: Instance) -> int:
        sizes = whole(call)
        return math.prod(sizes[axis] for axis in axes_in(call, name, len(sizes)))

    return multiply


def _value(name: str) -> Number:
    def read(call: Instance) -> int:
        value = call.numbers.get(name)
        return value if type(value) is int else _fail()

    return read


def _item(name: str, place: int) -> Number:
    def read(call: Instance) -> int:
        value = call.numbers.get(name)
        if type(value) is int:
            return value
        if not isinstance(value, tuple) or not -len(value) <= place < len(value):
            raise NoValue
        chosen = value[place]
        return chosen if type(chosen) is int else _fail()

    return read


def _per(total: Term, part: Term) -> Number:
    """How many times `part` is in `total`, rounded up; 0 where `part` is nothing."""
    above, below = number(total), number(part)

    return lambda call: share(above(call), below(call))


def share(total: int, part: int) -> int:
    """How many times `part` is in `total`, rounded up; 0 where `part` is nothing."""
    return -(-total // part) if part > 0 else 0


def _times(*factors: Term) -> Number:
    parts = [number(factor) for factor in factors]
    return lambda call: math.prod([part(call) for part in parts])


def _plus(*terms: Term) -> Number:
    parts = [number(term) for term in terms]
    return lambda call: sum([part(call) for part in parts])


def _most(*terms: Term) -> Number:
    """The largest: of two sums, one of rounded values, only the longer counts."""
    parts = [number(term) for term in terms]
    return lambda call: max([part(call) for part in parts])


def _border(source: Term, name: str, reflect: bool) -> Number:
    """How often the most copied element appears in the border that attribute `name` lists, and inside it."""
    whole = shape(source)

    def count(call: Instance) -> int:
        sizes, padding = whole(call), _tuple(call, name)
        if len(padding) > 2 * len(sizes):
            raise NoValue
        return padding_hits(sizes, padding, reflect=reflect)

    return count


def _resampled(taps: int, name: str) -> Number:
    """How many places of the first output can read one element of the first tensor: `taps` a place, 0 for copies.

    `name`: the attribute with the scale of each axis, or "".
    """

    def count(call: Instance) -> int:
        if not call.outputs or len(call.outputs[0]) != len(call.shapes[0]) or len(call.shapes[0]) < 3:
            raise NoValue
        space = list(zip(call.outputs[0][2:], call.shapes[0][2:], strict=True))
        if taps:
            return math.prod(tapped(given, size, taps) for given, size in space)
        scales = _tuple(call, name) if name else (None,)
        each = scales * len(space) if len(scales) == 1 else scales
        return math.prod(copies(given, size, scale) for (given, size), scale in zip(space, each, strict=True))

    return count


def _windows(size: Term, kernel: Term, stride: Term, padding: Term, dilation: Term, up: bool) -> Number:
    """How many windows fit on an axis; with `up` the last may hang over its end."""
    n, k, s, p, d = map(number, (size, kernel, stride, padding, dilation))

    def count(call: Instance) -> int:
        step = s(call)
        if step <= 0:
            raise NoValue
        room = n(call) + 2 * p(call) - d(call) * (k(call) - 1) - 1
        if not up:
            return room // step + 1
        whole = -(-room // step) + 1
        return whole if (whole - 1) * step < n(call) + p(call) else whole - 1

    return count


def _unwound(size: Term, kernel: Term, stride: Term, padding: Term, dilation: Term, extra: Term) -> Number:
    """How long the axis is that a transposed convolution makes of `size` windows."""
    n, k, s, p, d, e = map(number, (size, kernel, stride, padding, dilation, extra))
    return lambda c: (n(c) - 1) * s(c) - 2 * p(c) + d(c) * (k(c) - 1) + e(c) + 1


def _overlap(rank: int) -> Number:
    """How many pooling windows can cover one element, from `kernel_size`, `stride`, `dilation` and the first output."""

    def count(call: Instance) -> int:
        given = call.numbers
        if "kernel_size" not in given or not call.outputs or len(call.outputs[0]) < rank:
            raise NoValue
        kernel = spatial(given["kernel_size"], rank)
        stride = spatial(given.get("stride", kernel), rank)
        dilation = spatial(given.get("dilation"), rank)
        if min(stride) <= 0 or {len(kernel), len(stride), len(dilation)} != {rank}:
            raise NoValue
        return overlap(kernel, stride, dilation, call.outputs[0][-rank:])

    return count


def _adaptive(rank: int, which: int) -> Number:
    """Of adaptive pooling: the largest window (`which` 0), or the most windows over one element (1)."""

    def count(call: Instance) -> int:
        if not call.outputs or min(len(call.outputs[0]), len(call.shapes[0])) < rank:
            raise NoValue
        return adaptive_windows(call.shapes[0][-rank:], call.outputs[0][-rank:])[which]

    return count


# -- attributes that name axes ---------------------------------------------------------------------------------------


def axes_in(call: Instance, name: str, rank: int) -> tuple[int, ...]:
    value = call.numbers.get(name)
    if value is None or value == ():
        return tuple(range(rank))
    listed = value if isinstance(value, tuple) else (value,)
    if not all(type(axis) is int and -max(rank, 1) <= axis < max(rank, 1) for axis in listed):
        raise NoValue
    return tuple(axis % rank for axis in listed) if rank else ()


def _place(call: Instance, axis: int | str, rank: int) -> int:
    value = call.numbers.get(axis) if isinstance(axis, str) else axis
    if type(value) is not int or not -rank <= value < rank:
        raise NoValue
    return value % rank


def _fail() -> Any:
    raise NoValue


_SHAPES: dict[str, Callable[..., Shape]] = {
    "tensor": _tensor,
    "output": _output,
    "broadcast": _broadcast,
    "listed": _listed,
    "without": _without,
    "with": _with_axis,
    "inserted": _inserted,
    "swapped": _swapped,
    "permuted": _permuted,
    "joined": _joined,
    "matmul": _matmul,
    "padded": _padded,
    "scaled": _scaled,
    "sizes": _sizes,
}
_NUMBERS: dict[str, Callable[..., Number]] = {
    "numel": _numel,
    "rank": _rank,
    "size": _size,
    "along": _along,
    "value": _value,
    "item": _item,
    "per": _per,
    "times": _times,
    "plus": _plus,
    "most": _most,
    "border": _border,
    "resampled": _resampled,
    "windows": _windows,
    "unwound": _unwound,
    "overlap": _overlap,
    "adaptive": _adaptive,
}
