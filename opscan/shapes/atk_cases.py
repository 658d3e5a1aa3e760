"""What `atk case` draws from a spec, by the rules that ATK documents: regular cases, and boundary cases after them.

`draw` draws each input on its own; here come the values that are meant to be invalid, the quotas of large shapes, and
the boundary cases. Where sources differ or are silent, the choice is such that each case is one that ATK can draw:

- the elements of a shape, and their bytes too, stay within `max_length`, which is read both ways;
- a quota of `shape_distributions` is met by one tensor of a case alone; where the spec cannot reach it ATK draws for
  ever, and the cases here stay smaller;
- how many scalar and lower-border cases there are is not documented: as many as dtypes, or as ranks if these are more;
- a boundary case of one kind is that for every tensor that allows the kind; the others are drawn as ever.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from opscan.model import Case, CaseInput, Choices, Spec, SpecInput
from opscan.shapes.draw import draw_cases, draw_choice, is_plural, is_tensor
from opscan.shapes.spaces import (
    DEFAULT_MAX_LENGTH,
    MAX_RANK,
    ShapeSpace,
    Unsatisfiable,
    corner_shapes,
    draw_shape,
    shape_space,
)

QUOTAS = ((1e7, 0.3), (1e8, 0.1), (1e9, 0.01))
"""ATK's default `shape_distributions`; the numbers of elements shrink with the inputs' `max_length`."""
UPPER_BORDER = 2**31 + 1
_INVALID = {
    "tensor": (["-inf"], ["inf"], ["nan"], ["null"]),
    "scalar": (["-inf"], ["inf"], ["nan"]),
    "attr": (["-inf"], ["inf"]),
}
"""ATK's default `ranges.invalid` by the type of an input."""
INVALID_KINDS = tuple(_INVALID)
_WITHOUT_INVALID = frozenset({"bool", "attr_bool", "string", "non_param", "torch_dtype", "load_tensor_data"})
_TRIES = 200

Change = Callable[[SpecInput, CaseInput], CaseInput]


def regular_cases(spec: Spec, count: int, rng: random.Random, *, invalid: Sequence[str] = INVALID_KINDS) -> list[Case]:
    """`count` cases with ATK's quotas and invalid values, the latter for inputs of these types only.

    Raises Unsatisfiable where no shape of an input fits its `max_length`.
    """
    spaces = {id(given): shape_space(given) for given in _inputs(spec) if is_tensor(given.kind)}
    quotas = _scaled_quotas(spec)

    def finish(case: Case) -> Case:
        case = _changed(spec, case, lambda given, drawn: _within_bytes(spaces[id(given)], drawn, rng))
        case = _meet_quota(spec, case, spaces, quotas, rng)
        return _changed(spec, case, lambda given, drawn: _perhaps_invalid(given, drawn, invalid, rng), every=True)

    return [finish(case) for case in draw_cases(spec, count, rng)]


def boundary_cases(spec: Spec, rng: random.Random) -> list[Case]:
    """The boundary cases that `extra_numbers` asks for: all kinds in turn, cut to the number where it is one."""
    tensors = [given for given in _inputs(spec) if is_tensor(given.kind)]
    if not spec.extra_numbers or not tensors:
        return []
    cases: list[Case] = []
    for kind, make in _KINDS.items():
        counts = [_count(given, kind) for given in tensors if given.boundary.get(kind, True)]
        if not counts:
            continue
        drawn = regular_cases(spec, max(counts), rng, invalid=())
        cases += [_on_the_border(spec, case, kind, make, place, rng) for place, case in enumerate(drawn)]
    wanted = cases if spec.extra_numbers == "all" else cases[: int(spec.extra_numbers)]
    return [replace(case, index=place, id=place, is_boundary=True) for place, case in enumerate(wanted)]


# -- regular cases ----------------------------------------------------------------------------------------------------


def _inputs(spec: Spec) -> list[SpecInput]:
    return [*((spec.tensor_input,) if spec.tensor_input else ()), *spec.method_inputs, *spec.inputs]


def _changed(spec: Spec, case: Case, change: Change, *, every: bool = False) -> Case:
    """The case with each tensor changed, the members of lists one by one; `every`: other inputs too."""

    def one(given: SpecInput, drawn: CaseInput) -> CaseInput:
        if not every and not is_tensor(given.kind):
            return drawn
        if drawn.members is None:
            return change(given, drawn)
        return replace(drawn, members=tuple(change(given, member) for member in drawn.members))

    pairs = zip(spec.inputs, case.inputs, strict=True)
    receiver = one(spec.tensor_input, case.tensor_input) if spec.tensor_input and case.tensor_input else None
    method_pairs = zip(spec.method_inputs, case.method_inputs, strict=True)
    return replace(
        case,
        inputs=tuple(one(given, drawn) for given, drawn in pairs),
        tensor_input=receiver,
        method_inputs=tuple(one(given, drawn) for given, drawn in method_pairs),
    )


def _within_bytes(space: ShapeSpace, drawn: CaseInput, rng: random.Random) -> CaseInput:
    """The same, or a smaller shape where only the elements and not the bytes fit `max_length`, if there is one."""
    size = bytes_of(drawn.dtype)
    if drawn.shape is None or math.prod(drawn.shape) * size <= space.max_length:
        return drawn
    try:
        return replace(drawn, shape=draw_shape(replace(space, max_length=space.max_length // size), rng))
    except Unsatisfiable:
        return drawn


def bytes_of(dtype: str | None) -> int:
    """How many bytes an element takes; 4 where the name does not say."""
    digits = re.search(r"(\d+)", dtype or "")
    if dtype in ("bool", "attr_bool") or (dtype or "").startswith("fp8"):
        return 1
    return 8 if dtype == "double" else max(int(digits.group(1)) // 8, 1) if digits else 4


def _scaled_quotas(spec: Spec) -> list[tuple[float, float]]:
    """Elements and share, the largest first; ATK scales the elements by the inputs' mean `max_length`."""
    lengths = [given.max_length or DEFAULT_MAX_LENGTH for given in _inputs(spec)] or [DEFAULT_MAX_LENGTH]
    ratio = sum(lengths) / len(lengths) / DEFAULT_MAX_LENGTH
    wanted = QUOTAS if spec.shape_distributions is None else spec.shape_distributions
    return sorted(((round(elements * ratio), share) for elements, share in wanted), reverse=True)


def _meet_quota(
    spec: Spec, case: Case, spaces: dict[int, ShapeSpace], quotas: list[tuple[float, float]], rng: random.Random
) -> Case:
    luck = rng.random()
    wanted = next((elements for elements, share in quotas if luck < share), 0)
    places = [k for k, given in enumerate(spec.inputs) if given.kind == "tensor"]
    rng.shuffle(places)
    for place in places if wanted > 1 else ():
        space, drawn = spaces[id(spec.inputs[place])], case.inputs[place]
        if drawn.shape is not None and math.prod(drawn.shape) >= wanted:
            return case
        limit = space.max_length // bytes_of(drawn.dtype)
        corners = corner_shapes(replace(space, max_length=limit))
        if not corners or math.prod(corners[-1]) < wanted:
            continue
        for _ in range(_TRIES):
            shape = draw_shape(space, rng)
            if wanted <= math.prod(shape) <= limit:
                inputs = list(case.inputs)
                inputs[place] = replace(drawn, shape=shape)
                return replace(case, inputs=tuple(inputs))
    return case


def _perhaps_invalid(given: SpecInput, drawn: CaseInput, kinds: Sequence[str], rng: random.Random) -> CaseInput:
    kind = next((kind for kind in kinds if given.kind.startswith(kind)), "")
    if not kind or drawn.dtype in _WITHOUT_INVALID or rng.random() < given.valid_weights:
        return drawn
    choices = Choices(_INVALID[kind]) if given.invalid is None else given.invalid
    return replace(drawn, values=draw_choice(choices, rng)) if choices.values else drawn


# -- boundary cases ---------------------------------------------------------------------------------------------------


def _ranks(given: SpecInput) -> list[int]:
    ranks = shape_space(given).ranks
    return sorted({rank for low, high in ranks.intervals for rank in range(low, min(high, MAX_RANK) + 1)})


def _count(given: SpecInput, kind: str) -> int:
    """How many boundary cases of a kind ATK draws for an input."""
    dtypes = max(len(given.dtypes.values), 1)
    if kind == "has_infnan":
        return max(dtypes, 4)
    if kind in ("has_empty", "has_upper_border"):
        return max(dtypes, sum(_ranks(given)))
    return max(dtypes, len(_ranks(given)))


def _axis(shape: tuple[int, ...], place: int) -> int:
    return place % len(shape) if shape else 0


def _empty(shape: tuple[int, ...], place: int) -> tuple[int, ...]:
    axis = _axis(shape, place)
    return tuple(0 if k == axis else n for k, n in enumerate(shape)) or (0,)


def _upper(shape: tuple[int, ...], place: int) -> tuple[int, ...]:
    axis = _axis(shape, place)
    return tuple(UPPER_BORDER if k == axis else 1 for k in range(len(shape))) or (UPPER_BORDER,)


_KINDS: dict[str, Callable[[tuple[int, ...], int], tuple[int, ...]]] = {
    "has_empty": _empty,
    "has_infnan": lambda shape, _: shape,
    "has_scalar": lambda _, __: (),
    "has_lower_border": lambda shape, _: (1,) * len(shape),
    "has_upper_border": _upper,
}
_INFNAN = (["inf"], ["-inf"], ["nan"], ["-inf", "inf"])


def _on_the_border(
    spec: Spec, case: Case, kind: str, make: Callable[..., tuple[int, ...]], place: int, rng: random.Random
) -> Case:
    """Ranks and dtypes take turns, so that each of them occurs."""

    def change(given: SpecInput, drawn: CaseInput) -> CaseInput:
        if not given.boundary.get(kind, True):
            return drawn
        ranks, dtypes = _ranks(given), given.dtypes.values
        rank = ranks[place % len(ranks)] if ranks else 0
        shape = drawn.shape if kind == "has_infnan" else make(_of_rank(given, rank, rng), place)
        values = list(_INFNAN[place % len(_INFNAN)]) if kind == "has_infnan" else drawn.values
        dtype = str(dtypes[place % len(dtypes)]) if dtypes and not is_plural(given.kind) else drawn.dtype
        return replace(drawn, shape=shape, values=values, dtype=dtype)

    return _changed(spec, case, change)


def _of_rank(given: SpecInput, rank: int, rng: random.Random) -> tuple[int, ...]:
    """Axes for a shape of that rank, as small as allowed where drawn ones do not fit `max_length`."""
    space = shape_space(given)
    shape = tuple(space.axis(k).draw(rng) for k in range(rank))
    return shape if math.prod(shape) <= space.max_length else tuple(space.smallest(rank))
