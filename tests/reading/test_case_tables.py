"""Cases that are kept as kinds are the cases that were read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from opscan.model import CaseFile, Source
from opscan.reading.case_table import CaseTable
from opscan.reading.case_values import read_case
from opscan.reading.cases import read_cases

TENSOR = {"name": "x", "type": "tensor", "dtype": "fp32", "shape": [2, 3], "range_values": [-1, 1]}


def entry(number: Any, *given: Any, **more: Any) -> dict[str, Any]:
    return {"id": number, "name": "torch.add", "standard": {"acc": "equal"}, "inputs": list(given), **more}


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


ENTRIES = [
    entry(0, TENSOR, TENSOR),
    entry(1, TENSOR, {**TENSOR, "shape": [1, 3]}),
    entry(2, TENSOR, TENSOR),
    entry("three", [TENSOR, {**TENSOR, "shape": []}], TENSOR),
    entry(1 << 70, [], TENSOR, tensor_input=TENSOR, method_inputs=[[TENSOR], {**TENSOR, "shape": [9]}]),
    entry(5, {**TENSOR, "shape": None}, {**TENSOR, "range_values": 1.0}),
    entry(6, {**TENSOR, "shape": None}, {**TENSOR, "range_values": True}),
    entry(7, {"name": "dim", "type": "attr", "dtype": "int", "range_values": 1}, more="12:30"),
    entry(None, TENSOR, TENSOR),
    {"inputs": [], "name": "torch.x"},
    entry(8, {**TENSOR, "range_values": deep(sys.getrecursionlimit() // 4)}),
]


def table(entries: list[Any]) -> CaseTable:
    read = read_cases(Source(Path("all_x.json"), json.dumps(entries)))
    assert isinstance(read, CaseFile)
    assert read.faults == ()
    assert isinstance(read.cases, CaseTable)
    return read.cases


def test_every_case_is_what_its_entry_says() -> None:
    cases = table(ENTRIES)
    expected = [read_case(index, one) for index, one in enumerate(ENTRIES)]
    assert list(cases) == expected
    assert cases == tuple(expected)
    assert cases != expected[1:]
    assert [cases[-1], *cases[2:4]] == [expected[-1], *expected[2:4]]
    with pytest.raises(IndexError):
        cases[len(ENTRIES)]
    assert [repr(case.inputs[-1].values) for case in cases[5:7]] == ["1.0", "True"]  # equal, and not the same


def test_equal_cases_are_of_one_kind() -> None:
    cases = table(ENTRIES)
    assert list(cases.numbers[:4]) == [0, 1, 0, 2]
    assert cases.numbers[8] == 0
    assert [cases.frame(number) for number in (0, 1)] == [0, 0]
    assert cases.shapes(1) == [[2, 3], [1, 3]]
    assert cases.kind(0) is cases.kind(0)
    assert cases.kind(0) == cases[0]


def test_another_standard() -> None:
    cases = table(ENTRIES)
    assert {case.acc for case in cases.with_acc("default")} == {"default"}
    assert cases[0].acc == "equal"


def test_many_kinds_outlive_what_is_remembered() -> None:
    entries = [entry(number, {**TENSOR, "shape": [number], "range_values": [0, number]}) for number in range(2500)]
    cases = table(entries)
    assert [case.inputs[0].shape for case in cases] == [(number,) for number in range(2500)]
    assert cases[0].inputs[0].values == [0, 0]
