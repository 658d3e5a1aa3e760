"""Every rule proves itself: its `bad` raises it, its `good` does not, and fixing `bad` gives `good`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from opscan.audit import Audited, audit_paths
from opscan.config import Settings
from opscan.fixing import plan_fixes, write_fixes
from opscan.judging import specs
from opscan.judging.rules import load_rule, read_rule, rule_names
from opscan.judging.standards_file import StandardsError, read_document
from opscan.numerics import Limits
from opscan.numerics.tracing import Tracing
from opscan.workers.pool import Workers

NEED_A_RUN = {"plugin-run-failed", "plugin-stopped", "plugin-refused", "atk-name-missing"}


def lay_out(folder: Path, files: tuple[tuple[str, Any], ...]) -> list[Path]:
    """Write an example catalog. null: the path is named but not there; {symlink: x}: a link; bytes as they are."""
    folder.mkdir()
    paths = [folder]
    for name, content in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            paths.append(path)
        elif isinstance(content, dict):
            path.symlink_to(content["symlink"])
            paths.append(path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return paths


def audit(paths: list[Path], name: str = "") -> Audited:
    own = paths[0] / "house"
    return audit_paths(paths, Settings(run_generators=name in NEED_A_RUN, rules=(own,) if own.is_dir() else ()))


def raised(audited: Audited) -> set[str]:
    return {finding.name for finding in audited.audit.findings}


def broken(*_: object, **__: object) -> None:
    raise OverflowError("of all things")


@pytest.mark.parametrize("name", rule_names())
def test_bad_raises_and_good_does_not(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = load_rule(name)
    if name == "torch-missing":
        without = "import sys; sys.modules['torch'] = None; from opscan.numerics.worker import main; main()"
        workers = Workers(Limits(), Tracing((sys.executable, "-c", without)))
        monkeypatch.setattr("opscan.numerics.tracing.shared_workers", lambda _: workers)
        monkeypatch.setenv("OPSCAN_CACHE", "off")
    if name == "audit-failed":
        monkeypatch.setattr(specs, "judge_spec", broken)
    assert name in raised(audit(lay_out(tmp_path / "bad", rule.bad), name))
    assert name not in raised(audit(lay_out(tmp_path / "good", rule.good), name))


@pytest.mark.parametrize("name", [name for name in rule_names() if load_rule(name).fixes])
def test_fixing_bad_gives_good(name: str, tmp_path: Path) -> None:
    rule = load_rule(name)
    paths = lay_out(tmp_path / "bad", rule.bad)
    assert write_fixes(plan_fixes(audit(paths), unsafe=True)).problems == ()
    fixed = (tmp_path / "bad" / "spec.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(fixed) == yaml.safe_load(dict(rule.good)["spec.yaml"])
    assert name not in raised(audit(paths))
    assert not plan_fixes(audit(paths), unsafe=True).changes


def test_severity_of_the_file_is_the_severity_of_the_finding(tmp_path: Path) -> None:
    rule = load_rule("standard-too-strict")
    found = [f for f in audit(lay_out(tmp_path / "bad", rule.bad)).audit.findings if f.name == rule.name]
    assert [(f.rule, f.severity, f.why) for f in found] == [(rule.id, rule.severity, rule.why)]


def test_a_rule_is_found_by_id_and_by_name() -> None:
    assert load_rule("OPS101") == load_rule("standard-too-strict")
    with pytest.raises(KeyError):
        load_rule("OPS999")


def test_a_broken_rule_file_is_refused_by_place(tmp_path: Path) -> None:
    path = tmp_path / "OPS999-x.yaml"
    path.write_text("severity: error\nsumary: s\nwhy: w\nbad: x\ngood: y\n")
    with pytest.raises(StandardsError, match=r"OPS999-x\.yaml:2:1: unknown key 'sumary' .*did you mean summary"):
        read_rule(read_document(path))
    path.write_text("severity: fatal\nsummary: s\nwhy: w\nbad: x\ngood: y\n")
    with pytest.raises(StandardsError, match=r":1:1: severity is 'fatal'"):
        read_rule(read_document(path))
