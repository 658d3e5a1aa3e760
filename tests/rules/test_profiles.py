"""Profiles: what each makes of a finding, in the settings and on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from opscan.cli import cli
from opscan.judging import find
from opscan.judging.profiles import apply, load_profile, load_profiles
from opscan.judging.rules import load_rule, rule_names

ROWS = yaml.safe_load((Path(__file__).parent / "profiled.yaml").read_text(encoding="utf-8"))
SPEC = """\
name: torch.hypot
backward: true
standard: {acc: equal}
inputs:
  - {name: input, type: tensor, dtypes: {values: [fp32]}}
  - {name: other, type: tensor, dtypes: {values: [fp32]}}
"""


@pytest.mark.parametrize("row", ROWS, ids=[" ".join(row["of"]) for row in ROWS])
def test_what_a_profile_makes_of_a_finding(row: dict[str, Any]) -> None:
    rule, severity = row["of"]
    finding = find(rule, "spec.yaml", "m", severity=severity)
    for name in ("recommended", "strict", "lenient"):
        kept = apply(load_profile(name), [finding])
        assert [one.severity for one in kept] == ([row[name]] if row[name] else [])
        assert apply(load_profile(name), kept) == kept
    (capped,) = apply(load_profile("strict"), [finding], at_most_warnings={"spec.yaml"})
    assert capped.severity == row["name"]


def test_the_default_changes_nothing() -> None:
    assert load_profile("recommended").severities == {}
    assert set(load_profiles()) == {"recommended", "strict", "lenient"}


def test_strict_is_never_milder_and_lenient_never_graver() -> None:
    order = ("off", "info", "warning", "error").index
    for name in rule_names():
        own = load_rule(name).severity
        assert order(load_profile("strict").severities.get(name, own)) >= order(own)
        assert order(load_profile("lenient").severities.get(name, own)) <= order(own)


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, [*arguments, str(folder / "spec.yaml")], standalone_mode=False)
    return (2, str(done.exception)) if done.exception else (done.return_value, done.output)


def test_a_profile_is_chosen_in_the_settings_or_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    assert run(tmp_path, "audit")[0] == 0
    assert run(tmp_path, "audit", "--profile", "strict")[0] == 1
    (tmp_path / "pyproject.toml").write_text('[tool.opscan]\nprofile = "strict"\n')
    assert run(tmp_path, "audit")[0] == 1
    assert run(tmp_path, "audit", "--profile", "lenient")[0] == 0
    assert run(tmp_path, "audit", "--profile", "lenent") == (2, "there is no profile 'lenent'; did you mean lenient?")


def test_rules_that_cannot_be_used_are_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "assign.yaml").write_text("assign: [{needs: luck}]\n")
    (tmp_path / "pyproject.toml").write_text('[tool.opscan]\nrules = ["house"]\n')
    for command in ("audit", "fix"):
        code, message = run(tmp_path, command)
        assert code == 2
        assert message.startswith(f"{tmp_path / 'house' / 'assign.yaml'}:1:11: assign.0.needs is 'luck'")
