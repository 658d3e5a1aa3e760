"""Case files: typed cases, faults with the case's place, and spans on request."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opscan.model import CaseFile, Source, Unread
from opscan.reading import locate, read_file
from opscan.reading.cases import read_cases

TENSOR = {"name": "x", "type": "tensor", "required": True, "dtype": "fp32", "shape": [2, 3], "range_values": [-1, 1]}
CASE: dict[str, Any] = {
    "id": 0,
    "name": "torch.add",
    "aclnn_name": "Add",
    "api_type": "function",
    "standard": {"acc": "equal", "perf": "not_key"},
    "inputs": [TENSOR, {"name": "dim", "type": "attr", "dtype": "int", "shape": None, "range_values": 1}],
}


def cases_of(folder: Path, text: str | list[Any]) -> CaseFile:
    path = folder / "all_x.json"
    path.write_bytes((text if isinstance(text, str) else json.dumps(text)).encode("utf-8"))
    read = read_file(path)
    assert isinstance(read, CaseFile), read
    return read


def test_a_case(tmp_path: Path) -> None:
    entry = {
        **CASE,
        "backward": True,
        "outputs": 1,
        "is_boundary": True,
        "formate": 1,
        "acl_json": "{}",
        "inputs": [*CASE["inputs"], [TENSOR, {**TENSOR, "shape": []}], []],
        "tensor_input": TENSOR,
        "method_inputs": [TENSOR],
    }
    read = cases_of(tmp_path, [entry])
    assert read.faults == ()
    (case,) = read.cases
    assert (case.index, case.id, case.name, case.aclnn_name, case.acc) == (0, 0, "torch.add", "Add", "equal")
    assert (case.backward, case.outputs, case.is_boundary) == (True, 1, True)
    x, dim, tensors, nothing = case.inputs
    assert (x.shape, x.dtype, x.values, x.backward) == ((2, 3), "fp32", [-1, 1], True)
    assert (dim.shape, dim.values, dim.kind) == (None, 1, "attr")
    assert tensors.shape is None
    assert [member.shape for member in tensors.members or ()] == [(2, 3), ()]
    assert nothing.members == ()
    assert case.tensor_input is not None
    assert len(case.method_inputs) == 1


def test_nan_and_infinity_are_values(tmp_path: Path) -> None:
    text = json.dumps([CASE]).replace("[-1, 1]", "[NaN, -Infinity]")
    read = cases_of(tmp_path, text)
    assert read.faults == ()
    low, high = read.cases[0].inputs[0].values
    assert math.isnan(low)
    assert high == -math.inf


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"standard": "equal"}, "`standard` is the text 'equal'"),
        ({"inputs": {"x": 1}}, "`inputs` is a mapping"),
        ({"inputs": ["x"]}, "`inputs[0]` is the text"),
        ({"inputs": [{**TENSOR, "shape": "2x3"}]}, "`inputs[0].shape` is the text"),
        ({"inputs": [{**TENSOR, "shape": [2, "n"]}]}, "not a size"),
        ({"inputs": [{**TENSOR, "shape": [2, -1]}]}, "not a size"),
        ({"inputs": [{**TENSOR, "shape": [True]}]}, "not a size"),
        ({"inputs": [[{**TENSOR, "dtype": 32}]]}, "`inputs[0][0].dtype`"),
        ({"inputs": [{"name": "x"}]}, "`inputs[0].type` is empty"),
        ({"backward": "yes"}, "`backward`"),
        ({"outputs": "0"}, "`outputs`"),
        ({"name": 1}, "`name`"),
    ],
)
def test_a_case_of_wrong_types_is_left_out_with_its_place(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    text = json.dumps([CASE, {**CASE, "id": 1, **change}, {**CASE, "id": 2}], indent=1)
    read = cases_of(tmp_path, text)
    assert [case.index for case in read.cases] == [0, 2]
    (fault,) = read.faults
    assert fault.rule == "wrong-type"
    assert fault.message.startswith("this case is left out")
    assert words in fault.message
    assert fault.span is not None
    assert json.loads(text[fault.span.start : fault.span.end])["id"] == 1


def test_duplicates(tmp_path: Path) -> None:
    text = json.dumps([CASE, CASE]).replace('"id": 0', '"id": 0, "api": "a", "api": "b"', 1)
    read = cases_of(tmp_path, text)
    assert [case.api for case in read.cases] == ["b", "pytorch"]
    assert [fault.rule for fault in read.faults] == ["duplicate-key", "duplicate-key"]
    assert "name and id of another one" in read.faults[0].message
    span = read.faults[1].span
    assert span is not None
    assert text[span.start : span.end] == '"api"'
    assert span.start == text.index('"api": "b"')


WHOLE = json.dumps([CASE, {**CASE, "id": 1}, {**CASE, "id": 2}], indent=2)


@pytest.mark.parametrize(
    ("text", "kept", "words"),
    [
        (WHOLE[:-40], 2, "cut off"),
        (WHOLE[:-1], 3, "cut off"),
        (WHOLE[: WHOLE.index('"id": 1')], 1, "cut off"),
        (WHOLE[:-1] + ",]", 3, "not JSON"),
        (WHOLE + "\nmore", 3, "not JSON"),
        (WHOLE.replace('"id": 2', "'id': 2"), 2, "not JSON"),
    ],
)
def test_whole_cases_before_a_break_are_kept(tmp_path: Path, text: str, kept: int, words: str) -> None:
    read = cases_of(tmp_path, text)
    assert len(read.cases) == kept
    (fault,) = read.faults
    assert fault.rule == "json-syntax"
    assert words in fault.message
    assert fault.span is not None
    with pytest.raises(json.JSONDecodeError) as raised:
        json.loads(text)
    assert (fault.span.line, fault.span.column) == (raised.value.lineno, raised.value.colno)
    assert len(locate(read, range(5))) == kept


def test_a_file_cut_in_its_first_case_is_unread(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(WHOLE[:300], encoding="utf-8")
    read = read_file(path)
    assert isinstance(read, Unread)
    assert (read.kind, read.faults[0].rule) == ("cases", "json-syntax")


@pytest.mark.parametrize(
    "text", ["[]", "{}", f'{{"cases": {WHOLE}}}', "[1, 2]", '[{"a": 1}]', '"x"', "{'a': 1}", "[1,", '{"a": [{"inputs":']
)
def test_other_json_is_none_of_ours(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    read = read_file(path)
    assert isinstance(read, Unread)
    assert (read.kind, read.faults) == ("other", ())


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_spans_of_case_standard_and_acc(tmp_path: Path, newline: str) -> None:
    entries = [
        {**CASE, "name": '中"\\ 😀 } ]', "standard": {"perf": {"acc": "no"}, "acc": {"bm": {"t": [1, "]"]}}}},
        {**CASE, "standard": {"perf": 1}},
        {"id": 7, "name": "x", "inputs": []},
        {**CASE, "id": 9, "inputs": [{"standard": {"acc": 1}, "type": "attr"}]},
    ]
    text = "\ufeff" + json.dumps(entries, indent=3, ensure_ascii=False).replace("\n", newline)
    read = cases_of(tmp_path, text)
    assert read.source.bom
    text = read.source.text
    spans = locate(read, [0, 1, 2, 3, 99])
    assert sorted(spans) == [0, 1, 2, 3]
    for index, entry in enumerate(entries):
        found = spans[index]
        assert json.loads(text[found.case.start : found.case.end]) == entry
        standard: Any = entry.get("standard")
        assert (found.standard is None) == (standard is None)
        if found.standard is not None:
            assert json.loads(text[found.standard.start : found.standard.end]) == standard
            assert (found.acc is None) == ("acc" not in standard)
        if found.acc is not None:
            assert json.loads(text[found.acc.start : found.acc.end]) == standard["acc"]
            assert found.acc.line == text[: found.acc.start].replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    assert locate(read, []) == {}


def test_deep_json_is_a_fault_or_other() -> None:
    for text in ("[" * 100_000, '[{"name": 1, "inputs": ' + "[" * 100_000, '{"a":' * 100_000):
        read = read_cases(Source(Path("x.json"), text))
        assert not isinstance(read, CaseFile)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "shape", "name", "acc", "dtype"]), inner, max_size=4)
    ),
    max_leaves=8,
)
ENTRIES = (
    st.dictionaries(st.sampled_from([*CASE, "tensor_input", "method_inputs", "backward"]), JSON_VALUES) | JSON_VALUES
)


@settings(max_examples=200)
@given(st.lists(ENTRIES, max_size=4), st.integers(0, 400), st.integers(0, 3), st.text('[]{},:"\\ x', max_size=2))
def test_any_list_is_read_without_an_exception(entries: list[Any], place: int, length: int, piece: str) -> None:
    text = json.dumps([CASE, *entries])
    for candidate in (text, text[:place] + piece + text[place + length :], text[:place]):
        read = read_cases(Source(Path("x.json"), candidate))
        if isinstance(read, CaseFile):
            spans = locate(read, range(len(entries) + 1))
            assert all(case.index in spans for case in read.cases)
