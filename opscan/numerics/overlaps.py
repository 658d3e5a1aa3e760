"""How often windows, borders and copies cover one element, and the shapes that products, borders and scales make."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence


def overlap(kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], windows: Sequence[int]) -> int:
    """How many windows can cover one element, over all axes."""
    hits = 1
    for size, step, spread, count in zip(kernel, stride, dilation, windows, strict=True):
        # a window covers an element by one tap in so many: their distance must be a multiple of the stride
        covering = math.ceil(size / (step // math.gcd(step, spread)))
        hits *= max(1, min(covering, count))
    return hits


def adaptive_windows(sizes: Sequence[int], counts: Sequence[int]) -> tuple[int, int]:
    """(largest window, most windows over one element) of adaptive pooling from `sizes` to `counts` places."""
    largest = most = 1
    for size, count in zip(sizes, counts, strict=True):
        spans = [((place * size) // count, -(-((place + 1) * size) // count)) for place in range(count)]
        largest *= max((end - start for start, end in spans), default=1)
        hits = [0] * (size + 1)
        for start, end in spans:
            for position in range(start, end):
                hits[position] += 1
        most *= max(hits)
    return largest, most


def padding_hits(sizes: Sequence[int], padding: Sequence[int], *, reflect: bool) -> int:
    """How often the most copied element appears in the padded tensor; `padding` starts with the last axis."""
    most = 1
    for axis in range(len(padding) // 2):
        most *= _pad_hits(sizes[-1 - axis], padding[2 * axis], padding[2 * axis + 1], reflect=reflect)
    return most


def _pad_hits(size: int, before: int, after: int, *, reflect: bool) -> int:
    """How often the most copied element of an axis of `size` appears in the padded axis."""
    if size <= 0:
        return 1
    if not reflect:
        return max(1 + max(before, 0), 1 + max(after, 0)) if size > 1 else 1 + max(before, 0) + max(after, 0)
    hits = [1] * size
    for position in range(1, max(before, 0) + 1):
        hits[min(position, size - 1)] += 1
    for position in range(1, max(after, 0) + 1):
        hits[max(size - 1 - position, 0)] += 1
    return max(hits)


def copies(given: int, size: int, scale: float | None) -> int:
    """How often an element of `size` is copied to `given` places, `scale` for each; the last also fills the rest.

    The places of an element span `scale`, and their ends are computed: a few more where that is nearly whole.
    """
    scale = scale if scale and scale > 0 else given / max(size, 1)
    usual = int(scale) if float(scale).is_integer() else math.floor(scale * (1 + given * 1e-6)) + 1
    usual = usual if scale > 1 else 1
    return max(1, min(given, max(usual, given - math.floor((size - 1) * scale))))


def tapped(given: int, size: int, taps: int) -> int:
    """How many of `given` interpolated places, `taps` for each on an axis, can read one element of `size`."""
    return min(given, taps * math.ceil(given / max(size, 1)) + 1)


def matmul_shape(left: Sequence[int], right: Sequence[int]) -> tuple[int, ...] | None:
    """The shape of a matrix product; None where the factors do not meet."""
    if not left or not right or left[-1] != right[-2 if len(right) > 1 else 0]:
        return None
    first, second = tuple(left[:-2])[::-1], tuple(right[:-2])[::-1]
    batch = []
    for one, other in itertools.zip_longest(first, second, fillvalue=1):
        if one != other and 1 not in (one, other):
            return None
        batch.append(other if one == 1 else one)
    rows = (left[-2],) if len(left) > 1 else ()
    columns = (right[-1],) if len(right) > 1 else ()
    return (*batch[::-1], *rows, *columns)


def padded_shape(sizes: Sequence[int], padding: Sequence[int]) -> tuple[int, ...] | None:
    """The shape with a border; `padding` holds before and after, from the last axis on."""
    if len(padding) % 2 or len(padding) > 2 * len(sizes):
        return None
    grown = list(sizes)
    for axis in range(len(padding) // 2):
        grown[-1 - axis] += padding[2 * axis] + padding[2 * axis + 1]
    return tuple(grown)


def scaled_shape(sizes: Sequence[int], factors: Sequence[float]) -> tuple[int, ...] | None:
    """The shape with all axes but the first two multiplied, by one factor or one each."""
    space = sizes[2:]
    if not space or len(factors) not in (1, len(space)) or not all(math.isfinite(factor) for factor in factors):
        return None
    each = list(factors) * len(space) if len(factors) == 1 else factors
    return (*sizes[:2], *(math.floor(float(size * factor)) for size, factor in zip(space, each, strict=True)))
