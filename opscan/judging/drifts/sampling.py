"""Follow representative elements through a formula: their values, and the difference of two correct computations.

A sample is an element drawn as ATK draws inputs. Each carries its value and a first-order difference: every rounding
that two devices do not share adds an independent random part, and each function passes on what its operands carry,
times its derivative. What several elements share (a mean, a maximum, a sum that divides all) is drawn once per group,
so that correlated parts cancel or add up as they do in truth.

Samples lie in groups: all the elements of a sum of up to `_WHOLE` addends, or `_MEMBERS` of a longer one, which has
others of the same distribution besides. Values and differences of one group of axes are shared by its members.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any

from opscan.dataclass import replace
from opscan.judging.drifts.columns import Column, Group, Leaf, passed, pointwise
from opscan.judging.drifts.draw import Draw, Untold, is_told
from opscan.judging.drifts.exactness import approximation, flushing
from opscan.judging.drifts.functions import ULPS
from opscan.judging.drifts.sums import Population, Rare, coherent, incoherent
from opscan.judging.error_model import sum_noise
from opscan.judging.floating import FORMATS, SHORT, Format, nearest, spacing_at
from opscan.numerics.elements.term import Formula

if TYPE_CHECKING:
    from opscan.judging.devices import Device

SAMPLES = 1024
_WHOLE, _MEMBERS = 64, 16
_NAMES = {**SHORT, "float32": "fp32", "float64": "fp64"}
_HALF = 0.5
_COARSE = 64
"""Differences below so small a part of a unit come from float32."""
_SUMMING = frozenset({"add", "sub", "total", "dot", "mean"})
"""Steps that a device may fuse the product in front of into, which it does not round then."""


class Sampling:
    """One run over a formula. `draw_of`: how an input is drawn, by (position, name); `upstream`: the gradient.

    `reordered`: sums and products of elements may be computed in another order, so that each rounds for itself.
    `device`: whose bounds and orders the kernel keeps; None for the widest.
    """

    def __init__(
        self,
        draw_of: Callable[[tuple[Any, ...]], Draw],
        upstream: Draw,
        seed: int = 0,
        *,
        reordered: bool = False,
        device: Device | None = None,
    ) -> None:
        self._draw_of = draw_of
        self._upstream = upstream
        self._seed = seed
        self._random = Random(seed)
        self._count = SAMPLES
        self._reordered = reordered
        self._device = device
        self._order = device.order if device is not None else None
        self._orders: dict[Any, list[int]] = {}
        self._places: dict[Any, list[int]] = {}
        self.drawn: dict[Any, list[float]] = {}
        """The samples of each input; other places of one input are inputs of their own."""

    def run(self, formula: Formula) -> Column:
        """The samples of the last term, its own last rounding left out. Raises Untold."""
        columns: list[Column] = []
        last = len(formula) - 1
        fuses = self._device is None or self._device.fma
        fused = {
            place
            for name, operands, _, _ in formula
            if name in _SUMMING
            for place in operands
            if formula[place][0] == "mul"
        }
        for place, (name, operands, numbers, dtype) in enumerate(formula):
            given = [columns[operand] for operand in operands]
            try:
                column = self._step(name, given, numbers, dtype, final=place == last, fused=place in fused and fuses)
            except (ValueError, ZeroDivisionError, OverflowError):
                raise Untold(name) from None
            columns.append(column)
        return columns[-1]

    def _step(
        self, name: str, given: Sequence[Column], numbers: tuple[Any, ...], dtype: str, *, final: bool, fused: bool
    ) -> Column:
        if name in ("number", "ratio"):
            return self._constant(float(numbers[0]))
        if name in ("input", "upstream"):
            return self._leaf((name, numbers, None), dtype)
        if name in ("total", "dot", "running", "mean"):
            if int(numbers[1]) <= 1:
                return given[0]
            summed = self._total(name, given[0], numbers, dtype)
            return summed if name != "mean" else self._averaged(summed, int(numbers[1]), dtype, final=final)
        if name == "largest":
            return self._largest(given[0], numbers)
        if name == "elsewhere":
            if given[0].leaf is not None:
                return self._leaf((*given[0].leaf[:2], (given[0].leaf[2], numbers[0])), given[0].dtype)
            return self._elsewhere(given[0], numbers[0])
        if name == "either":
            return self._either(given, float(numbers[0]))
        if name == "cast":
            return replace(self._rounded(given[0], dtype, "cast", final=final), dtype=dtype)
        column = flushing(name, given, pointwise(name, given), _NAMES.get(dtype, ""), self._device)
        if name == "mul" and dtype == "float32" and all(one.dtype in SHORT for one in given):
            return replace(column, bits=sum(FORMATS[SHORT[one.dtype]].fraction for one in given) + 1)
        if name in ("mul", "div") and any(one.scale for one in given):
            return column
        return self._rounded(column, dtype, name, final=final, fused=fused)

    # -- where samples come from ---------------------------------------------------------------------------------------

    def _leaf(self, leaf: Leaf, dtype: str) -> Column:
        """The samples of an input, which lie on the grid of its format."""
        if leaf not in self.drawn:
            self.drawn[leaf] = self._drawn(self.draw_of(leaf))
        outliers, values = self.draw_of(leaf).outliers, self.drawn[leaf]
        if dtype in SHORT:
            form = FORMATS[SHORT[dtype]]
            values = [nearest(value, form) for value in values]
        if outliers is None:
            return Column(values, [0.0] * self._count, {}, leaf, dtype=dtype)
        share, factor = outliers
        every, first = max(round(1 / share), 1), 17 * len(self.drawn)  # those of two inputs seldom meet
        mixed = [value * factor if place % every == first % every else value for place, value in enumerate(values)]
        return Column(mixed, [0.0] * self._count, {}, leaf, rare=Rare(share, factor, values))

    def draw_of(self, leaf: Leaf) -> Draw:
        return self._draw_of(leaf[1]) if leaf[0] == "input" else self._upstream

    def _constant(self, value: float) -> Column:
        return Column([value] * self._count, [0.0] * self._count, {}, scale=abs(math.frexp(value)[0]) == 0.5)

    def _drawn(self, draw: Draw) -> list[float]:
        """Stratified: one sample in each equal part of the distribution, in random order."""
        count, random = self._count, self._random
        order = _permutation(self._seed, len(self.drawn))
        strata = [(place + random.random()) / count for place in order]
        if draw.distribution == "bool":
            return [float(part < 0.5) for part in strata]
        width = draw.high - draw.low
        if draw.distribution == "normal":
            middle = (draw.low + draw.high) / 2
            return [middle + width / 2 * _normal_quantile(part) for part in strata]
        return [draw.low + width * part for part in strata]

    # -- element by element --------------------------------------------------------------------------------------------

    def _rounded(self, column: Column, dtype: str, name: str, *, final: bool = False, fused: bool = False) -> Column:
        """How the difference comes out of a step: another function's error is added, and both sides are rounded.

        `final`: the last rounding is left to the standard's evaluation; `fused`: one device does not round here.
        """
        if dtype not in _NAMES:
            return column
        error = approximation(name, _NAMES[dtype], self._device)
        if final and (name not in ULPS or (dtype in SHORT and not error)):
            column = _within(column, FORMATS[_NAMES[dtype]])
            return _both_rounded(column, FORMATS[_NAMES[dtype]]) if dtype in SHORT else column
        form, random = FORMATS[_NAMES[dtype]], self._random
        short = dtype in SHORT
        column = _within(column, form)

        def after(value: float, difference: float) -> float:
            if not is_told(value) or not value or not is_told(difference):
                return difference
            spacing = spacing_at(value, form)
            if error:
                difference += error * spacing * random.gauss(0.0, 1.0)
            if short and not final:  # one side rounds, the other may keep it as it is
                return nearest(value + difference, form) - value
            if final:
                return difference
            if fused:
                return difference + spacing * (random.random() - _HALF)
            if self._reordered:
                return difference + spacing * (random.random() - random.random())
            # two values that lie closer than the spacing round to the same one, or to neighbours
            return spacing * math.floor(difference / spacing + random.random())

        return self._per_group(column, after)

    def _per_group(self, column: Column, after: Callable[[float, float], float]) -> Column:
        """New differences: of each element its own, or one per group where the whole group has one value."""
        values, before = column.values, column.difference
        group = self.group_of(column)
        if group is None:
            pairs = zip(column.own, values, before, strict=True)
            own = [held + after(value, difference) - difference for held, value, difference in pairs]
            return replace(column, own=own, leaf=None, scale=False)
        new = list(column.shared.get(group, [0.0] * self._count))
        for members in self._members(group):
            first = members[0]
            change = after(values[first], before[first]) - before[first]
            for place in members:
                new[place] += change
        return replace(column, shared={**column.shared, group: new}, leaf=None, scale=False)

    def one_per_group(self, column: Column) -> Column | None:
        """One sample of each group, where all of a group have one value; else None."""
        group = self.group_of(column)
        if group is None:
            return None
        firsts, carried = [members[0] for members in self._members(group)], column.difference
        return Column([column.values[place] for place in firsts], [carried[place] for place in firsts], {})

    def group_of(self, column: Column) -> Group | None:
        """The known group all of whose members have one value."""
        values = column.values
        if all(value == values[0] for value in values[:64]):
            return None
        for group in self._orders:
            members = self._members(group)
            if len(members[0]) > 1 and all(values[m[0]] == values[m[-1]] == values[m[len(m) // 2]] for m in members):
                return tuple(group)
        return None

    # -- groups --------------------------------------------------------------------------------------------------------

    def _members(self, group: Group) -> list[list[int]]:
        """The places of the samples, group by group."""
        order = self._orders.get(group)
        if order is None:
            order = _permutation("group", len(self._orders)) if self._orders else list(range(self._count))
            self._orders[group] = order
        size = int(group[1]) if group[1] <= _WHOLE else _MEMBERS
        whole = [order[start : start + size] for start in range(0, self._count - size + 1, size)]
        left = self._count % size
        return [*whole, order[-left:]] if left else whole

    def _total(self, name: str, x: Column, group: Group, dtype: str) -> Column:
        """The sum along the axes of a group, one value for its members."""
        if name == "dot" and group not in self._orders:
            return self._contracted(x, group, dtype)
        golden = "chain" if name == "dot" else "framework"
        held, order = _NAMES.get(dtype, "fp32"), self._order if name in ("total", "mean") else None
        addends, random = int(group[1]), self._random
        usual = Population(x.values if x.rare is None else x.rare.usual)
        values, parts = [0.0] * self._count, [0.0] * self._count
        apart, alike = _parts(x, group)
        for places in self._members(group):
            count = addends if name != "running" else random.randint(1, addends)
            large = self._outliers(x.rare, count)
            value = usual.total(places, count, random) + math.fsum(large)
            own = [apart[place] for place in places if x.rare is None or x.values[place] == usual.values[place]]
            # its members' own parts as they are, which may cancel what they share; the others' are a random walk
            noise = math.fsum(own) if count >= len(places) else 0.0
            noise += incoherent(own or [0.0], count if not noise else count - len(places)) * random.gauss(0.0, 1.0)
            if x.dtype not in SHORT and addends > 2:  # two are added alike by all
                squares = usual.variance + math.fsum(one * one for one in large) / count
                alpha, beta = sum_noise(count, usual.mean, squares, held, golden=golden, order=order, bits=x.bits)
                noise += math.sqrt(alpha + beta * value * value) * random.gauss(0.0, 1.0)
            if alike is not None:
                noise += coherent([alike[place] for place in places], count)
            for place in places:
                values[place], parts[place] = value, noise
        return Column(values, [0.0] * self._count, {group: parts})

    def _contracted(self, x: Column, group: Group, dtype: str) -> Column:
        """A sum of products over axes that no other sum runs over: of new addends for each sample."""
        addends, gauss = int(group[1]), self._random.gauss
        usual = Population(x.values if x.rare is None else x.rare.usual)
        apart, alike = _parts(x, group)
        own = [one for one, value, held in zip(apart, x.values, usual.values, strict=True) if value == held]
        spread, values, carried = incoherent(own or [0.0], addends), [], [0.0] * self._count
        for places in self._members(group) if alike is not None else ():
            together = coherent([alike[place] for place in places], addends) if alike is not None else 0.0
            for place in places:
                carried[place] = together
        held = _NAMES.get(dtype, "fp32")
        for place in range(self._count):
            large = self._outliers(x.rare, addends)
            value = usual.total((place,), addends, self._random) + math.fsum(large)
            values.append(value)
            carried[place] += spread * gauss(0.0, 1.0)
            if x.dtype not in SHORT and addends > 2:
                squares = usual.variance + math.fsum(one * one for one in large) / addends
                alpha, beta = sum_noise(addends, usual.mean, squares, held, golden="chain", bits=x.bits)
                carried[place] += math.sqrt(alpha + beta * value * value) * gauss(0.0, 1.0)
        return Column(values, carried, {})

    def _outliers(self, rare: Rare | None, addends: int) -> list[float]:
        """The outliers among so many addends: their number is a Poisson variable."""
        if rare is None:
            return []
        random, left, found = self._random, math.exp(-min(rare.share * addends, 500.0)), []
        chance = random.random()
        while chance > left:
            chance *= random.random()
            found.append(rare.factor * random.choice(rare.usual))
        return found

    def _averaged(self, summed: Column, addends: int, dtype: str, *, final: bool) -> Column:
        part = [1 / addends] * self._count
        return self._rounded(passed([v / addends for v in summed.values], [(part, summed)]), dtype, "div", final=final)

    def _largest(self, x: Column, group: Group) -> Column:
        addends = int(group[1])
        values = [0.0] * self._count
        ordered = sorted(value for value in x.values if is_told(value))
        carried = x.difference
        new = [0.0] * self._count
        for places in self._members(group):
            top = max(places, key=lambda place: x.values[place])
            value = x.values[top]
            if addends > len(places):
                # the largest of the others, by the quantile of the largest of so many
                part = self._random.random() ** (1 / (addends - len(places)))
                value = max(value, ordered[min(int(part * len(ordered)), len(ordered) - 1)])
            for place in places:
                values[place] = value
                new[place] = carried[top]
        return Column(values, [0.0] * self._count, {group: new} if any(carried) else {})

    def _elsewhere(self, x: Column, place: Any) -> Column:
        order = self._places.get(place)
        if order is None:
            order = self._places[place] = _permutation("elsewhere", place)
        carried = x.difference
        return Column([x.values[at] for at in order], [carried[at] for at in order], {})

    def _either(self, given: Sequence[Column], share: float) -> Column:
        first, second = given
        chosen = [self._random.random() < share for _ in range(self._count)]
        values = [a if which else b for which, a, b in zip(chosen, first.values, second.values, strict=True)]
        left, right = [float(which) for which in chosen], [float(not which) for which in chosen]
        return passed(values, [(left, first), (right, second)])


def _within(column: Column, form: Format) -> Column:
    """Values that a format cannot hold are infinite in it."""
    most = form.largest
    if all(abs(value) < most or math.isnan(value) for value in column.values):
        return column
    held = [value if abs(value) < most else math.copysign(math.inf, value) for value in column.values]
    return replace(column, values=held)


def _both_rounded(column: Column, form: Format) -> Column:
    """Both sides rounded for the last time, where roundings of the same format set them apart before: what then differs
    are whole units, or nothing. Finer differences are left to the standard's evaluation, which knows how rare they are.
    """
    before, own, coarse = column.difference, list(column.own), 0
    for place, (value, difference) in enumerate(zip(column.values, before, strict=True)):
        if value and is_told(value) and is_told(difference) and abs(difference) > spacing_at(value, form) / _COARSE:
            own[place] += nearest(value + difference, form) - nearest(value, form) - difference
            coarse += 1
    return replace(column, own=own, whole=2 * coarse > sum(map(bool, before)))


def _parts(x: Column, group: Group) -> tuple[list[float], list[float] | None]:
    """What the elements carry apart from each other, as far as a sum over a group goes, and what they share in it.

    What they share with elements of other groups belongs to the first: it may cancel what they have for themselves.
    """
    others = [carried for which, carried in x.shared.items() if which != group]
    apart = [sum(parts) for parts in zip(x.own, *others, strict=True)] if others else x.own
    return apart, x.shared.get(group)


@lru_cache(maxsize=512)
def _permutation(*seeds: Any) -> list[int]:
    """The samples in an order of its own for what is told, the same in each run."""
    order = list(range(SAMPLES))
    Random(repr(seeds)).shuffle(order)
    return order


def _normal_quantile(part: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(min(max(part, 1e-12), 1 - 1e-12))
