"""Terms that are whole numbers: sizes, how many addends meet, and how often windows cover an element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from opscan.numerics.call import spatial
from opscan.numerics.overlaps import adaptive_windows, copies, padding_hits
from opscan.numerics.paths.signature import Instance
from opscan.numerics.paths.terms import NoValue, Number, Term, axes_in, listed, no_value, number, shape, share


def overlap(kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], windows: Sequence[int]) -> int:
    """How many windows can cover one element, over all axes."""
    hits = 1
    for size, step, spread, count in zip(kernel, stride, dilation, windows, strict=True):
        # a window covers an element by one tap in so many: their distance must be a multiple of the stride
        covering = math.ceil(size / (step // math.gcd(step, spread)))
        hits *= max(1, min(covering, count))
    return hits


def tapped(given: int, size: int, taps: int) -> int:
    """How many of `given` interpolated places, `taps` for each on an axis, can read one element of `size`."""
    return min(given, taps * math.ceil(given / max(size, 1)) + 1)


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
        return sizes[axis] if -len(sizes) <= axis < len(sizes) else no_value()

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
        return value if type(value) is int else no_value()

    return read


def _item(name: str, place: int) -> Number:
    def read(call: Instance) -> int:
        value = call.numbers.get(name)
        if type(value) is int:
            return value
        if not isinstance(value, tuple) or not -len(value) <= place < len(value):
            raise NoValue
        chosen = value[place]
        return chosen if type(chosen) is int else no_value()

    return read


def _per(total: Term, part: Term) -> Number:
    """How many times `part` is in `total`, rounded up; 0 where `part` is nothing."""
    above, below = number(total), number(part)

    return lambda call: share(above(call), below(call))


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
        sizes, padding = whole(call), listed(call, name)
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
        scales = listed(call, name) if name else (None,)
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


NUMBERS: dict[str, Callable[..., Number]] = {
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
