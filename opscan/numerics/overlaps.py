"""How often the windows of a pooling or a convolution cover one element."""

from __future__ import annotations

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
