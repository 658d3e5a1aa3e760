"""How the elements of an input are drawn."""

from __future__ import annotations

from opscan.dataclass import dataclass

_LARGEST = 3.4e38


class Untold(Exception):
    """The formula has a step that cannot be followed; the message says which."""


@dataclass(frozen=True, slots=True)
class Draw:
    """`distribution`: uniform in [low, high], normal (mean -+ one deviation), or bool.

    `outliers`: (share, factor): so many elements are that many times as large.
    """

    low: float
    high: float
    distribution: str = "uniform"
    outliers: tuple[float, float] | None = None


def is_told(value: float) -> bool:
    """Whether a value is a number that float32 holds."""
    return abs(value) < _LARGEST
