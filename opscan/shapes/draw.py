"""Draws concrete cases from a spec as ATK documents it: each input on its own, then zipped in order.

Boundary cases (empty, infnan, upper and lower border) are left out. Shapes may be huge: nothing is allocated.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from opscan.model import Case, CaseInput, Choices, Spec, SpecInput
from opscan.shapes.spaces import ShapeSpace, draw_shape, lengths_of, shape_space, usable_weights

DEFAULT_RANGES: tuple[Any, ...] = ([-5, 5], {"name": "nd", "mean": [-100, 100], "std": [1, 25]})
MAX_MEMBERS = 64
_PAIR = 2


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
        spec_input.name, spec_input.kind, dtype, backward=spec_input.backward, required=spec_input.required,
        outliers=spec_input.outlier_values,
    )  # fmt: skip


def _draw_values(spec_input: SpecInput, dtype: str | None, rng: random.Random) -> Any:
    """One entry of `ranges.valid`. A pair of integers for an attribute is a closed interval that ATK draws from;
    for a tensor, a scalar and a float attribute the pair stays a range."""
    plain = not is_tensor(spec_input.kind)
    if plain and not spec_input.ranges.values and dtype in {"bool", "attr_bool"}:
        return rng.random() < 0.5
    if plain and not spec_input.ranges.values and dtype in {"string", None, "non_param", "torch_dtype"}:
        return None
    ranges = spec_input.ranges if spec_input.ranges.values else Choices(DEFAULT_RANGES[:1] if plain else DEFAULT_RANGES)
    value = draw_choice(ranges, rng)
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
    if usable_weights(dtypes):
        return list(rng.choices(values, usable_weights(dtypes), k=draws))
    drawn: list[str | None] = []
    while len(drawn) < draws:
        drawn += rng.sample(values, len(values))
    return drawn[:draws]


def _member_counts(spec_input: SpecInput) -> list[int]:
    axes = lengths_of(spec_input.tuple_numbers)
    if axes is None:
        return [1]
    return sorted({n for low, high in axes.intervals for n in range(low, min(high, MAX_MEMBERS) + 1)}) or [MAX_MEMBERS]


def draw_choice(choices: Choices, rng: random.Random) -> Any:
    """One of the values, by their weights."""
    return rng.choices(choices.values, usable_weights(choices))[0]


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
