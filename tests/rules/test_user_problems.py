"""Every problem that people have had is told by a rule, or it is said why no rule can tell it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from opscan.audit import Audited, audit_paths
from opscan.config import Settings
from opscan.judging.executors import plugin_findings
from opscan.judging.rules import load_rule, rule_id, rule_names
from opscan.model import Plugin
from opscan.reading import read_file

PROBLEMS = yaml.safe_load((Path(__file__).parent / "user_problems.yaml").read_text(encoding="utf-8"))
RAISING = [problem for problem in PROBLEMS if "raises" in problem]
INPUT = {
    "name": "input",
    "type": "tensor",
    "dtypes": {"values": ["fp32"]},
    "ranges": {"valid": {"values": [[-5, 5]]}},
    "shapes": {"dim_numbers": {"values": [2]}, "dim_values": {"values": [4, 8]}},
}
EXECUTOR = """\
import torch
from atk.tasks.api_execute import register
from atk.tasks.api_execute.base_api import BaseApi


@register("x")
class X(BaseApi):
    def __call__(self, input_data, with_output=False):
        x, w = input_data.args  # 反向
        out = torch.tanh(x)
        {line}
        return x.grad
"""


def spec_of(given: dict[str, Any]) -> dict[str, Any]:
    own = {key: given[key] for key in ("dtypes", "ranges") if key in given}
    inputs = [{**INPUT, **own}, *([{**INPUT, "name": "other"}] if given.get("second") else [])]
    rest = {key: value for key, value in given.items() if key not in (*own, "second")}
    return {"name": "torch.tanh", "standard": {"acc": "mixed_tolerance_bm"}, "inputs": inputs, **rest}


def audit(folder: Path, name: str, text: str, **settings: Any) -> Audited:
    (folder / name).write_text(text, encoding="utf-8")
    return audit_paths([folder], Settings(**settings))


def test_every_problem_has_a_rule_or_a_reason() -> None:
    known = {rule_id(name) for name in rule_names()}
    for problem in PROBLEMS:
        assert ("rules" in problem) != ("unseen" in problem), problem["problem"]
        assert set(problem.get("rules", ())) <= known
    told = {rule for problem in PROBLEMS for rule in problem.get("rules", ())}
    own = {
        "OPS116",
        "OPS202",
        "OPS203",
        "OPS204",
        "OPS206",
        "OPS218",
    }  # of opscan's own working, and of shapes that cannot meet
    assert {rule for rule in known if "OPS101" <= rule < "OPS207" or "OPS211" <= rule < "OPS230"} <= told | own


@pytest.mark.parametrize("problem", RAISING, ids=[problem["problem"] for problem in RAISING])
def test_a_spec_with_the_problem_is_told(problem: dict[str, Any], tmp_path: Path) -> None:
    text = (
        yaml.safe_dump(spec_of(problem["raises"]), sort_keys=False).replace("'1e-8'", "1e-8").replace("'1e-4'", "1e-4")
    )
    found = [f for f in audit(tmp_path, "spec.yaml", text).audit.findings if f.rule == problem["rules"][0]]
    assert found
    assert any(problem.get("says", "") in finding.message for finding in found)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("out.backward(torch.ones_like(out))", "`ones_like` is the upstream gradient"),
        ("out.backward(gradient=torch.full(out.shape, 2.0))", "`full` is the upstream gradient"),
        ("g = torch.ones(out.shape); out.backward(g)", "`ones` is the upstream gradient"),
        ("out.sum().backward()", "`.sum()` before backward()"),
        ("torch.autograd.grad(out.mean(), [x])", "`.mean()` before autograd.grad()"),
        ("torch.autograd.grad(out, [x], torch.ones_like(out))", "`ones_like` is the upstream gradient"),
        ("torch.autograd.grad(out, x, grad_outputs=torch.ones_like(out))", "`ones_like` is the upstream gradient"),
        ("out.backward(w)", ""),
        ("out.backward(torch.randn_like(out))", ""),
        ("(out * w).sum().backward()", ""),
        ("g = torch.ones(1) if x else w; g = w; out.backward(g)", ""),
        ("loss(out).backward()", ""),
    ],
)
def test_a_constant_upstream_gradient_is_seen(line: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "executor.py"
    path.write_text(EXECUTOR.format(line=line), encoding="utf-8")
    plugin = read_file(path)
    assert isinstance(plugin, Plugin)
    found = plugin_findings(plugin, "executor.py")
    assert [finding.message.startswith(told) for finding in found] == [True] * bool(told)
    assert all(finding.span and finding.span.line == 11 for finding in found)


def test_a_comment_in_a_plugin_silences_it(tmp_path: Path) -> None:
    text = EXECUTOR.format(line="out.sum().backward()  # opscan: ignore[constant-upstream] only shapes are tested")
    audited = audit(tmp_path, "executor.py", text)
    assert audited.audit.findings == ()
    assert [finding.rule for finding in audited.audit.suppressed] == ["OPS216"]
    unused = audit(tmp_path, "executor.py", EXECUTOR.format(line="pass  # opscan: ignore[OPS216]"))
    assert [(finding.rule, finding.fix) for finding in unused.audit.findings] == [("OPS022", "manual")]


def test_a_constant_setting_is_seen_too(tmp_path: Path) -> None:
    text = yaml.safe_dump(spec_of({"name": "torch.sum", "backward": True}), sort_keys=False)
    assert "OPS216" not in {f.rule for f in audit(tmp_path, "spec.yaml", text, upstream=(1.0, 1.0)).audit.findings}
    embedding = load_rule("scatter-determinism").bad
    for name, content in embedding:
        (tmp_path / name.replace("_deterministic", "")).write_text(content)
    assert "OPS216" in {f.rule for f in audit_paths([tmp_path], Settings(upstream=(1.0, 1.0))).audit.findings}


def test_ignored_keywords_of_cases_are_told_once(tmp_path: Path) -> None:
    case = {"name": "torch.tanh", "inputs": [{"name": "input", "type": "tensor", "dtype": "fp32", "shape": [8]}]}
    cases = [{**case, "id": n, "standard": {"acc": {"single_bm": {"mare_ration": 3}}}} for n in range(5)]
    audited = audit(tmp_path, "all_torch.tanh.json", json.dumps(cases))
    (found,) = (f for f in audited.audit.findings if f.rule == "OPS105")
    assert (found.count, len(found.places)) == (5, 5)
    assert "did you mean mare_ratio" in found.message
