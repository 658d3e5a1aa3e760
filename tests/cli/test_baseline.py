"""A baseline hides what is known, counts it, and says what is stale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opscan.cli import cli

SPEC = """\
name: torch.relu
standard: {acc: single_bm}
inputs:
  - name: input
    type: tensor
    dtypes: {values: [fp32]}
    ranges: {valid: {values: [[-5, 5]]}}
    shapes: {dim_numbers: {values: [2]}, dim_values: {values: [4, 8]}}
"""


def audit(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["audit", *map(str, arguments)], standalone_mode=False)


@pytest.fixture
def known(tmp_path: Path) -> Path:
    """A folder with one loose spec and a baseline that holds its finding."""
    (tmp_path / "old.yaml").write_text(SPEC)
    result = audit(tmp_path, "--baseline", tmp_path / "known.txt", "--write-baseline")
    assert result.return_value == 0, result.output
    return tmp_path


def test_what_is_known_does_not_fail_and_is_not_unsaid(known: Path) -> None:
    result = audit(known, "--baseline", known / "known.txt")
    assert result.return_value == 0
    assert "1 findings are known" in result.stderr


def test_lines_above_do_not_matter(known: Path) -> None:
    (known / "old.yaml").write_text("# a comment\n# and another\n" + SPEC)
    assert audit(known, "--baseline", known / "known.txt").return_value == 0


def test_what_is_new_fails(known: Path) -> None:
    (known / "new.yaml").write_text(SPEC)
    result = audit(known, "--baseline", known / "known.txt", "--format", "json")
    assert result.return_value == 1
    assert [Path(f["path"]).name for f in json.loads(result.stdout)["findings"]] == ["new.yaml"]


def test_more_of_the_same_kind_in_a_file_fails(known: Path) -> None:
    given = '{"name": null, "type": "tensor", "dtype": "fp32", "shape": [4], "range_values": [-5, 5]}'
    case = f'{{"id": %d, "name": "torch.relu", "standard": {{"acc": "single_bm"}}, "inputs": [{given}]}}'
    cases = known / "all_relu.json"
    cases.write_text(f"[{case % 0}]")
    assert audit(known, "--baseline", known / "known.txt", "--write-baseline").return_value == 0
    cases.write_text(f"[{case % 0}, {case % 1}]")
    assert audit(known, "--baseline", known / "known.txt").return_value == 1


def test_what_was_mended_is_stale(known: Path) -> None:
    (known / "old.yaml").write_text(SPEC.replace("single_bm", "equal"))
    result = audit(known, "--baseline", known / "known.txt")
    assert result.return_value == 0
    assert "stale baseline entry: OPS102" in result.stderr


BROKEN = [None, "", "[]", '{"schema": 9, "findings": {}}', '{"schema": 1, "findings": {"a": "b"}}']


@pytest.mark.parametrize("content", BROKEN)
def test_a_file_that_is_no_baseline_is_a_usage_error(tmp_path: Path, content: str | None) -> None:
    (tmp_path / "old.yaml").write_text(SPEC)
    if content is not None:
        (tmp_path / "known.txt").write_text(content)
    result = audit(tmp_path, "--baseline", tmp_path / "known.txt")
    assert type(result.exception).__name__ == "UsageError"
    assert "known.txt" in str(result.exception)
