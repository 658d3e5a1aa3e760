"""Drawing from a spec: every drawn value satisfies what the spec declares."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes_builders import attribute, make_spec, tensor

from opscan.model import Choices, SpecInput
from opscan.shapes import gather_evidence
from opscan.shapes.draw import draw_cases
from opscan.shapes.spaces import Unsatisfiable, corner_shapes, draw_shape, shape_space

axis_values = st.one_of(
    st.integers(1, 3000),
    st.tuples(st.integers(1, 300), st.integers(0, 500)).map(lambda p: [p[0], p[0] + p[1]]),
)
axis_choices = st.lists(axis_values, min_size=1, max_size=5)


@st.composite
def tensor_specs(draw: Any) -> SpecInput:
    ranks = tuple(draw(st.lists(st.integers(0, 8), min_size=1, max_size=4, unique=True)))
    per_axis = draw(st.booleans())
    lists = draw(st.lists(axis_choices, min_size=max(ranks) or 1, max_size=max(ranks) or 1))
    chosen = [Choices(tuple(values)) for values in (lists if per_axis else lists[:1])]
    if draw(st.booleans()):
        first = chosen[0]
        weights = tuple(draw(st.lists(st.floats(0.01, 5), min_size=len(first.values), max_size=len(first.values))))
        chosen[0] = Choices(first.values, weights)
    limit = draw(st.one_of(st.none(), st.integers(1, 10**7)))
    return SpecInput(
        "x",
        "tensor",
        dtypes=Choices(("fp32", "fp16", "bf16")),
        dim_numbers=Choices(ranks),
        dim_values=tuple(chosen),
        max_length=limit,
    )


def allowed(spec_input: SpecInput, position: int, length: int) -> bool:
    """Whether an axis may have this length, read off the spec anew."""
    choices = spec_input.dim_values[min(position, len(spec_input.dim_values) - 1)]
    pairs = [v if isinstance(v, list) else [v, v] for v in choices.values]
    return any(low <= length <= high for low, high in pairs)


def satisfies(spec_input: SpecInput, shape: tuple[int, ...]) -> bool:
    return (
        len(shape) in spec_input.dim_numbers.values
        and all(allowed(spec_input, i, n) for i, n in enumerate(shape))
        and math.prod(shape) <= (spec_input.max_length or 2**32 - 1)
    )


@settings(max_examples=150)
@given(tensor_specs(), st.integers(0, 2**32))
def test_every_shape_satisfies_the_spec(spec_input: SpecInput, seed: int) -> None:
    space = shape_space(spec_input)
    rng = random.Random(seed)
    try:
        shapes = [draw_shape(space, rng) for _ in range(8)] + corner_shapes(space)
    except Unsatisfiable:
        assert not space.feasible_ranks()
        return
    assert all(satisfies(spec_input, s) for s in shapes), shapes


@settings(max_examples=60)
@given(tensor_specs(), st.integers(0, 999))
def test_declared_evidence_satisfies_the_spec(spec_input: SpecInput, seed: int) -> None:
    evidence = gather_evidence(make_spec(spec_input), case_file=None, plugin=None, draws=12, seed=seed)
    if evidence.source == "none":
        assert "max_length" in evidence.reason
        return
    assert evidence.source == "declared"
    assert {c.inputs[0].dtype for c in evidence.cases} == {"fp32", "fp16", "bf16"}
    shapes = [c.inputs[0].shape for c in evidence.cases]
    assert all(s is not None and satisfies(spec_input, s) for s in shapes)
    if evidence.complete:
        assert len(set(shapes)) == 1


@settings(max_examples=60)
@given(tensor_specs())
def test_corners_are_the_extremes(spec_input: SpecInput) -> None:
    corners = corner_shapes(shape_space(spec_input))
    if not corners:
        return
    least, largest = corners
    fitting = [r for r in spec_input.dim_numbers.values if satisfies(spec_input, tuple(smallest(spec_input, r)))]
    assert (len(least), len(largest)) == (min(fitting), max(fitting))
    assert list(least) == smallest(spec_input, len(least))
    for i in range(len(largest)):
        longer = [n for n in every(spec_input, i) if n > largest[i]]
        grown = (*largest[:i], min(longer), *largest[i + 1 :]) if longer else ()
        assert not longer or not satisfies(spec_input, grown)


def every(spec_input: SpecInput, position: int) -> set[int]:
    choices = spec_input.dim_values[min(position, len(spec_input.dim_values) - 1)]
    return {n for v in choices.values for n in (range(v[0], v[1] + 1) if isinstance(v, list) else [v])}


def smallest(spec_input: SpecInput, rank: int) -> list[int]:
    return [min(every(spec_input, i)) for i in range(rank)]


def declared(*inputs: SpecInput, **fields: Any) -> Any:
    return gather_evidence(make_spec(*inputs, **fields), case_file=None, plugin=None)


def test_a_tight_limit_is_met_by_shrinking() -> None:
    wide = tensor("x", ranks=(8,), axes=(1, 1000), max_length=1000)
    evidence = declared(wide)
    shapes = [c.inputs[0].shape for c in evidence.cases]
    assert all(math.prod(s) <= 1000 and len(s) == 8 for s in shapes)
    assert any(1000 in s for s in shapes)


def test_no_shape_fits() -> None:
    evidence = declared(tensor("x", ranks=(3,), axes=(100,), max_length=10))
    assert evidence.source == "none"
    assert "fits its max_length" in evidence.reason


def test_weights_are_followed() -> None:
    weighted = SpecInput("x", "tensor", dim_numbers=Choices((1, 2), (99, 1)), dim_values=(Choices((5, 7), (0, 1)),))
    shapes = [c.inputs[0].shape for c in declared(weighted).cases]
    assert all(set(s) == {7} for s in shapes[:64])
    assert sum(len(s) == 1 for s in shapes) > 50


def test_one_pair_per_axis_is_no_list_per_axis() -> None:
    """`values: [[1, 2], [50, 60]]` is one choice for all axes, whatever its author meant."""
    shapes = [c.inputs[0].shape for c in declared(tensor("x", ranks=(2,), axes=([1, 2], [50, 60]))).cases]
    assert any(s[0] >= 50 for s in shapes)
    assert any(s[1] <= 2 for s in shapes)


def test_absent_dim_values_are_assumed_and_said() -> None:
    evidence = declared(tensor("x", axes=()))
    assert (evidence.source, evidence.certain) == ("declared", False)
    assert "dim_values of `x` absent" in evidence.reason
    assert any(1 in c.inputs[0].shape for c in evidence.cases)


def test_ranks_default_to_one_to_eight() -> None:
    plain = SpecInput("x", "tensor", dtypes=Choices(("fp32",)), dim_values=(Choices((1, 2)),))
    ranks = {len(c.inputs[0].shape) for c in declared(plain).cases}
    assert {2, 3, 4, 5, 8} <= ranks <= set(range(1, 9))


def test_oddities_in_choices_are_passed_over() -> None:
    odd = tensor("x", ranks=("2", 2, None), axes=("nan", [4, 3], True, 6))
    assert {c.inputs[0].shape for c in declared(odd).cases} == {(6, 6)}


@pytest.mark.parametrize(
    ("values", "dtype", "kind", "possible"),
    [
        (([2, 4],), "int", "attr", {2, 3, 4}),
        ((True, False), "bool", "attr", {True, False}),
        (("nd", "nz"), "string", "attr", {"nd", "nz"}),
        ((0.5,), "float", "attr", {0.5}),
        (("null",), "int", "attr", {"null"}),
        ((), "bool", "attr", {True, False}),
        ((), "string", "attr", {None}),
    ],
)
def test_attribute_values(values: tuple[Any, ...], dtype: str, kind: str, possible: set[Any]) -> None:
    cases = declared(tensor("x"), attribute("a", values, dtype, kind)).cases
    assert {c.inputs[1].values for c in cases} == possible
    assert {c.inputs[1].shape for c in cases} == {None}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (attribute("a", ([0.0, 1.0],), "float"), [0.0, 1.0]),
        (attribute("a", ([-128, 127],), "int64", "scalar"), [-128, 127]),
        (tensor("a", ranks=(1,), axes=(1,)), [-1, 1]),
    ],
)
def test_ranges_stay_ranges(item: SpecInput, expected: list[float]) -> None:
    assert all(c.inputs[1].values == expected for c in declared(tensor("x"), item).cases)


def test_absent_ranges_of_a_tensor_are_half_uniform_half_normal() -> None:
    bare = tensor("x", ranges=Choices())
    kinds = [isinstance(c.inputs[0].values, dict) for c in declared(bare).cases]
    assert 0.2 < sum(kinds) / len(kinds) < 0.8


def test_plural_inputs_have_members() -> None:
    tuples = attribute("dims", ([0, 3],), kind="attr_tuple", tuple_numbers=Choices(([1, 3],)))
    cases = declared(tensor("x"), tuples).cases
    assert {len(c.inputs[1].members) for c in cases} == {1, 2, 3}
    assert all(m.values in range(4) for c in cases for m in c.inputs[1].members)


def test_a_spec_without_inputs() -> None:
    evidence = declared()
    assert (evidence.source, evidence.complete, len(evidence.cases)) == ("declared", True, 64)


def test_fixed_shapes_always_meet_in_one_way() -> None:
    evidence = declared(tensor("x", (2,), (4,)), tensor("y", (1,), (4,)))
    assert (evidence.source, evidence.certain) == ("declared", True)
    assert {tuple(i.shape for i in case.inputs) for case in evidence.cases} == {((4, 4), (4,))}


def test_inputs_are_drawn_independently() -> None:
    cases = draw_cases(make_spec(tensor("x"), tensor("y")), 64, random.Random(1))
    assert len({(c.inputs[0].dtype, c.inputs[1].dtype) for c in cases}) == 4
    assert len({(len(c.inputs[0].shape or ()), len(c.inputs[1].shape or ())) for c in cases}) == 9


@pytest.mark.parametrize(
    ("inputs", "fields", "reason"),
    [
        ((tensor("x"), tensor("y")), {}, "shapes of `x` and `y` are drawn independently"),
        ((tensor(None), tensor(None)), {}, "shapes of `#0` and `#1` are drawn independently"),
        ((tensor("a"), tensor("b"), tensor("c")), {}, "shapes of `a`, `b` and `c` are"),
        ((tensor("x", (2,), (4,)), tensor("y", (1,), (4, 5))), {}, "no generator plugin relates them"),
        ((tensor("t", kind="tensors", tuple_numbers=Choices((2,))),), {}, "the tensors in `t` are drawn independently"),
        ((attribute("dim", (1,)),), {"tensor_input": tensor("s"), "method_inputs": (tensor("o"),)}, "`s` and `o`"),
        ((tensor("x"), tensor("y")), {"generate": "lost"}, "generator `lost` is not in any plugin beside the spec"),
    ],
)
def test_unrelated_tensors_give_no_evidence(inputs: tuple[SpecInput, ...], fields: Any, reason: str) -> None:
    evidence = declared(*inputs, **fields)
    assert (evidence.source, evidence.cases, evidence.certain, evidence.complete) == ("none", (), False, False)
    assert reason in evidence.reason


def test_single_elements_beside_one_tensor_leave_no_doubt() -> None:
    evidence = declared(tensor("x"), tensor("low", (1,), (1,)), tensor("high", (1,), (1,)))
    assert (evidence.source, evidence.certain) == ("declared", True)
    assert {c.inputs[2].shape for c in evidence.cases} == {(1,)}


@pytest.mark.parametrize(
    ("item", "fields", "complete"),
    [
        (tensor("x", (2,), (4,)), {}, True),
        (tensor("x", (2,), (4,)), {"extra_numbers": "all"}, False),
        (tensor("x", (2,), (4, 5)), {}, False),
        (tensor("x", (1, 2), (4,)), {}, False),
    ],
)
def test_declared_is_complete_without_shape_freedom(item: SpecInput, fields: Any, complete: bool) -> None:
    assert declared(item, **fields).complete is complete


def test_corners_are_added_to_the_draws() -> None:
    evidence = declared(tensor("x", ranks=(2, 4), axes=(1, 3, [100, 200]), max_length=10**6))
    assert [c.index for c in evidence.cases] == list(range(66))
    assert [c.inputs[0].shape for c in evidence.cases[64:]] == [(1, 1), (200, 200, 3, 3)]
