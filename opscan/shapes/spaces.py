"""The shapes that one tensor input can have, as ATK reads `dim_numbers`, `dim_values` and `max_length`."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import chain
from typing import Any

from opscan.dataclass import dataclass
from opscan.model import Choices, SpecInput

DEFAULT_MAX_LENGTH = 2**32 - 1
"""ATK's default for `max_length`, read as elements (one document calls it bytes, which allows fewer shapes)."""

DEFAULT_RANKS = Choices((1, 2, 3, 4, 5, 6, 7, 8), (5, 20, 20, 20, 20, 1, 1, 1))
DEFAULT_AXES = Choices((1, [7, 9], [15, 17], [19, 21], [255, 257], [1, 1024]), (5, 10, 10, 10, 5, 1))
"""Assumed where `dim_values` is absent: the frequent part of ATK's own default, without its rare huge axes."""

_TRIES = 40
_PAIR = 2


class Unsatisfiable(Exception):
    """No shape of an input fits its `max_length`: ATK itself draws for 300 s and gives up."""


@dataclass(frozen=True, slots=True)
class Axes:
    """The allowed lengths of one axis: closed intervals with the weight of each."""

    intervals: tuple[tuple[int, int], ...]
    weights: tuple[float, ...] | None

    @property
    def smallest(self) -> int:
        return min(low for low, _ in self.intervals)

    @property
    def fixed(self) -> int | None:
        """The only length this axis can have, None where it can vary."""
        lengths = set(chain.from_iterable(self.intervals))
        return lengths.pop() if len(lengths) == 1 else None

    def draw(self, rng: random.Random) -> int:
        low, high = rng.choices(self.intervals, self.weights)[0]
        return rng.randint(low, high)

    def largest_below(self, limit: int) -> int:
        """The largest allowed length up to `limit`, else the smallest of all."""
        return max((min(high, limit) for low, high in self.intervals if low <= limit), default=self.smallest)


MAX_RANK = 64
"""PyTorch's own limit on dimensions; larger numbers are no shapes."""


@dataclass(frozen=True, slots=True)
class ShapeSpace:
    """All shapes one tensor input can have: its ranks, the axes by position, and the limit on elements."""

    ranks: Axes
    axes: tuple[Axes, ...]
    max_length: int
    assumed: bool = False
    """`dim_values` is absent, so ATK's default stands in."""

    def axis(self, position: int) -> Axes:
        return self.axes[min(position, len(self.axes) - 1)]

    def smallest(self, rank: int) -> list[int]:
        return [self.axis(i).smallest for i in range(rank)]

    @property
    def fixed(self) -> tuple[int, ...] | None:
        """The only shape there is, None where shapes vary."""
        rank = self.ranks.fixed
        if rank is None or rank > MAX_RANK:
            return None
        lengths = [self.axis(i).fixed for i in range(rank)]
        return None if None in lengths else tuple(n for n in lengths if n is not None)

    def feasible_ranks(self) -> list[int]:
        ranks = sorted({r for low, high in self.ranks.intervals for r in range(low, min(high, low + 16, MAX_RANK) + 1)})
        return [r for r in ranks if _product(self.smallest(r)) <= self.max_length]


def shape_space(spec_input: SpecInput) -> ShapeSpace:
    """The shapes of a tensor input as ATK reads `dim_numbers`, `dim_values` and `max_length`."""
    per_axis = tuple(axes for c in spec_input.dim_values if (axes := lengths_of(c)) is not None)
    return ShapeSpace(
        lengths_of(spec_input.dim_numbers) or _known(DEFAULT_RANKS),
        per_axis or (_known(DEFAULT_AXES),),
        spec_input.max_length or DEFAULT_MAX_LENGTH,
        assumed=not per_axis,
    )


def draw_shape(space: ShapeSpace, rng: random.Random) -> tuple[int, ...]:
    """One shape: drawn again until it fits `max_length`, at last shrunk axis by axis to the smallest allowed lengths.

    Raises Unsatisfiable where no allowed shape fits.
    """
    for _ in range(_TRIES):
        rank = space.ranks.draw(rng)
        if rank > MAX_RANK:
            continue
        shape = [space.axis(i).draw(rng) for i in range(rank)]
        if _product(shape) <= space.max_length:
            return tuple(shape)
    ranks = space.feasible_ranks()
    if not ranks:
        raise Unsatisfiable
    shape = [space.axis(i).draw(rng) for i in range(rng.choice(ranks))]
    smallest = space.smallest(len(shape))
    for i in sorted(range(len(shape)), key=lambda k: -shape[k]):
        if _product(shape) <= space.max_length:
            break
        shape[i] = smallest[i]
    return tuple(shape)


def corner_shapes(space: ShapeSpace) -> list[tuple[int, ...]]:
    """The least shape (smallest rank, smallest axes) and the one with the largest rank and axes that fit."""
    ranks = space.feasible_ranks()
    if not ranks:
        return []
    largest = space.smallest(ranks[-1])
    for i in range(len(largest)):
        rest = _product(largest[:i] + largest[i + 1 :])
        largest[i] = space.axis(i).largest_below(space.max_length // rest if rest else space.max_length)
    return [tuple(space.smallest(ranks[0])), tuple(largest)]


def usable_weights(choices: Choices) -> tuple[float, ...] | None:
    usable = len(choices.weights) == len(choices.values) and sum(choices.weights) > 0
    return choices.weights if usable and min(choices.weights) >= 0 else None


def lengths_of(choices: Choices) -> Axes | None:
    """The intervals of integers in `choices`, None where there are none; other entries are the reader's to report."""
    weights = usable_weights(choices) or (1.0,) * len(choices.values)
    kept = [(interval, w) for v, w in zip(choices.values, weights, strict=True) if (interval := _interval(v))]
    if not kept:
        return None
    weighted = tuple(w for _, w in kept)
    return Axes(tuple(interval for interval, _ in kept), weighted if sum(weighted) > 0 else None)


def _interval(value: Any) -> tuple[int, int] | None:
    pair = tuple(value) if isinstance(value, list | tuple) else (value, value)
    if len(pair) != _PAIR or not all(type(n) is int and n >= 0 for n in pair) or pair[0] > pair[1]:
        return None
    return pair


def _known(choices: Choices) -> Axes:
    axes = lengths_of(choices)
    assert axes is not None
    return axes


def _product(lengths: Iterable[int]) -> int:
    total = 1
    for n in lengths:
        total *= n
    return total
