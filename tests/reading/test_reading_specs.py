"""Case designs: what is read, and every fault at its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opscan.editing import apply_edits
from opscan.model import Choices, Fault, Spec
from opscan.reading import read_file

DESIGN = """\
# torch.where
api: pytorch
api_type: function
name: torch.where
aclnn_name: SWhere
generate: generator_where
backward: true
dtype_numbers: 50
extra_numbers: all
outputs: 0
standard:
  acc:
    mixed_tolerance_bm: {fp32_rtol: 1.0e-4}
  perf: not_key
inputs:
  - name: condition
    type: tensor
    backward: false
    dtypes: {values: [bool]}
    shapes:
      dim_numbers: {values: [1, 2], weights: [1, 3]}
      dim_values: [{values: [[1, 8]]}, {values: [4]}]
      max_length: 4096
    boundary: {has_empty: false, has_infnan: true}
  - name: null
    type: tensors
    required: false
    dtypes: {values: [fp32, bf16]}
    ranges: {valid: {values: [[-5, 5], "inf"]}, invalid: {values: []}}
    tuple_numbers: {values: [2, 3]}
    outlier_values: [0, 1.5]
    align_32B: true
method_inputs:
  - {name: dim, type: attr, dtypes: {values: [int]}}
tensor_input: {name: self, type: tensor, dtypes: {values: [fp16]}}
"""


def write(folder: Path, text: str | bytes, name: str = "x.yaml") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    return path


def read_spec_of(folder: Path, text: str | bytes) -> Spec:
    spec = read_file(write(folder, text))
    assert isinstance(spec, Spec), spec
    return spec


def test_a_whole_design(tmp_path: Path) -> None:
    spec = read_spec_of(tmp_path, DESIGN)
    assert spec.faults == ()
    assert (spec.name, spec.aclnn_name, spec.generate, spec.backward) == (
        "torch.where",
        "SWhere",
        "generator_where",
        True,
    )
    assert (spec.dtype_numbers, spec.extra_numbers, spec.outputs) == (50, "all", 0)
    assert spec.acc == {"mixed_tolerance_bm": {"fp32_rtol": 1e-4}}
    condition, tensors = spec.inputs
    assert (condition.name, condition.kind, condition.backward, condition.required) == (
        "condition",
        "tensor",
        False,
        True,
    )
    assert condition.dim_numbers == Choices((1, 2), (1.0, 3.0))
    assert condition.dim_values == (Choices(([1, 8],)), Choices((4,)))
    assert condition.max_length == 4096
    assert condition.boundary == {"has_empty": False, "has_infnan": True}
    assert condition.ranges == Choices()
    assert condition.span is not None
    assert condition.span.line == 16
    assert (tensors.name, tensors.kind, tensors.required, tensors.align_32b) == (None, "tensors", False, True)
    assert tensors.ranges == Choices(([-5, 5], "inf"))
    assert tensors.tuple_numbers == Choices((2, 3))
    assert tensors.outlier_values == (0.0, 1.5)
    assert [one.name for one in spec.method_inputs] == ["dim"]
    assert spec.tensor_input is not None
    assert spec.tensor_input.dtypes == Choices(("fp16",))
    span = spec.spans[("inputs", 1, "dtypes", "values", 1)]
    assert spec.source.text[span.start : span.end] == "bf16"
    key = spec.key_spans[("standard", "acc")]
    assert (key.line, key.column) == (12, 3)


def test_bom_crlf_and_defaults(tmp_path: Path) -> None:
    spec = read_spec_of(
        tmp_path, b"\xef\xbb\xbfname: \xe4\xb8\xad # \xf0\x9f\x98\x80\r\ninputs:\r\n- {type: scalar}\r\n"
    )
    assert spec.source.bom
    assert spec.source.text.startswith("name: 中 # 😀\r\n")
    assert spec.spans[("name",)].column == 7
    assert spec.spans[("inputs", 0, "type")].line == 3
    assert (spec.acc, spec.api, spec.api_type, spec.generate, spec.dtype_numbers) == (
        None,
        "pytorch",
        "function",
        "default",
        700,
    )


INPUT = "inputs:\n- type: tensor\n"
FAULTS: list[tuple[str, str, str, str]] = [
    # text, rule, the text that the span covers, words of the message
    ("nmae: x\nstandard: {acc: equal}\n" + INPUT, "unknown-key", "nmae", "did you mean 'name'?"),
    (INPUT + "  dtpyes: {values: [fp32]}\n", "unknown-key", "dtpyes", "did you mean 'dtypes'?"),
    (INPUT + "  shapes: {dim_number: {values: [1]}}\n", "unknown-key", "dim_number", "'dim_numbers'"),
    (INPUT + "  dtypes: {value: [fp32]}\n", "unknown-key", "value", "'values'"),
    (INPUT + "  ranges: {vaild: {values: [1]}}\n", "unknown-key", "vaild", "'valid'"),
    (INPUT + "  boundary: {has_nan: true}\n", "unknown-key", "has_nan", "ATK refuses"),
    (INPUT + "  standard: {acc: equal}\n", "unknown-key", "standard", "of an input"),
    ("standard: {acc: equal, accuracy: 1}\n" + INPUT, "unknown-key", "accuracy", "`standard`"),
    ("constraints: [a]\n" + INPUT, "unknown-key", "constraints", ""),
    ("name: x\n" + INPUT + "  value: {type: list, values: [1]}\n", "unknown-key", "value", ""),
    ("standard: equal\n" + INPUT, "wrong-type", "equal", "must be a mapping"),
    ("standard: {acc: [equal]}\n" + INPUT, "wrong-type", "[equal]", "must be text"),
    ("standard: {acc: {single_bm: high}}\n" + INPUT, "wrong-type", "high", "thresholds"),
    ("backward: 'true'\n" + INPUT, "wrong-type", "'true'", "true or false"),
    ("name: [a]\n" + INPUT, "wrong-type", "[a]", "text"),
    ("dtype_numbers: many\n" + INPUT, "wrong-type", "many", "whole number"),
    ("dtype_numbers: 1.5\n" + INPUT, "wrong-type", "1.5", "whole number"),
    ("extra_numbers: some\n" + INPUT, "wrong-type", "some", ""),
    ("outputs: [0]\n" + INPUT, "wrong-type", "[0]", ""),
    ("standard: {acc: equal}\ninputs: {x: 1}\n", "wrong-type", "{x: 1}", "a list"),
    ("inputs: [x]\n", "wrong-type", "x", "one input"),
    (INPUT + "  dtypes: [fp32]\n", "wrong-type", "[fp32]", "`values`"),
    (INPUT + "  dtypes: {values: fp32}\n", "wrong-type", "fp32", "a list"),
    (INPUT + "  dtypes: {values: [32]}\n", "wrong-type", "32", "dtype"),
    (INPUT + "  outlier_values: [1]\n", "wrong-type", "[1]", "two numbers"),
    (INPUT + "  required: 1\n", "wrong-type", "1", ""),
    ("1: a\n" + INPUT, "wrong-type", "1", "quotes"),
    ("name: a\nname: b\n" + INPUT, "duplicate-key", "name", "line 1"),
    ("inputs: [{name: x}]\n", "missing-key", "{name: x}", "no `type`"),
    ("inputs: []\n", "no-inputs", "inputs", "empty"),
    ("name: x\napi_type: f\ninputs:\n", "no-inputs", "inputs", "empty"),
    (INPUT + "  dtypes: {values: [fp33]}\n", "unknown-dtype", "fp33", "did you mean"),
    (INPUT + "  dtypes: {values: [float16]}\n", "unknown-dtype", "float16", "'fp16'"),
    ("inputs: [{type: tensr}]\n", "unknown-input-type", "tensr", "'tensor'"),
    (INPUT + "  dtypes: {values: [fp32, fp16], weights: [1]}\n", "weights-length", "[1]", "1 weights for 2"),
    ("name: yes\n" + INPUT, "yaml-trap", "yes", "as true"),
    ("standard: {acc: off}\n" + INPUT, "yaml-trap", "off", "as false"),
    ("dtype_numbers: 0644\n" + INPUT, "yaml-trap", "0644", "octal"),
    ("extra_numbers: 12:30\n" + INPUT, "yaml-trap", "12:30", "base 60"),
    ("version: 2024-01-02\n" + INPUT, "yaml-trap", "2024-01-02", "date"),
    (
        "inputs: [{type: attr, dtypes: {values: [string]}, ranges: {valid: {values: [NO]}}}]\n",
        "yaml-trap",
        "NO",
        "as false",
    ),
    ("name: x\n" + INPUT + "# c\n  ranges: {valid:{values: [1]}}\n", "yaml-portability", "{", "readers"),
]


@pytest.mark.parametrize(("text", "rule", "covered", "words"), FAULTS)
def test_one_fault_at_its_place(tmp_path: Path, text: str, rule: str, covered: str, words: str) -> None:
    spec = read_spec_of(tmp_path, text)
    assert [fault.rule for fault in spec.faults] == [rule], spec.faults
    fault = spec.faults[0]
    assert fault.span is not None
    found = text[fault.span.start : fault.span.end]
    assert found == covered or rule == "yaml-portability"
    assert words in fault.message
    assert fault.edit is None


def test_a_spec_without_inputs_is_still_a_spec(tmp_path: Path) -> None:
    spec = read_spec_of(tmp_path, "name: torch.eye\nstandard: {acc: equal}\n")
    assert [fault.rule for fault in spec.faults] == ["missing-key"]
    assert spec.acc == "equal"


@pytest.mark.parametrize(
    "text",
    [
        "standard: {acc: {single_bm: {type: high_performance, on: true}}, perf: [0.8, 1]}\n" + INPUT,
        "version: 1.10\nstandard: {acc: null}\n" + INPUT,
        "backward: no\n" + INPUT,
        "inputs: [{type: attr, dtypes: {values: [bool]}, ranges: {valid: {values: [yes, no]}}}]\n",
        "inputs: [{type: attr, dtypes: {values: [string]}, ranges: {valid: {values: [1e-4, '1e5']}}}]\n",
        'inputs: [{type: tensor, dtypes: {values: [fp32]}, ranges: {valid: {values: ["-inf", inf, nan, "null"]}}}]\n',
        "inputs: [{type: attr, dtypes: {values: [float32, double, int64_t, int8_t, torch_dtype, non_param, float]}}]\n",
        "shape_distributions: [[0, 1.0]]\ninputs: [{type: attrs, dtypes: {values: [load_tensor_data, attr_bool]}}]\n",
        INPUT + "  dtypes: {values: [fp8e4m3, hf32], random_types: [{name: nd, mean: 0, std: 1}]}\n",
    ],
)
def test_what_real_files_write_is_accepted(tmp_path: Path, text: str) -> None:
    assert read_spec_of(tmp_path, text).faults == ()


NUMBERS: list[tuple[str, str, Any]] = [
    ("1e-4", "1.0e-4", 1e-4),
    ("1e5", "1.0e+5", 1e5),
    ("1.0e8", "1.0e+8", 1e8),
    ("1.e5", "1.0e+5", 1e5),
    ("1E-3", "1.0e-3", 1e-3),
    ("-2e-3", "-2.0e-3", -2e-3),
    ("+.5", "+0.5", 0.5),
    ("08", "8", 8),
    ("'1e-4'", "1.0e-4", 1e-4),
    ("&a 1e-4", "1.0e-4", 1e-4),
    ("inf", ".inf", float("inf")),
]


@pytest.mark.parametrize(("written", "meant", "value"), NUMBERS)
def test_numbers_as_text_in_thresholds(tmp_path: Path, written: str, meant: str, value: Any) -> None:
    text = f"# c\nstandard:\n  acc:\n    bm:\n      rtol: {written}  # r\n{INPUT}"
    spec = read_spec_of(tmp_path, text)
    (fault,) = spec.faults
    assert fault.rule == "number-as-text"
    assert fault.edit is not None
    assert fault.span is not None
    assert fault.span.line == 5
    edited = apply_edits(spec.source, [fault.edit])
    prefix = "&a " if written.startswith("&") else ""
    assert edited.text == text.replace(written, prefix + meant)
    again = read_spec_of(tmp_path, edited.text)
    assert again.faults == ()
    assert again.acc["bm"]["rtol"] == value


@pytest.mark.parametrize(
    ("text", "edits"),
    [
        (INPUT + "  ranges: {valid: {values: [[1e-8, 1e-4]], weights: [1e0]}}\n", ["1.0e-8", "1.0e-4", "1.0e+0"]),
        (INPUT + "  shapes: {dim_values: {values: [[1, 1e3]]}, max_length: 1e6}\n", ["1000", "1000000"]),
        (INPUT + "  outlier_values: [1e-1, 2]\n", ["1.0e-1"]),
        ("dtype_numbers: 1e2\n" + INPUT, ["100"]),
        ("standard: {perf: [1e-1, 1]}\n" + INPUT, ["1.0e-1"]),
        ("standard: {acc: {bm: {a: 2**-10, b: [1e-2], c: 1/1024}}}\n" + INPUT, [None, "1.0e-2", None]),
        ("shape_distributions: [[1e7, 0.3]]\n" + INPUT, ["1.0e+7"]),
    ],
)
def test_numbers_as_text_elsewhere(tmp_path: Path, text: str, edits: list[str | None]) -> None:
    spec = read_spec_of(tmp_path, text)
    assert {fault.rule for fault in spec.faults} == {"number-as-text"}
    assert [fault.edit and fault.edit.text for fault in spec.faults] == edits
    mended = apply_edits(spec.source, [fault.edit for fault in spec.faults if fault.edit])
    assert mended.refused == ()
    assert [f.rule for f in read_spec_of(tmp_path, mended.text).faults] == ["number-as-text"] * edits.count(None)


def test_private_dialects_are_reported_and_read(tmp_path: Path) -> None:
    text = (
        "name: x\nconstraints: [{a: b}]\ninvalid_combinations:\n  - [1]\n"
        "inputs:\n  - {name: b, type: attr, dtype: int, value: {type: list, values: [1]}}\n"
        "  - {name: q, type: tensor}\n"
    )
    spec = read_spec_of(tmp_path, text)
    assert [fault.rule for fault in spec.faults] == ["unknown-key"] * 4
    assert [one.name for one in spec.inputs] == ["b", "q"]


def test_anchors_and_merges_are_resolved(tmp_path: Path) -> None:
    text = (
        "inputs:\n- &x\n  name: a\n  type: tensor\n  dtypes: &d {values: [fp32]}\n"
        "- <<: *x\n  name: b\n- {name: c, type: tensor, dtypes: *d}\n"
    )
    spec = read_spec_of(tmp_path, text)
    assert spec.faults == ()
    assert [(one.name, one.kind, one.dtypes.values) for one in spec.inputs] == [
        ("a", "tensor", ("fp32",)),
        ("b", "tensor", ("fp32",)),
        ("c", "tensor", ("fp32",)),
    ]


def test_a_fault_behind_an_alias_is_reported_at_the_alias_without_an_edit(tmp_path: Path) -> None:
    text = "version: &v 1e-4\nstandard: {acc: {bm: {t: *v}}}\n" + INPUT
    (fault,) = read_spec_of(tmp_path, text).faults
    assert isinstance(fault, Fault)
    assert fault.span is not None
    assert text[fault.span.start : fault.span.end] == "*v"
    assert fault.edit is None
