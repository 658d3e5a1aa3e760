"""The names of other tools for what fits, per tensor and for a catalog."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import audit_samples as samples
import pytest
import yaml

from opscan.judging.exports import TOOLS, entry_for, load_entries
from opscan.judging.standards import load_standards
from opscan.model import Audit, NumericClass
from opscan.reporting.exports import export

ROWS = yaml.safe_load((Path(__file__).parent / "exported.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", ROWS, ids=[" ".join(map(str, row["of"])) for row in ROWS])
def test_names(row: dict[str, Any]) -> None:
    kind, standard, dtype = row["of"]
    for tool in TOOLS:
        entry = entry_for(load_entries(tool), NumericClass(kind), standard, dtype)
        assert entry is not None
        assert entry.name == row[tool], tool


@pytest.mark.parametrize("tool", TOOLS)
def test_every_standard_has_a_name_or_a_reason(tool: str) -> None:
    entries = load_entries(tool)
    for standard in load_standards().standards:
        for kind in NumericClass:
            entry = entry_for(entries, kind, standard, "fp32")
            assert entry is not None
            assert entry.name or entry.note


@pytest.mark.parametrize("tool", TOOLS)
def test_a_catalog(tool: str) -> None:
    files = {file["path"]: file for file in json.loads(export(samples.USUAL, tool))["files"]}
    assert set(files) == {report.path for report in samples.USUAL.files if report.kind in ("spec", "cases")}
    for report in samples.USUAL.files:
        if report.path in files:
            named = files[report.path]["tensors"]
            assert {name: set(row) for name, row in named.items()} == {t.name: set(t.dtypes) for t in report.tensors}
            assert report.tensors or files[report.path]["reason"] == report.reason


def test_the_operator_type_is_that_of_the_loosest_tensor() -> None:
    (file,) = json.loads(export(Audit("26.8.8", (samples.STRICT_FILE,), ()), "atb"))["files"]
    loosest = max(samples.STRICT_FILE.tensors, key=lambda tensor: tensor.extent[1])
    assert (file["op_type"], file["compute_times"]) == ("COMPUTE_FLOAT", loosest.extent[1])


def test_a_tensor_that_only_copies_keeps_its_bits_beside_one_that_sums() -> None:
    shared = [tensor for tensor in samples.STRICT_FILE.tensors if tensor.numeric_class is NumericClass.SELECT_ONLY]
    (file,) = json.loads(export(Audit("26.8.8", (replace(samples.STRICT_FILE),), ()), "ttk"))["files"]
    assert shared
    for tensor in shared:
        assert {row["is"] for row in file["tensors"][tensor.name].values()} == {"binary_equal"}
