"""Orders of addition, told by their fans, and what each order's inner nodes contribute to the error of a sum.

An order groups partial sums level by level: at each level so many neighbours are added one after the other. One chain
is (n,), a tree is (2, 2, ...), k lanes are (n/k, 2, 2, ...), tiles of t that are chained (t, n/t). The number of
addends that meet in each node is all that the error model needs.
"""

from __future__ import annotations

import math
from functools import lru_cache

from opscan.dataclass import dataclass

LONGEST_SINGLE_CHAIN = 4096
LONGEST_LANE_CHAIN = 8192
_NESTED = 1.5
"""Levels of a tree hold the same values, so their squared sums vary together; measured 1.3 to 2."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """Sums over the inner nodes of an order, of m addends each: m (1 - m/n), and m^2.

    `unevenness`: the squared coefficient of variation of the sum of squared partial sums, for addends around 0: 0.8 for
    one chain (the area under a squared Brownian bridge), near 0 for a large tree. It shapes the tail of the error.
    """

    spread: float
    growth: float
    unevenness: float


@dataclass(frozen=True, slots=True)
class Grid:
    """Addends on a coarse grid: which additions round at all.

    `noise` and `drift` are variance and squared mean of an addend as shares of its mean square; `odds` is the
    probability that adding one addend to a partial sum of its own size rounds. It grows with the partial sum, and with
    the number of addends in what is added to it.
    """

    noise: float
    drift: float
    odds: float

    def share(self, spread: float, growth: float, block: float) -> float:
        """The share of additions that round, of blocks to partial sums of a mean `spread` and `growth`."""
        return min(1.0, self.odds * math.sqrt(self.noise * spread + self.drift * growth) * block)


@lru_cache(maxsize=16384)
def nodes_of(fans: tuple[float, ...], n: int, grid: Grid | None = None) -> Nodes:
    """The node sums of an order over n addends; the last node, which is the result, is left out.

    With a `grid` only the nodes count that round.
    """
    spread = growth = varied = 0.0
    block = 1.0
    for wanted in fans:
        fan = min(wanted, n / block)
        if fan <= 1:
            continue
        groups = n / (block * fan)
        upper = fan if groups > 1.0001 else fan - 1
        linear = max(upper * (upper + 1) / 2 - 1, 0.0)
        square = max(upper * (upper + 1) * (2 * upper + 1) / 6 - 1, 0.0)
        inner = max(block * linear - block * block / n * square, 0.0)
        rounding = grid.share(inner / upper, block * block * square / upper, block) if grid is not None else 1.0
        own = groups * inner * rounding
        spread += own
        growth += groups * block * block * square * rounding
        varied += own * own * _unevenness(fan, groups)
        block *= fan
    return Nodes(spread, growth, varied / (spread * spread) if spread else 0.0)


def _unevenness(fan: float, groups: float) -> float:
    if groups <= 1.0001:
        return 0.8 + 1.2 * math.exp(-(fan - 3) / 2)
    free = 4 / 3 + (2 - 4 / 3) * 2 / fan
    return _NESTED * free / max(groups - 1, 1.0)


def chain(n: int) -> tuple[float, ...]:
    """All addends through one accumulator."""
    return (float(n),)


def tree(n: int, fan: int = 2) -> tuple[float, ...]:
    """Neighbours by twos (or `fan`s), then their sums, and so on."""
    return (float(fan),) * max(1, math.ceil(math.log(max(n, 2), fan) - 1e-9))


def lanes(n: int, count: int) -> tuple[float, ...]:
    """`count` accumulators side by side, added by a tree at the end."""
    return tree(n) if n <= count else (n / count, *tree(count))


def tiles(n: int, length: int, *, by: str = "chain") -> tuple[float, ...]:
    """Tiles of `length` addends, each a chain; their sums are added by a `chain` or a `tree`."""
    if n <= length:
        return chain(n)
    count = math.ceil(n / length)
    return (float(length), *(tree(count) if by == "tree" else chain(count)))


def cascade(n: int) -> tuple[float, ...]:
    """PyTorch's sum on a CPU (ATen/native/cpu/SumKernel.cpp): four levels, each of chains of 16 sums of the one below.

    The number of addends decides. Vectors and threads, which differ from machine to machine, put several such sums side
    by side, which at most about equals it.
    """
    length = 2.0 ** max(4, math.ceil(math.log2(max(n, 2)) - 1e-9) // 4)
    return (length, length, length, float(n))


def worst(n: int) -> tuple[tuple[float, ...], ...]:
    """The legitimate orders one of which strays farthest, whatever the format.

    One chain up to 4,096 addends, tiles of 4,096 added in turn up to 32,768, eight lanes up to 65,536, beyond that
    chains of 8,192 added in turn. Short formats stray farther where small blocks are added in turn, for what is added
    then has digits to lose.
    """
    if n <= LONGEST_SINGLE_CHAIN:
        return (chain(n),)
    blocks = ((*tree(16), n / 16),) if n <= 16 * LONGEST_SINGLE_CHAIN else ()
    if n <= 8 * LONGEST_SINGLE_CHAIN:
        return tiles(n, LONGEST_SINGLE_CHAIN), *blocks
    length = min(n / 8, float(LONGEST_LANE_CHAIN))
    return (length, n / length), *blocks


WAYS = ("chain", "tree", "vectors", "cascade")


@dataclass(frozen=True, slots=True)
class Order:
    """How a vector unit adds, as documented: `repeat` addends by a tree of neighbours, the repeats in one of `ways`,
    and the partial sums of some number of `cores` in a chain or a tree."""

    repeat: int
    ways: tuple[str, ...]
    cores: tuple[int, ...]

    def of(self, n: int) -> tuple[tuple[float, ...], ...]:
        """The fans of every order that it may take over `n` addends."""
        if n <= 3:
            return (chain(n),)  # they differ in nothing
        found: dict[tuple[float, ...], None] = {}
        for way in self.ways:
            for count in self.cores:
                # a core that has less than a repeat is not used
                cores = min(count, math.ceil(n / self.repeat))
                own = self._of_core(way, math.ceil(n / cores))
                for over in (chain(cores), tree(cores)) if cores > 1 else ((),):
                    fans = (*own, *over)
                    found[fans] = None
        return tuple(found)

    def _of_core(self, way: str, n: int) -> tuple[float, ...]:
        if way == "cascade":
            return cascade(n)
        if way == "tree" or n <= self.repeat:
            return tree(n)
        tile = n if n <= 16 * LONGEST_SINGLE_CHAIN else LONGEST_LANE_CHAIN  # longer chains are cut, as in `worst`
        inner: tuple[float, ...] = (tile / self.repeat,)
        inner = (*inner, *tree(self.repeat)) if way == "vectors" else (*tree(self.repeat), *inner)
        return (*inner, n / tile)


def legitimate(n: int, order: Order | None) -> tuple[tuple[float, ...], ...]:
    """The orders that a kernel is judged by: those of a device, or the worst of all."""
    return worst(n) if order is None else order.of(n)
