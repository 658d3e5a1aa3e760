"""Bits of the parts of one storage that were written one by one: what happens to a row says nothing of the others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

from opscan.dataclass import dataclass
from opscan.numerics.bits import Bits, either
from opscan.numerics.facts import Facts


@dataclass(frozen=True, slots=True)
class Place:
    """Where a view lies in its storage: offset, sizes and strides, all in elements."""

    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def last(self) -> int:
        return self.offset + sum((size - 1) * stride for size, stride in zip(self.sizes, self.strides, strict=True))

    def misses(self, other: Place) -> bool:
        """Whether the two are known to have no element in common."""
        if self.last < other.offset or other.last < self.offset:
            return True
        pairs = [*zip(self.sizes, self.strides, strict=True), *zip(other.sizes, other.strides, strict=True)]
        step = math.gcd(*(stride for size, stride in pairs if size > 1))
        return step > 0 and (self.offset - other.offset) % step != 0


class WrittenParts:
    """`base`: the bits and facts of what no part covers."""

    def __init__(self, base: Bits, facts: Facts) -> None:
        self._base, self._facts = base, facts
        self._parts: dict[Place, Bits] = {}

    def write(self, place: Place, bits: Bits) -> None:
        """Parts that share elements with this one are no longer known one by one."""
        for other in [other for other in self._parts if other != place and not other.misses(place)]:
            self._base = either((self._base, self._parts.pop(other)))
            self._facts = Facts()
        self._parts[place] = bits
        self.__dict__.pop("whole", None)

    def read(self, place: Place) -> tuple[Bits, Facts | None]:
        """What is known of a view; no facts where it is a part that was written."""
        if place in self._parts:
            return self._parts[place], None
        found = list(self._over(place))
        return either((self._base, *found)), None if found else self._facts

    @cached_property
    def whole(self) -> Bits:
        """The bits of the whole storage."""
        return either((self._base, *self._parts.values()))

    def _over(self, place: Place) -> Iterator[Bits]:
        return (bits for other, bits in self._parts.items() if not other.misses(place))
