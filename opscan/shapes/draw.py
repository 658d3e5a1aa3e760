"""Draws concrete cases from a spec as ATK documents it: each input on its own, then zipped in order.

Boundary cases (empty, infnan, upper and lower border) are left out. Shapes may be huge: nothing is allocated.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from opscan.model import Case, CaseInput, Choices, Spec, SpecInput

DEFAULT_MAX_LENGTH = 2**32 - 1
"""ATK's default for `max_length`, read as elements (one document calls it bytes, which allows fewer shapes)."""

DEFAULT_RANKS = Choices((1, 2, 3, 4, 5, 6, 7, 8), (5, 20, 20, 20, 20, 1, 1, 1))
DEFAULT_AXES = Choices((1, [7, 9], [15, 17], [19, 21], [255, 257], [1, 1024]), (5, 10, 10, 10, 5, 1))
"""Assumed where `dim_values` is absent: the frequent part of ATK's own default, without its rare huge axes."""

DEFAULT_RANGES: tuple[Any, ...] = ([-5, 5], {"name": "nd", "mean": [-100, 100], "std": [1, 25]})
MAX_MEMBERS = 64
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
        if rank is None:
            return None
        lengths = [self.axis(i).fixed for i in range(rank)]
        return None if None in lengths else tuple(n for n in lengths if n is not None)

    def feasible_ranks(self) -> list[int]:
        ranks = sorted({r for low, high in self.ranks.intervals for r in range(low, min(high, low + 16) + 1)})
        return [r for r in ranks if _product(self.smallest(r)) <= self.max_length]


def shape_space(spec_input: SpecInput) -> ShapeSpace:
    """The shapes of a tensor input as ATK reads `dim_numbers`, `dim_values` and `max_length`."""
    per_axis = tuple(axes for c in spec_input.dim_values if (axes := _axes(c)) is not None)
    return ShapeSpace(
        _axes(spec_input.dim_numbers) or _known(DEFAULT_RANKS),
        per_axis or (_known(DEFAULT_AXES),),
        spec_input.max_length or DEFAULT_MAX_LENGTH,
        assumed=not per_axis,
    )


def draw_shape(space: ShapeSpace, rng: random.Random) -> tuple[int, ...]:
    """One shape: drawn again until it fits `max_length`, at last shrunk axis by axis to the smallest allowed lengths.

    Raises Unsatisfiable where no allowed shape fits.
    """
    for _ in range(_TRIES):
        shape = [space.axis(i).draw(rng) for i in range(space.ranks.draw(rng))]
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


def draw_cases(spec: Spec, draws: int, rng: random.Random) -> list[Case]:
    """`draws` cases of a spec; shapes of different inputs are unrelated, as in ATK. Raises Unsatisfiable."""
    columns = [_column(i, draws, rng) for i in spec.inputs]
    method_columns = [_column(i, draws, rng) for i in spec.method_inputs]
    receiver = _column(spec.tensor_input, draws, rng) if spec.tensor_input else None
    return [
        Case(
            index=row,
            id=row,
            name=spec.name,
            inputs=tuple(column[row] for column in columns),
            acc=spec.acc,
            aclnn_name=spec.aclnn_name,
            api=spec.api,
            api_type=spec.api_type,
            backward=spec.backward,
            outputs=spec.outputs,
            tensor_input=receiver[row] if receiver else None,
            method_inputs=tuple(column[row] for column in method_columns),
        )
        for row in range(draws)
    ]


def with_shape(case: Case, shape: tuple[int, ...]) -> Case:
    """The same case with `shape` in each of its tensors."""

    def reshape(given: CaseInput) -> CaseInput:
        if given.members is not None:
            return replace(given, members=tuple(reshape(m) for m in given.members))
        return given if given.shape is None else replace(given, shape=shape)

    return replace(
        case,
        inputs=tuple(reshape(i) for i in case.inputs),
        tensor_input=reshape(case.tensor_input) if case.tensor_input else None,
        method_inputs=tuple(reshape(i) for i in case.method_inputs),
    )


def is_tensor(kind: str) -> bool:
    return kind.startswith("tensor")


def is_plural(kind: str) -> bool:
    """`tensors`, `attrs`, `scalar_tuple` ...: a list whose length `tuple_numbers` draws."""
    return kind.endswith(("s", "_tuple"))


def varies(spec_input: SpecInput, dtypes: bool = True) -> bool:
    """Whether two cases can differ in this input's number of members, shape or attribute value, or in its dtype."""
    if dtypes and len(set(spec_input.dtypes.values)) > 1:
        return True
    if is_plural(spec_input.kind) and len(_member_counts(spec_input)) > 1:
        return True
    if is_tensor(spec_input.kind):
        return shape_space(spec_input).fixed is None
    values = spec_input.ranges.values
    return len(values) != 1 or isinstance(values[0], list | tuple)


def _column(spec_input: SpecInput, draws: int, rng: random.Random) -> list[CaseInput]:
    dtypes = _spread(spec_input.dtypes, draws, rng)
    space = shape_space(spec_input) if is_tensor(spec_input.kind) else None
    counts = _member_counts(spec_input)
    column = []
    for dtype in dtypes:
        if not is_plural(spec_input.kind):
            column.append(_draw_input(spec_input, space, dtype, rng))
            continue
        members = tuple(_draw_input(spec_input, space, dtype, rng) for _ in range(rng.choice(counts)))
        column.append(replace(_blank(spec_input, dtype), members=members))
    return column


def _draw_input(spec_input: SpecInput, space: ShapeSpace | None, dtype: str | None, rng: random.Random) -> CaseInput:
    shape = draw_shape(space, rng) if space else None
    return replace(_blank(spec_input, dtype), shape=shape, values=_draw_values(spec_input, dtype, rng))


def _blank(spec_input: SpecInput, dtype: str | None) -> CaseInput:
    return CaseInput(
        spec_input.name, spec_input.kind, dtype, backward=spec_input.backward, required=spec_input.required
    )


def _draw_values(spec_input: SpecInput, dtype: str | None, rng: random.Random) -> Any:
    """One entry of `ranges.valid`. A pair of integers for an attribute is a closed interval that ATK draws from;
    for a tensor, a scalar and a float attribute the pair stays a range."""
    plain = not is_tensor(spec_input.kind)
    if plain and not spec_input.ranges.values and dtype in {"bool", "attr_bool"}:
        return rng.random() < 0.5
    if plain and not spec_input.ranges.values and dtype in {"string", None, "non_param", "torch_dtype"}:
        return None
    ranges = spec_input.ranges if spec_input.ranges.values else Choices(DEFAULT_RANGES[:1] if plain else DEFAULT_RANGES)
    value = _draw(ranges, rng)
    if spec_input.kind.startswith("attr") and isinstance(value, list | tuple) and len(value) == _PAIR:
        low, high = value
        if type(low) is int and type(high) is int and low <= high:
            return rng.randint(low, high)
    return list(value) if isinstance(value, tuple) else value


def _spread(dtypes: Choices, draws: int, rng: random.Random) -> list[str | None]:
    """Dtypes by weight, or in shuffled rounds so that each one occurs."""
    values = [v if isinstance(v, str) else str(v) for v in dtypes.values]
    if not values:
        return [None] * draws
    if _weights(dtypes):
        return list(rng.choices(values, _weights(dtypes), k=draws))
    drawn: list[str | None] = []
    while len(drawn) < draws:
        drawn += rng.sample(values, len(values))
    return drawn[:draws]


def _member_counts(spec_input: SpecInput) -> list[int]:
    axes = _axes(spec_input.tuple_numbers)
    if axes is None:
        return [1]
    return sorted({n for low, high in axes.intervals for n in range(low, min(high, MAX_MEMBERS) + 1)}) or [MAX_MEMBERS]


def _draw(choices: Choices, rng: random.Random) -> Any:
    return rng.choices(choices.values, _weights(choices))[0]


def _weights(choices: Choices) -> tuple[float, ...] | None:
    usable = len(choices.weights) == len(choices.values) and sum(choices.weights) > 0
    return choices.weights if usable and min(choices.weights) >= 0 else None


def _axes(choices: Choices) -> Axes | None:
    """The intervals of integers in `choices`, None where there are none; other entries are the reader's to report."""
    weights = _weights(choices) or (1.0,) * len(choices.values)
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
    axes = _axes(choices)
    assert axes is not None
    return axes


def _product(lengths: Iterable[int]) -> int:
    total = 1
    for n in lengths:
        total *= n
    return total


def tensor_inputs(spec: Spec) -> Sequence[SpecInput]:
    """The tensor inputs of a spec, its receiver and method inputs included."""
    receiver = (spec.tensor_input,) if spec.tensor_input else ()
    return [i for i in (*receiver, *spec.method_inputs, *spec.inputs) if is_tensor(i.kind)]


def count_cases(spec: Spec) -> int:
    """How many regular cases ATK generates: the largest number of dtypes of an input times `dtype_numbers`."""
    receiver = (spec.tensor_input,) if spec.tensor_input else ()
    kinds = max((len(i.dtypes.values) for i in (*spec.inputs, *receiver, *spec.method_inputs)), default=1)
    return max(kinds, 1) * spec.dtype_numbers


def labels(spec: Spec, wanted: Sequence[SpecInput]) -> Mapping[int, str]:
    """How messages name each input: its name, else `#k` with its position in `inputs`."""
    position = {id(i): k for k, i in enumerate(spec.inputs)}
    return {id(i): i.name or f"#{position.get(id(i), 0)}" for i in wanted}
