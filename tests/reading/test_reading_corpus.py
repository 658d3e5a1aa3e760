"""Every real file is read without an exception, and its standard can be rewritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from opscan.editing import apply_edits, replace_acc, replace_case_acc
from opscan.model import CaseFile, Edit, NodeFile, Spec
from opscan.opening.discovery import discover
from opscan.reading import locate, read_file

CORPUS = next(
    (parent / "shared" / "corpus" for parent in Path(__file__).parents if (parent / "shared" / "corpus").is_dir()), None
)
pytestmark = pytest.mark.skipif(CORPUS is None, reason="shared/corpus is not beside this checkout")


def files(folder: str) -> list[Path]:
    assert CORPUS is not None
    found, missing = discover([CORPUS / folder])
    assert not missing
    assert found
    return found


def test_designs() -> None:
    for path in files("designs"):
        spec = read_file(path)
        assert isinstance(spec, Spec), path
        assert spec.inputs
        assert spec.acc == yaml.safe_load(path.read_bytes())["standard"]["acc"]
        for value in ("equal", {"mixed_tolerance_bm": {"fp32_rtol": 1e-4}}):
            if value == spec.acc:
                continue
            edit = replace_acc(spec, value)
            assert isinstance(edit, Edit), (path, edit)
            assert apply_edits(spec.source, [edit]).applied == (edit,), path
        mends = [fault.edit for fault in spec.faults if fault.edit]
        assert not apply_edits(spec.source, mends).refused


def test_cases() -> None:
    total = 0
    for path in files("cases"):
        read = read_file(path)
        assert isinstance(read, CaseFile), path
        assert read.faults == (), path
        entries = json.loads(path.read_text(encoding="utf-8"))
        assert len(read.cases) == len(entries)
        total += len(entries)
        last = len(entries) - 1
        spans = locate(read, [0, last])
        text = read.source.text
        assert json.loads(text[spans[last].case.start : spans[last].case.end]) == entries[last]
        edit = replace_case_acc(last, {"opscan": {"t": 1e-4}}, spans[last])
        assert isinstance(edit, Edit)
        assert apply_edits(read.source, [edit]).applied == (edit,)
    assert total > 5000


def test_nodes_have_no_faults() -> None:
    for path in files("nodes"):
        read = read_file(path)
        assert isinstance(read, NodeFile), path
        assert read.nodes
        assert read.faults == (), path
