"""Samples of ever smaller results, for formulas that go element by element: subset simulation (Au and Beck, 2001).

Of the samples the smallest sixteenth are kept, each moves a little at random, and moves that leave the smallest are
undone: that samples the results below a size as they are distributed. So rare results near 0, where relative
tolerances fail, are seen and not guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any

from opscan.judging.drifts.columns import Column, Leaf
from opscan.judging.drifts.draw import Draw, is_told
from opscan.judging.drifts.sampling import SAMPLES, Sampling
from opscan.judging.drifts.shape import is_pointwise
from opscan.judging.drifts.spread import Level
from opscan.numerics.elements.term import Formula

if TYPE_CHECKING:
    from opscan.judging.devices import Device

DrawOf = Callable[[tuple[Any, ...]], Draw]
Drawn = dict[Leaf, list[float]]
_KEPT = 16
_MOST_LEVELS = 4
_MOST_LEAVES = 8
"""Of more inputs the results near 0 are dense and smooth, and moves among them slow."""
_SWEEPS = 4
_RUNS = 4
"""Runs over a formula with sums; twice as many for a result of which each group has one value."""
_FEW, _MANY = 0.25, 0.6
"""Shares of the moves that may stay; the moves get smaller or larger to get there."""


def levels_of(
    formula: Formula, draw_of: DrawOf, upstream: Draw, *, several: bool = False, device: Device | None = None
) -> list[Level]:
    """The samples of a formula, and of its small results where it goes element by element.

    `several`: it adds up several elements one by one, which another device may do in another order. Raises Untold.
    """
    again = partial(Sampling, draw_of, upstream, reordered=several, device=device)
    sampling = again()
    column = sampling.run(formula)
    if not any(column.difference):
        return [Level(column, 1.0)]
    levels = [Level(_pooled(formula, again, sampling, column), 1.0)]
    if not is_pointwise(formula) or len(sampling.drawn) > _MOST_LEAVES:
        return levels
    moving, drawn = _Moving(formula, sampling, Random(1)), sampling.drawn
    while len(levels) < _MOST_LEVELS:
        sizes = [abs(value) if is_told(value) else inf for value in column.values]
        order = sorted(range(SAMPLES), key=sizes.__getitem__)[: SAMPLES // _KEPT]
        least, bound = sizes[order[0]], sizes[order[-1]]
        if not least or bound == inf or least > bound / 2:
            break  # many results are 0, or all stay away from it
        drawn = moving.below(bound, drawn, [order[place % len(order)] for place in range(SAMPLES)])
        column = moving.run(drawn)
        levels.append(Level(column, levels[-1].probability / _KEPT))
    return levels


def _pooled(formula: Formula, again: Callable[..., Sampling], sampling: Sampling, column: Column) -> Column:
    """The samples of several runs; one of each group where all of a group have one value."""
    grouped = sampling.one_per_group(column)
    first = grouped or column
    pool = Column(list(first.values), list(first.difference), {}, whole=column.whole)
    for seed in range(1, _RUNS if grouped is None else 2 * _RUNS):
        other = again(seed)
        more = other.run(formula)
        more = more if grouped is None else other.one_per_group(more) or more
        pool.values.extend(more.values)
        pool.own.extend(more.difference)
    return pool


class _Moving:
    """Moves samples of the inputs about, as long as the result stays below a bound."""

    def __init__(self, formula: Formula, sampling: Sampling, random: Random) -> None:
        self._formula, self._sampling, self._random = formula, sampling, random
        self._width = 0.02
        """Half the width of a move, in widths of the input's distribution."""

    def run(self, drawn: Drawn) -> Any:
        self._sampling.drawn = drawn
        return self._sampling.run(self._formula)

    def below(self, bound: float, drawn: Drawn, kept: Sequence[int]) -> Drawn:
        current = {leaf: [values[place] for place in kept] for leaf, values in drawn.items()}
        for _ in range(_SWEEPS):
            moved = {leaf: self._moved(leaf, values) for leaf, values in current.items()}
            stays = [abs(value) <= bound for value in self.run(moved).values]
            current = {
                leaf: [new if ok else old for new, old, ok in zip(values, current[leaf], stays, strict=True)]
                for leaf, values in moved.items()
            }
            share = sum(stays) / len(stays)
            self._width *= 0.3 if share < _FEW else 2.0 if share > _MANY else 1.0
        return current

    def _moved(self, leaf: Leaf, values: list[float]) -> list[float]:
        """Values a little aside, still within the range of a uniform input. A constant and a mask stay."""
        draw = self._sampling.draw_of(leaf)
        span = draw.high - draw.low
        if not span or draw.distribution == "bool":
            return values
        reach = span * min(self._width, 0.5)
        uniform = self._random.uniform
        moved = [value + uniform(-reach, reach) for value in values]
        return moved if draw.distribution == "normal" else [_reflected(value, draw.low, draw.high) for value in moved]


def _reflected(value: float, low: float, high: float) -> float:
    return 2 * low - value if value < low else 2 * high - value if value > high else value
