"""Sums over samples: of their own elements, of others like them, and of what these carry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from opscan.dataclass import dataclass
from opscan.judging.drifts.draw import Untold, is_told

_UNEVEN = 5.0
"""Kurtosis from which a sum of some hundred addends is far from normal."""
_RESAMPLED = 1024


@dataclass(frozen=True, slots=True)
class Rare:
    """So many of the elements are so many times as large as the others, whose samples are `usual`."""

    share: float
    factor: float
    usual: list[float]


class Population:
    """The samples from which the addends of a sum come. A mean that they show by chance alone is none: it would grow
    with the number of addends. Raises Untold where none is a number."""

    def __init__(self, values: list[float]) -> None:
        finite = [value for value in values if is_told(value)]
        if not finite:
            raise Untold("a sum of what is no number")
        self.values = values if len(finite) == len(values) else [v if is_told(v) else math.nan for v in values]
        self._missing = 1 - len(finite) / len(values)
        seen = math.fsum(finite) / len(finite)
        self.variance = math.fsum((value - seen) ** 2 for value in finite) / len(finite)
        self.mean = seen if seen * seen >= 7 * self.variance / len(finite) else 0.0
        self._aside = seen - self.mean
        fourth = math.fsum((value - seen) ** 4 for value in finite) / len(finite)
        self._uneven = fourth > _UNEVEN * self.variance * self.variance

    def total(self, places: Sequence[int], count: int, random: Random) -> float:
        """The sum of `count` addends, those at `places` among them, as many of these as there are addends."""
        inside = places if count >= len(places) else random.sample(list(places), count)
        partial, rest = math.fsum(self.values[place] for place in inside), count - len(inside)
        if not rest:
            return partial
        if self._missing and random.random() > (1 - self._missing) ** rest:
            return math.nan
        partial -= len(inside) * self._aside
        if self._uneven and rest <= _RESAMPLED:
            return partial + math.fsum(random.choices(self.values, k=rest)) - rest * self._aside
        return partial + rest * self.mean + math.sqrt(rest * self.variance) * random.gauss(0.0, 1.0)


def coherent(carried: Sequence[float], addends: int) -> float:
    """The sum over `addends` of what one source has brought into each: all of one sign adds up, else a random walk."""
    size = len(carried)
    middle = math.fsum(carried) / size
    spread = math.fsum((value - middle) ** 2 for value in carried) / size
    if size >= addends:
        return middle * addends
    if middle * middle > 9 * spread / size:
        return middle * addends
    return math.copysign(math.sqrt(addends * (spread + middle * middle)), middle)


def incoherent(carried: Sequence[float], addends: int) -> float:
    """The deviation of a sum of `addends` parts that have nothing to do with each other."""
    return math.sqrt(math.fsum(value * value for value in carried) / len(carried) * addends)
