"""Comments that silence a rule: where they hold, what they leave, and what is said of those that do nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from opscan.audit import Audited, audit_paths
from opscan.config import Settings
from opscan.fixing import plan_fixes, write_fixes
from opscan.model import Source
from opscan.reading import comments_of
from opscan.reporting import render

CASES = yaml.safe_load((Path(__file__).parent / "suppressed.yaml").read_text(encoding="utf-8"))
REST = """\
inputs:
  - name: input
    type: tensor
    dtypes: {values: [fp32]}
    ranges: {valid: {values: [[-5, 5]]}}
    shapes: {dim_numbers: {values: [2, 3]}, dim_values: {values: [4, 8]}}
"""


def written(folder: Path, block: str, newline: str = "\n") -> Path:
    path = folder / "spec.yaml"
    path.write_bytes(f"name: torch.tanh\n{block}{REST}".replace("\n", newline).encode())
    return path


def audit(path: Path, **settings: Any) -> Audited:
    return audit_paths([path], Settings(**settings))


def rules(audited: Audited) -> list[str]:
    return sorted(finding.rule for finding in audited.audit.findings)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("case", CASES, ids=[case["what"] for case in CASES])
def test_what_a_comment_silences(case: dict[str, Any], newline: str, tmp_path: Path) -> None:
    path = written(tmp_path, case["block"], newline)
    audited = audit(path)
    assert rules(audited) == case["raised"]
    assert any(case.get("message", "") in finding.message for finding in audited.audit.findings) or not case["raised"]
    if "fixed" in case:
        assert write_fixes(plan_fixes(audited, unsafe=False)).problems == ()
        assert path.read_bytes() == written(tmp_path / "..", case["fixed"], newline).read_bytes()
        assert not plan_fixes(audit(path), unsafe=True).changes


def test_fix_leaves_alone_what_is_silenced(tmp_path: Path) -> None:
    path = written(tmp_path, "standard:\n  acc: equal  # opscan: ignore[OPS101]\n")
    audited = audit(path)
    assert plan_fixes(audited, unsafe=True).changes == ()
    assert [finding.rule for finding in audited.audit.suppressed] == ["OPS101"]
    assert audited.audit.files[0].status == "too-strict"


def test_each_place_is_silenced_on_its_own(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    block = "standard:\n  acc:\n    mixed_tolerance_bm:\n      fp32_rtol: 1e-4\n"
    path.write_text(f"name: torch.tanh\n{block}{REST.replace('-5, 5', '-1e-4, 1e-4')}")
    before = {f.message: f.edits for f in audit(path).audit.findings if f.name == "number-as-text"}
    assert len(before) > 1
    path.write_text(path.read_text().replace("fp32_rtol: 1e-4", "fp32_rtol: 1e-4  # opscan: ignore[OPS017]"))
    after = {f.message: f.edits for f in audit(path).audit.findings if f.name == "number-as-text"}
    assert len(after) == len(before) - 1


def test_a_rule_that_is_not_reported_needs_no_comment_and_hides_none(tmp_path: Path) -> None:
    path = written(tmp_path, "standard:\n  acc: equal  # opscan: ignore[OPS102]\n")
    assert rules(audit(path, ignore=("OPS102",))) == ["OPS101"]
    assert rules(audit(path, select=("OPS1",))) == ["OPS101"]
    assert rules(audit(path, ignore=("OPS022", "OPS101"))) == []


def test_an_undecided_file_may_need_its_comments_another_time(tmp_path: Path) -> None:
    path = written(tmp_path, "standard:\n  acc: equal  # opscan: ignore[OPS101]\n")
    path.write_text(path.read_text().replace("torch.tanh", "flash_attn\napi_type: fa"))
    assert rules(audit(path)) == ["OPS203"]


def test_reports_say_what_was_silenced(tmp_path: Path) -> None:
    audited = audit(written(tmp_path, "standard:\n  acc: equal  # opscan: ignore[OPS101]\n")).audit
    assert "1 finding silenced by comments" in render(audited, "concise")
    results = json.loads(render(audited, "sarif"))["runs"][0]["results"]
    assert [(r["ruleId"], r["suppressions"]) for r in results] == [("OPS101", [{"kind": "inSource"}])]


def test_comments_of_a_plugin(tmp_path: Path) -> None:
    text = 'x = "# opscan: ignore[OPS216]"\n# opscan: ignore[OPS216]\ny = """\n# opscan: no\n"""  # opscan: ignore[A]\n'
    for newline in ("\n", "\r\n"):
        found = comments_of(Source(tmp_path / "p.py", text.replace("\n", newline)))
        assert [(comment.span.line, comment.line, comment.alone) for comment in found] == [(2, 3, True), (5, 5, False)]


@pytest.mark.parametrize("name", ["spec.yaml", "plugin.py"])
def test_a_text_that_ends_inside_quotes_has_no_comments(name: str) -> None:
    assert comments_of(Source(Path(name), "a: '''x # opscan: ignore[OPS101]\n")) == ()


def test_json_has_no_comments() -> None:
    assert comments_of(Source(Path("all_x.json"), '[{"name": "# opscan: ignore[OPS101]"}]')) == ()
