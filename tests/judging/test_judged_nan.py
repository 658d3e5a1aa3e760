"""Which specs can give an output that is NaN in part: then a correct copy fails `equal`, and no edit to it is safe."""

from __future__ import annotations

from pathlib import Path

import pytest

from opscan import reading
from opscan.judging.safety import nan_possible
from opscan.model import Case, CaseInput, Evidence, Spec

SPEC = """\
name: torch.where
standard: {{acc: equal}}
{top}
inputs:
  - name: condition
    type: tensor
    dtypes: {{values: [bool]}}
    ranges: {{valid: {{values: [[0, 1]]}}}}
  - name: x
    type: {kind}
    dtypes: {{values: [{dtype}]}}
    ranges: {ranges}
"""
QUIET = "{valid: {values: [[-5, 5]]}, invalid: {values: [[-5, 5]]}}"
DRAWN = Case(0, 0, "torch.where", (CaseInput("x", "tensor", "fp32", (2,), ["nan"]),))


@pytest.mark.parametrize(
    ("fields", "possible"),
    [
        ({}, True),  # ATK's own default for the invalid values holds NaN
        ({"ranges": QUIET}, False),
        ({"ranges": "{valid: {values: [[-5, 5]]}, invalid: {values: []}}"}, False),
        ({"ranges": "{valid: {values: [[-5, 5]]}, invalid: {values: ['nan']}}"}, True),
        ({"ranges": "{valid: {values: [[-5, 5], 'nan']}, invalid: {values: [0]}}"}, True),
        ({"ranges": "{valid: {values: [[-5, 5]]}, valid_weights: 1.0}"}, False),
        ({"dtype": "int32"}, False),
        ({"dtype": "complex64"}, True),
        ({"kind": "scalar"}, False),
        ({"ranges": QUIET, "top": "extra_numbers: all"}, True),
    ],
)
def test_by_what_the_spec_says(tmp_path: Path, fields: dict[str, str], possible: bool) -> None:
    path = tmp_path / "torch.where.yaml"
    defaults = {"top": "", "kind": "tensor", "dtype": "fp32", "ranges": "{valid: {values: [[-5, 5]]}}"}
    path.write_text(SPEC.format(**{**defaults, **fields}), encoding="utf-8")
    spec = reading.read_file(path)
    assert isinstance(spec, Spec), spec
    assert nan_possible(spec, Evidence("generator-static")) is possible
    assert nan_possible(spec, Evidence("cases", (DRAWN,))) is True
    by_default = not set(fields) - {"dtype"}
    assert nan_possible(spec, Evidence("cases")) is (possible and not by_default)  # none of the generated ones is


def test_a_single_tensor_that_is_all_nan_gives_an_output_that_is_all_nan(tmp_path: Path) -> None:
    path = tmp_path / "torch.relu.yaml"
    text = SPEC.format(top="", kind="tensor", dtype="fp32", ranges="{valid: {values: [[-5, 5]]}}")
    head, _, rest = text.partition("  - name: condition\n")
    path.write_text(head + "  - name: x\n" + rest.partition("  - name: x\n")[2], encoding="utf-8")
    spec = reading.read_file(path)
    assert isinstance(spec, Spec), spec
    assert not nan_possible(spec, Evidence("declared"))
