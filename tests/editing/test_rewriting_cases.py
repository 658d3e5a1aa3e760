"""Standards of single cases in a case file, in the formatting the file has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opscan.editing import apply_edits, replace_case_acc
from opscan.model import CaseFile, Edit
from opscan.reading import locate, read_file

INPUT = '"inputs": [{"name": "x", "type": "tensor", "dtype": "fp32", "shape": [1], "range_values": [NaN, 1e-4]}]'
MIX = {"mixed_tolerance_bm": {"fp32_rtol": 1e-4}}


def case_file(folder: Path, text: str) -> CaseFile:
    path = folder / "all_x.json"
    path.write_bytes(text.encode("utf-8"))
    read = read_file(path)
    assert isinstance(read, CaseFile)
    return read


@pytest.mark.parametrize(
    ("case", "value", "after"),
    [
        ('"standard": {"acc": "equal", "perf": "x"}', "default", '"standard": {"acc": "default", "perf": "x"}'),
        ('"standard": {"acc": "equal"}', MIX, '"standard": {"acc": {"mixed_tolerance_bm": {"fp32_rtol": 0.0001}}}'),
        ('"standard":{"acc":"equal"}', MIX, '"standard":{"acc":{"mixed_tolerance_bm":{"fp32_rtol":0.0001}}}'),
        ('"standard": {"acc": {\n "single_bm": {\n }\n}}', "equal", '"standard": {"acc": "equal"}'),
        ('"standard": {"perf": "x"}', "equal", '"standard": {"acc": "equal", "perf": "x"}'),
        ('"standard": {\n  "perf": "x"\n}', "equal", '"standard": {\n  "acc": "equal",\n  "perf": "x"\n}'),
        ('"standard": {}', "equal", '"standard": {"acc": "equal"}'),
        ('"standard": {"acc": 1, "acc": "equal"}', "default", '"standard": {"acc": 1, "acc": "default"}'),
        ('"standard": {"acc": null}', "标准", '"standard": {"acc": "\\u6807\\u51c6"}'),
    ],
)
def test_acc_of_one_case(tmp_path: Path, case: str, value: Any, after: str) -> None:
    other = '{"id": 0, "name": "a", "standard": {"acc": "keep"}, "inputs": []}'
    text = f'[{other},\r\n {{"id": 1, "name": "a", {case}, {INPUT}}}]\n'
    read = case_file(tmp_path, text)
    edit = replace_case_acc(1, value, locate(read, [1])[1])
    assert isinstance(edit, Edit)
    edited = apply_edits(read.source, [edit])
    assert edited.refused == ()
    assert edited.text == text.replace(case, after)
    again = case_file(tmp_path, edited.text)
    assert again.cases[1].acc == value
    assert replace_case_acc(1, value, locate(again, [1])[1]) == "the case already says this"


def test_a_case_without_standard_gets_one(tmp_path: Path) -> None:
    text = json.dumps([{"id": 0, "name": "a", "inputs": []}], indent=4)
    read = case_file(tmp_path, text)
    edit = replace_case_acc(0, "equal", locate(read, [0])[0])
    assert isinstance(edit, Edit)
    edited = apply_edits(read.source, [edit])
    assert edited.text == text.replace('"id"', '"standard": {"acc": "equal"},\n        "id"')


def test_hundreds_of_cases_at_once(tmp_path: Path) -> None:
    cases = [{"id": n, "name": "a", "standard": {"acc": "equal"}, "inputs": []} for n in range(400)]
    read = case_file(tmp_path, json.dumps(cases, indent=1))
    spans = locate(read, range(0, 400, 2))
    edits = [replace_case_acc(n, MIX, spans[n]) for n in spans]
    edited = apply_edits(read.source, [edit for edit in edits if isinstance(edit, Edit)])
    assert len(edited.applied) == 200
    for n in spans:
        cases[n]["standard"] = {"acc": MIX}
    assert json.loads(edited.text) == cases
