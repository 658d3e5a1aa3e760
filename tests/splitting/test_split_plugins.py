"""Before and after: what a split makes of plugins and specs, byte by byte."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from splitting_builders import SPEC, lay_out, plan_of, split, texts

from opscan.audit import audit_paths
from opscan.config import Settings
from opscan.judging.rules import load_rule

HERE = Path(__file__).parent
SECTION = re.compile(r"^== (.+?) \| (.+?) \| (.+)\n", re.MULTILINE)
WAYS: dict[str, Callable[[str], bytes]] = {
    "as it is": lambda text: text.encode(),
    "tabs": lambda text: re.sub("^(?:  )+", lambda m: "\t" * (len(m[0]) // 4 or 1), text, flags=re.MULTILINE).encode(),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "bare": lambda text: text.removesuffix("\n").encode(),
    "bom": lambda text: b"\xef\xbb\xbf" + text.encode(),
}


def sections() -> list[Any]:
    parts = SECTION.split((HERE / "split_plugins.txt").read_text(encoding="utf-8"))[1:]
    found = []
    for at in range(0, len(parts), 4):
        before, after = parts[at + 3].split("->\n")
        ways = ["as it is", *parts[at + 2].split()]
        if "\n  def" in before:  # by two blanks, which are one tab
            ways.remove("tabs")
        found += [pytest.param(parts[at + 1], way, before, after, id=f"{parts[at]}, {way}") for way in ways]
    return found


@pytest.mark.parametrize(("how", "way", "before", "after"), sections())
def test_before_becomes_after(tmp_path: Path, how: str, way: str, before: str, after: str) -> None:
    write = WAYS[way]
    write_spec = WAYS["as it is" if way == "tabs" else way]  # YAML has no tabs
    spec = SPEC.format(generate="narrow  # 窄")
    folder = lay_out(tmp_path / "x", {"spec.yaml": write_spec(spec), "gen.py": write(before)})
    plan = split(folder, how=how)
    assert plan.unsplit == ()
    found = texts(folder)
    assert found["gen.py"] == write(after)
    if how == "twin":
        assert found["spec_no_broadcast.yaml"] == write_spec(SPEC.format(generate="narrow_no_broadcast  # 窄"))
        assert b"mixed_tolerance_bm" in found["spec.yaml"]
    else:
        assert found["spec.yaml"] == write_spec(spec)
        assert len(found) == 2
    assert plan_of(folder, how=how).changes == ()
    assert texts(folder) == found
    reports = audit_paths([folder], Settings()).audit
    assert [report.status for report in reports.files if report.kind == "spec"] == ["ok"] * (len(found) - 1)
    assert [finding for finding in reports.findings if finding.severity != "info"] == []


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_applies_the_diff(tmp_path: Path) -> None:
    before = sections()[0].values[2]
    files = {"spec.yaml": SPEC.format(generate="narrow"), "gen.py": before}
    plan = plan_of(lay_out(tmp_path / "x", files))
    diff = plan.diff.replace((tmp_path / "x").as_posix()[1:] + "/", "")
    target = lay_out(tmp_path / "y", files)
    command = ["git", "-c", "core.autocrlf=false", "apply", "-"]
    subprocess.run(command, input=diff.encode(), cwd=target, check=True, capture_output=True, timeout=20)
    split(tmp_path / "x")
    assert texts(target) == texts(tmp_path / "x")


def test_the_rule_shows_what_a_split_makes(tmp_path: Path) -> None:
    rule = load_rule("standard-shared")
    folder = lay_out(tmp_path / "x", dict(rule.bad))
    message = next(f.message for f in audit_paths([folder], Settings()).audit.findings if f.name == rule.name)
    assert "(opscan fix --split)" in message
    split(folder)
    assert texts(folder) == {name: text.encode() for name, text in sorted(rule.good)}
    reports = {Path(report.path).name: report for report in audit_paths([folder], Settings()).audit.files}
    assert "its twin spec_no_broadcast.yaml compares bit by bit" in reports["spec.yaml"].reason
    assert {tensor.status for tensor in reports["spec.yaml"].tensors} == {"shared", "ok"}


def test_specs_that_share_a_generator_share_that_of_their_twins(tmp_path: Path) -> None:
    before, after = sections()[0].values[2:4]
    spec = SPEC.format(generate="narrow")
    minimum = spec.replace("torch.maximum", "torch.minimum")
    folder = lay_out(tmp_path / "x", {"spec.yaml": spec, "other.yaml": minimum, "gen.py": before})
    plan = split(folder)
    assert [Path(change.shown).name for change in plan.changes] == [
        "gen.py", "other_no_broadcast.yaml", "spec_no_broadcast.yaml", "other.yaml", "spec.yaml",
    ]  # fmt: skip
    assert texts(folder)["gen.py"] == after.encode()
    assert plan_of(folder).changes == ()


def test_two_generators_of_a_plugin_are_both_extended(tmp_path: Path) -> None:
    before = sections()[0].values[2]
    second = before[before.index("@") :].replace("narrow", "slim").replace("Narrow", "Slim")
    files = {"spec.yaml": SPEC.format(generate="narrow"), "other.yaml": SPEC.format(generate="slim")}
    folder = lay_out(tmp_path / "x", {**files, "gen.py": f"{before}\n\n{second}"})
    assert split(folder).unsplit == ()
    text = (folder / "gen.py").read_text(encoding="utf-8")
    names = re.findall(r"^class (\w+)", text, re.MULTILINE)
    assert names == ["Narrow", "NarrowNoBroadcast", "Slim", "SlimNoBroadcast"]
    assert plan_of(folder).changes == ()


def test_what_an_input_is_called_never_becomes_code(tmp_path: Path) -> None:
    spec = SPEC.format(generate="narrow").replace("name: other", r'name: "\"\"\"\nimport os\nx=\"\"\""')
    folder = lay_out(tmp_path / "x", {"spec.yaml": spec, "gen.py": sections()[0].values[2]})
    plan = plan_of(folder)
    added = next((change.text for change in plan.changes if change.shown.endswith(".py")), "")
    assert "import os" not in added
    assert "another input takes the full shape" in added or plan.unsplit


def test_attributes_stay_out_of_it(tmp_path: Path) -> None:
    spec = SPEC.format(generate="narrow").replace("torch.maximum", "torch.where").replace(
        "inputs:\n",
        "inputs:\n  - name: condition\n    type: tensor\n    backward: false\n    dtypes: {values: [bool]}\n"
        "    ranges: {valid: {values: [[0, 1]]}}\n"
        "    shapes: {dim_numbers: {values: [2]}, dim_values: {values: [8]}}\n",
    )  # fmt: skip
    plugin = sections()[0].values[2].replace("x, other =", "_, x, other =").replace("other.shape =", (
        "x.shape = list(case_config.inputs[0].shape); other.shape ="))  # fmt: skip
    folder = lay_out(tmp_path / "x", {"spec.yaml": spec, "gen.py": plugin})
    assert split(folder).unsplit == ()
    text = (folder / "gen.py").read_text(encoding="utf-8")
    assert "inputs[2].shape = list(full)" in text
    assert "inputs[0].shape = list(full)" not in text
