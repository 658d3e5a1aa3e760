"""A spec and the cases generated from it are mended apart: each is judged by the standard that it carries itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from opscan.audit import audit_paths
from opscan.cli import cli
from opscan.config import Settings
from opscan.data import data_path

SPEC = "torch.where_backward.yaml"
CASES = "result/torch.where_backward/json/all_torch.where_backward.json"


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    shutil.copytree(data_path("catalog", "1000"), tmp_path / "1000")
    return tmp_path / "1000"


def fix(path: Path) -> int:
    result = CliRunner().invoke(cli, ["fix", str(path), "--write"], standalone_mode=False)
    assert result.exception is None, result.output
    return int(result.return_value)


def status(path: Path) -> str:
    return audit_paths([path], Settings()).audit.files[0].status


def test_mending_the_spec_leaves_its_cases_to_be_mended(catalog: Path) -> None:
    before = (catalog / CASES).read_bytes()
    assert fix(catalog / SPEC) == 0
    assert (status(catalog / SPEC), status(catalog / CASES)) == ("ok", "too-strict")
    assert (catalog / CASES).read_bytes() == before


def test_mending_the_cases_leaves_the_spec_to_be_mended(catalog: Path) -> None:
    assert fix(catalog / CASES) == 0
    assert (status(catalog / SPEC), status(catalog / CASES)) == ("too-strict", "ok")


def test_both_at_once_and_then_nothing(catalog: Path) -> None:
    for path in (SPEC, CASES):
        assert fix(catalog / path) == 0
    texts = [(catalog / path).read_bytes() for path in (SPEC, CASES)]
    for path in (SPEC, CASES):
        assert fix(catalog / path) == 0
    assert [(catalog / path).read_bytes() for path in (SPEC, CASES)] == texts


def test_where_the_plugin_sets_the_standard_the_spec_is_not_edited(catalog: Path) -> None:
    before = (catalog / "torch.sub_backward.yaml").read_bytes()
    fix(catalog / "torch.sub_backward.yaml")
    assert (catalog / "torch.sub_backward.yaml").read_bytes() == before
