"""ATK's rules beyond drawing each input: invalid values, quotas of large shapes, bytes, boundary cases."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
from shapes_builders import attribute, make_spec, tensor

from opscan.model import Choices, Source, Spec
from opscan.reading.specs import read_spec
from opscan.reading.values import Tree, read_tree
from opscan.shapes.atk_cases import UPPER_BORDER, boundary_cases, bytes_of, regular_cases

NO_QUOTAS: dict[str, Any] = {"shape_distributions": ((0.0, 1.0),)}


def share(spec: Spec, wanted: object, *, count: int = 4000) -> float:
    drawn = regular_cases(spec, count, random.Random(1))
    return sum(case.inputs[0].values == wanted for case in drawn) / count


def test_values_are_invalid_in_one_of_twenty_cases() -> None:
    spec = make_spec(tensor("x"), **NO_QUOTAS)
    assert share(spec, [-1, 1]) == pytest.approx(0.95, abs=0.015)
    assert share(spec, ["nan"]) == pytest.approx(0.05 / 4, abs=0.006)


@pytest.mark.parametrize(
    ("invalid", "weight", "expected"),
    [(Choices((["inf"],)), 0.5, 0.5), (Choices(), 0.5, 0.0), (Choices((["inf"],)), 1.0, 0.0)],
)
def test_the_spec_says_what_is_invalid_and_how_often(invalid: Choices, weight: float, expected: float) -> None:
    spec = make_spec(tensor("x", invalid=invalid, valid_weights=weight), **NO_QUOTAS)
    assert share(spec, ["inf"]) == pytest.approx(expected, abs=0.03)


def test_text_and_truth_values_are_never_invalid() -> None:
    spec = make_spec(attribute("mode", ("sum",), "string", valid_weights=0.0), **NO_QUOTAS)
    assert share(spec, "sum", count=50) == 1.0


def test_a_quota_of_large_shapes() -> None:
    spec = make_spec(
        tensor("x", (2,), ([1, 100],), max_length=2**32 - 1), tensor("y", (1,), (3,), max_length=2**32 - 1),
        shape_distributions=((5000, 0.5), (9000, 0.1)),
    )  # fmt: skip
    sizes = [math.prod(case.inputs[0].shape or ()) for case in regular_cases(spec, 2000, random.Random(1))]
    assert sum(size >= 5000 for size in sizes) / 2000 >= 0.47
    assert sum(size >= 9000 for size in sizes) / 2000 >= 0.05
    assert min(sizes) < 1000


def test_a_quota_that_cannot_be_met_ends() -> None:
    spec = make_spec(tensor("x", (1,), (4,)), shape_distributions=((1e12, 1.0),))
    assert {case.inputs[0].shape for case in regular_cases(spec, 50, random.Random(1))} == {(4,)}


def test_elements_and_bytes_stay_within_max_length() -> None:
    spec = make_spec(tensor("x", (1,), ([1, 1000],), ("fp64", "int8"), max_length=1000), **NO_QUOTAS)
    for case in regular_cases(spec, 400, random.Random(1)):
        assert math.prod(case.inputs[0].shape or ()) * bytes_of(case.inputs[0].dtype) <= 1000


def test_boundary_cases_of_every_kind() -> None:
    spec = make_spec(tensor("x", (2, 3), (8, 9)), tensor("y", (1,), (7,), boundary={"has_empty": False}),
                     extra_numbers="all", **NO_QUOTAS)  # fmt: skip
    cases = boundary_cases(spec, random.Random(1))
    assert all(case.is_boundary for case in cases)
    shapes = [case.inputs[0].shape or () for case in cases]
    assert sum(0 in shape for shape in shapes) == 5
    assert sum(UPPER_BORDER in shape for shape in shapes) == 5
    assert {shape for shape in shapes if shape and set(shape) == {1}} == {(1, 1), (1, 1, 1)}
    assert () in shapes
    assert {str(case.inputs[0].values) for case in cases} >= {"['inf']", "['-inf']", "['nan']"}
    assert not [case for case in cases if 0 in (case.inputs[1].shape or ())]


@pytest.mark.parametrize(("extra", "expected"), [(0, 0), (3, 3), (1000, 5 + 4 + 2 + 2 + 5)])
def test_so_many_boundary_cases(extra: int, expected: int) -> None:
    spec = make_spec(tensor("x", (2, 3), (8, 9)), extra_numbers=extra, **NO_QUOTAS)
    assert len(boundary_cases(spec, random.Random(1))) == expected


DESIGN = """\
name: torch.relu
shape_distributions: [[100, 0.5], [1000, 0.1]]
inputs:
  - name: x
    type: tensor
    dtypes: {values: [fp32]}
    ranges:
      valid:
        values: [[-1, 1], [0, 1]]
        random_types: [{name: nd, mean: [0, 0], std: [1, 2]}, {name: default}]
      invalid: {values: [["nan"]]}
      valid_weights: 0.9
"""


def test_they_are_read_from_a_design() -> None:
    tree = read_tree(Source(Path("x.yaml"), DESIGN))
    assert isinstance(tree, Tree)
    spec = read_spec(tree.source, tree)
    assert spec.shape_distributions == ((100.0, 0.5), (1000.0, 0.1))
    (given,) = spec.inputs
    assert given.ranges.values == ({"name": "nd", "mean": [0, 0], "std": [1, 2]}, [0, 1])
    assert given.invalid == Choices((["nan"],))
    assert given.valid_weights == 0.9
