"""Settings: each file under those of its nearest folder; what cannot be used is a usage error with its place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from opscan.cli import cli

SPEC = """\
name: torch.exp
standard: {acc: equal}
inputs:
  - name: input
    type: tensor
    dtypes: {values: [fp32]}
    ranges: {valid: {values: [[-5, 5]]}, invalid: {values: [[-5, 5]]}}
    shapes: {dim_numbers: {values: [2]}, dim_values: {values: [4, 8]}}
"""


@dataclass(frozen=True)
class Done:
    exit_code: int
    output: str


def run(*arguments: object) -> Done:
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments], standalone_mode=False)
    if isinstance(done.exception, click.UsageError):
        return Done(2, str(done.exception))
    assert done.exception is None
    return Done(done.return_value, done.output)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('fail-on = "sometimes"', "fail-on must be one of error, warning, never"),
        ("upstream = [5, -5]", "upstream must be a list of two finite numbers, the lower first"),
        ("upstream = [nan, inf]", "upstream must be a list of two finite numbers, the lower first"),
        ("upstream = [-inf, 0]", "upstream must be a list of two finite numbers, the lower first"),
        ("limit = -1", "limit must lie between 0 and 1"),
        ("limit = nan", "limit must lie between 0 and 1"),
        ("draws = 0", "draws must lie between 1 and 10000"),
        ("draws = 1000000000", "draws must lie between 1 and 10000"),
        ("trace-seconds = inf", "trace-seconds must lie between"),
        ("jobs = -1", "jobs must lie between"),
        ("seed = true", "seed must be a whole number"),
        ('golden = "gold"', "golden must be one of framework, exact"),
        (r'split-name = "x\u0000{stem}{suffix}"', "split-name must be a name with {stem} and {suffix}"),
        ('"draws" = 0', "draws must lie between"),
        ("colour = 1", "colour is no setting; known:"),
    ],
)
def test_a_value_that_cannot_be_used(line: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "pyproject.toml").write_text(
        f'[project]\nname = "x"\n\n[tool.opscan]\natk-version = "26.8.8"\n{line}\n'
    )
    for command in ("audit", "fix", "validate"):
        done = run(command, tmp_path / "spec.yaml")
        assert done.exit_code == 2
        assert f"{tmp_path}/pyproject.toml:6: [tool.opscan] {told}" in done.output


@pytest.mark.parametrize(
    "text", ["[tool.opscan]\nx = " + "[" * 4000 + "]" * 4000, "[tool.opscan\n", "[tool.opscan]\na = ="]
)
def test_a_file_that_cannot_be_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "pyproject.toml").write_text(text)
    done = run("audit", tmp_path)
    assert done.exit_code == 2
    assert "pyproject.toml: " in done.output


def test_each_file_is_under_its_nearest_settings(tmp_path: Path) -> None:
    for name, line in (("left", 'ignore = ["OPS101"]'), ("right", "ignore = []"), ("right/inner", 'fail-on = "never"')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "spec.yaml").write_text(SPEC)
        (tmp_path / name / "pyproject.toml").write_text(f"[tool.opscan]\n{line}\n")
    for folders in (("left", "right"), ("right", "left")):
        done = run("audit", *(tmp_path / name for name in folders))
        assert done.exit_code == 1
        assert "left/spec.yaml" not in done.output
        assert done.output.count("OPS101") == 2
    assert run("audit", tmp_path / "left").exit_code == 0
    assert run("audit", tmp_path / "right" / "inner").exit_code == 0
    assert run("audit", tmp_path / "right" / "inner", "--fail-on", "error").exit_code == 1
    done = run("fix", "--write", tmp_path)
    assert "2 edits in 2 files made" in done.output
    assert (tmp_path / "left" / "spec.yaml").read_text() == SPEC


def test_a_file_without_a_word_for_opscan_leaves_it_to_those_above(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.opscan]\nignore = ["OPS101"]\n')
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "pyproject.toml").write_text('[project]\nname = "inner"\n')
    (tmp_path / "inner" / "spec.yaml").write_text(SPEC)
    assert run("audit", tmp_path / "inner").exit_code == 0


def test_a_folder_below_with_settings_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "spec.yaml").write_text(SPEC)
    (tmp_path / "below" / "pyproject.toml").write_text("[tool.opscan]\nlimit = 3\n")
    done = run("audit", tmp_path)
    assert done.exit_code == 2
    assert "below/pyproject.toml:2: [tool.opscan] limit must lie between 0 and 1, not 3" in done.output


def test_each_command_is_one_module_whose_line_in_the_help_is_its_own() -> None:
    from importlib import import_module

    from opscan.cli import COMMANDS

    said = {name: getattr(import_module(f"opscan.cli.{name}"), name).help.split("\n\n")[0] for name in COMMANDS}
    assert {name: " ".join(text.split()) for name, text in said.items()} == COMMANDS
