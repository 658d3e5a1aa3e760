"""How often windows, borders and copies cover one element."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from opscan.dataclass import dataclass

LARGE = 1 << 16
"""Up to so many taps of windows are counted one by one; beyond, an interior without borders is taken to be there."""


@dataclass(frozen=True, slots=True)
class Windows:
    """`count` windows along an axis of `size` elements, each of `kernel` taps `dilation` apart.

    The first begins `padding` before the first element, each of the others `stride` after the one before it.
    """

    size: int
    kernel: int
    stride: int
    dilation: int
    padding: int
    count: int

    @property
    def taps(self) -> int:
        """The most taps of one window that lie on elements, not on the border."""
        if self.kernel == 0 or self.size == 0:
            return 0
        starts = range(min(self.count, LARGE))
        inside = max((len(self._inside(place)) for place in starts), default=0)
        return self.kernel if self.count > LARGE else inside

    @property
    def readers(self) -> int:
        """The most windows that read one element."""
        if self.count * self.kernel > LARGE:
            return max(1, min(-(-self.kernel // (self.stride // math.gcd(self.stride, self.dilation))), self.count))
        hits = Counter(
            place * self.stride - self.padding + tap * self.dilation
            for place in range(self.count)
            for tap in self._inside(place)
        )
        return max(hits.values(), default=0)

    @property
    def places(self) -> int:
        """The most windows in which one and the same tap lies on an element."""
        most = 0
        for tap in range(self.kernel):
            first = max(0, -(-(self.padding - tap * self.dilation) // self.stride))
            last = min(self.count - 1, (self.size - 1 + self.padding - tap * self.dilation) // self.stride)
            most = max(most, last - first + 1)
        return most

    def lengths(self, *, border: bool) -> set[int]:
        """The sizes of the windows, each cut where elements and border end; without the border where elements do."""
        found = set()
        for place in range(min(self.count, LARGE)):
            start = place * self.stride - self.padding
            end = min(start + self.kernel, self.size + self.padding)
            found.add(end - start if border else min(end, self.size) - max(start, 0))
        return found

    def _inside(self, place: int) -> range:
        """The taps of a window that lie on elements."""
        start = place * self.stride - self.padding
        first = max(0, -(start // self.dilation))
        return range(first, max(first, min(self.kernel - 1, (self.size - 1 - start) // self.dilation) + 1))


def windows_along(
    sizes: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    counts: Sequence[int],
) -> list[Windows]:
    """The windows of each axis."""
    return [Windows(*axis) for axis in zip(sizes, kernel, stride, dilation, padding, counts, strict=True)]


def adaptive_windows(sizes: Sequence[int], counts: Sequence[int]) -> tuple[int, int, set[int]]:
    """(largest window, most windows over one element, all sizes along an axis) of adaptive pooling to `counts`."""
    largest = most = 1
    lengths: set[int] = set()
    for size, count in zip(sizes, counts, strict=True):
        spans = [((place * size) // count, -(-((place + 1) * size) // count)) for place in range(count)]
        own = {end - start for start, end in spans}
        lengths |= own
        largest *= max(own, default=1)
        most *= most_at_once([(start, end, 1) for start, end in spans])
    return largest, most, lengths


def most_at_once(spans: Iterable[tuple[int, int, int]]) -> int:
    """The largest total weight at one position of spans (from, up to, weight)."""
    steps: Counter[int] = Counter()
    for start, end, weight in spans:
        if start < end:
            steps[start] += weight
            steps[end] -= weight
    return max(itertools.accumulate(steps[position] for position in sorted(steps)), default=0)


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
