"""Before/after files: `replace_acc` on every way to write `standard.acc`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from opscan.editing import apply_edits, replace_acc, with_bom
from opscan.model import Spec
from opscan.reading import read_file

CASES = sorted(path.parent for path in (Path(__file__).parent / "cases").glob("*/before.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_before_becomes_after_or_is_refused(case: Path) -> None:
    before = (case / "before.yaml").read_bytes()
    value = json.loads((case / "value.json").read_text(encoding="utf-8"))
    spec = read_file(case / "before.yaml")
    assert isinstance(spec, Spec)
    edit = replace_acc(spec, value)
    if (case / "refused.txt").exists():
        reason = edit if isinstance(edit, str) else apply_edits(spec.source, [edit]).refused[0].reason
        assert reason == (case / "refused.txt").read_text(encoding="utf-8").strip()
        return
    assert not isinstance(edit, str), edit
    edited = apply_edits(spec.source, [edit])
    assert edited.refused == ()
    after = with_bom(spec.source, edited.text).encode("utf-8")
    assert after == (case / "after.yaml").read_bytes()
    assert yaml.safe_load(after)["standard"]["acc"] == value
    assert spec.source.text[: edit.start].encode() in before
    again = read_file(case / "after.yaml")
    assert isinstance(again, Spec)
    assert isinstance(replace_acc(again, value), str)
    assert again.source.bom == spec.source.bom


def test_there_are_cases_of_both_kinds() -> None:
    refused = [case for case in CASES if (case / "refused.txt").exists()]
    assert len(refused) > 8
    assert len(CASES) - len(refused) > 35
