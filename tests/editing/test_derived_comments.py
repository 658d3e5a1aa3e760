"""The comment that says what derived thresholds hold for: it comes, stays the only one, and is renewed."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from opscan import reading
from opscan.editing import apply_edits
from opscan.editing.standards import replace_acc
from opscan.model import Spec

HEAD = "name: torch.sum\nstandard:\n"
TAIL = "  perf: not_key\ninputs: []\n"
VALUE = {"mixed_tolerance_bm": {"fp32_rtol": 2e-06, "fp32_atol": 1e-09}}
BLOCK = "    mixed_tolerance_bm:\n      fp32_rtol: 2.0e-6\n      fp32_atol: 1.0e-9\n"


@pytest.mark.parametrize(
    ("before", "comment", "after"),
    [
        ("  acc: equal\n", "derived: x", f"  acc:  # derived: x\n{BLOCK}"),
        ("  acc: equal  # why\n", "derived: x", f"  acc:  # why\n{BLOCK}"),
        ("  acc: equal\n", "", f"  acc:\n{BLOCK}"),
        ("  acc:  # derived: old\n    single_bm: {}\n", "derived: x", f"  acc:  # derived: x\n{BLOCK}"),
        ("  acc:  # derived: old\n    single_bm: {}\n", "", f"  acc:\n{BLOCK}"),
        ("  acc:  # why\n    single_bm: {}\n", "derived: x", f"  acc:  # why\n{BLOCK}"),
        ("  acc:\n    single_bm: {}\n", "derived: x", f"  acc:  # derived: x\n{BLOCK}"),
    ],
)
def test_the_comment(before: str, comment: str, after: str, tmp_path: Path) -> None:
    path = tmp_path / "torch.sum.yaml"
    path.write_text(HEAD + before + TAIL, encoding="utf-8")
    spec = reading.read_file(path)
    assert isinstance(spec, Spec)
    edit = replace_acc(spec, VALUE, comment)
    assert not isinstance(edit, str), edit
    edited = apply_edits(spec.source, [edit])
    assert not edited.refused
    assert edited.text == HEAD + after + TAIL
    assert yaml.safe_load(edited.text)["standard"]["acc"] == VALUE
