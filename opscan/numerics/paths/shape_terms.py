"""Terms that are shapes: of tensors and outputs, and what operators make of them."""

from __future__ import annotations

from collections.abc import Callable

from opscan.numerics.overlaps import matmul_shape, padded_shape, scaled_shape
from opscan.numerics.paths.signature import Instance, Sizes
from opscan.numerics.paths.terms import (
    NoValue,
    Shape,
    Term,
    axes_in,
    common_shape,
    listed,
    no_value,
    number,
    place_of,
    shape,
    there,
)


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


def _listed(name: str) -> Shape:
    def read(call: Instance) -> Sizes:
        value = call.numbers.get(name)
        return value if isinstance(value, tuple) else (value,) if isinstance(value, int) else no_value()

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
        place = place_of(call, axis, len(sizes))
        return (*sizes[:place], new(call), *sizes[place + 1 :])

    return change


def _inserted(source: Term, axis: int | str, size: Term) -> Shape:
    """The shape with one more axis, counted as `unsqueeze` does."""
    whole, new = shape(source), number(size)

    def change(call: Instance) -> Sizes:
        sizes = whole(call)
        place = place_of(call, axis, len(sizes) + 1)
        return (*sizes[:place], new(call), *sizes[place:])

    return change


def _swapped(source: Term, one: int | str, other: int | str) -> Shape:
    whole = shape(source)

    def change(call: Instance) -> Sizes:
        sizes = list(whole(call))
        first, second = place_of(call, one, len(sizes)), place_of(call, other, len(sizes))
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
    return lambda call: there(matmul_shape(left(call), right(call)))


def _padded(source: Term, name: str) -> Shape:
    """The shape with the border that attribute `name` lists, from the last axis on."""
    whole = shape(source)
    return lambda call: there(padded_shape(whole(call), listed(call, name)))


def _scaled(source: Term, name: str) -> Shape:
    """The shape with its axes from the third on multiplied by attribute `name`."""
    whole = shape(source)
    return lambda call: there(scaled_shape(whole(call), listed(call, name)))


def _collapsed(source: Term, other: Term) -> Shape:
    """The shape with 1 for its last axes, as many as the other shape has."""
    whole, last = shape(source), shape(other)

    def change(call: Instance) -> Sizes:
        sizes, count = whole(call), len(last(call))
        return sizes if count == 0 else (*sizes[:-count], *(1,) * min(count, len(sizes)))

    return change


def _sizes(*terms: Term) -> Shape:
    """Axis by axis."""
    parts = [number(term) for term in terms]
    return lambda call: tuple([part(call) for part in parts])


SHAPES: dict[str, Callable[..., Shape]] = {
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
    "collapsed": _collapsed,
    "sizes": _sizes,
}
