"""Bad input ends as one clear finding with file and line; the exit code says so; the other files are still handled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opscan.cli import cli

GOOD = """\
name: torch.relu
standard: {acc: equal}
inputs:
  - name: input
    type: tensor
    dtypes: {values: [fp32]}
    ranges: {valid: {values: [[-5, 5]]}}
    shapes: {dim_numbers: {values: [2]}, dim_values: {values: [4, 8]}}
"""
TENSOR = GOOD.partition("inputs:\n")[2]


def two(first: str, second: str, name: str = "torch.add") -> str:
    """A spec of two tensors of fixed shapes, related by nothing but their numbers."""
    inputs = TENSOR.replace("[4, 8]", first) + TENSOR.replace("name: input", "name: other").replace("[4, 8]", second)
    return f"name: {name}\nstandard: {{acc: equal}}\ninputs:\n{inputs}"


CASE = '{"id": %d, "name": "torch.add", "standard": {"acc": "equal"}, "inputs": [%s]}'
CASE_INPUT = '{"name": null, "type": "tensor", "dtype": "fp32", "shape": %s, "range_values": [-5, 5]}'

BAD: list[tuple[str, str, str | bytes, str, int]] = [
    # file, rule, content, words of the message, line
    ("gbk.yaml", "not-utf8", "# 测试\nname: torch.relu\n".encode("gbk"), "UTF-8", 1),
    ("open.yaml", "yaml-syntax", GOOD + "  - [\n", "", 10),
    ("foreign.yaml", "unknown-operator", GOOD.replace("torch.relu", "torch.no_such_operator"), "no_such_operator", 1),
    ("bare.yaml", "missing-key", "name: torch.relu\nstandard: {acc: equal}\n", "inputs", 1),
    ("cut.json", "json-syntax", "[" + CASE % (0, CASE_INPUT % "[4]") + ', {"id": 1, "na', "", 1),
    ("generate_x.py", "python-syntax", "from atk import CaseGenerator\nclass X(CaseGenerator)\n    pass\n", "", 2),
    (
        "apart.json",
        "shapes-cannot-meet",
        "[" + CASE % (0, CASE_INPUT % "[4]" + ", " + CASE_INPUT % "[3]") + "]",
        "torch.add",
        1,
    ),
]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], standalone_mode=False)


def findings(*arguments: object) -> list[dict[str, object]]:
    result = run("audit", *arguments, "--format", "json")
    assert result.exception is None, result.output
    return json.loads(result.stdout)["findings"]


@pytest.mark.parametrize(("file", "rule", "content", "words", "line"), BAD, ids=[entry[0] for entry in BAD])
def test_bad_file(tmp_path: Path, file: str, rule: str, content: str | bytes, words: str, line: int) -> None:
    (tmp_path / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "loose.yaml").write_text(GOOD.replace("equal", "single_bm"))
    told = findings(tmp_path)
    mine = [finding for finding in told if str(finding["path"]).endswith(file) and finding["name"] == rule]
    assert len(mine) == 1, told
    assert words in str(mine[0]["message"])
    assert mine[0]["line"] == line
    assert [f["name"] for f in told if str(f["path"]).endswith("loose.yaml")] == ["standard-too-loose"]


def test_missing_path_is_a_usage_error_and_the_rest_is_audited(tmp_path: Path) -> None:
    (tmp_path / "loose.yaml").write_text(GOOD.replace("equal", "single_bm"))
    result = run("audit", tmp_path / "nowhere", tmp_path)
    assert result.return_value == 2
    assert "missing-path" in result.output
    assert "standard-too-loose" in result.output


def test_empty_folder_is_not_silence(tmp_path: Path) -> None:
    result = run("audit", tmp_path)
    assert result.return_value == 1
    assert "nothing-to-audit" in result.output


def test_two_hundred_inputs(tmp_path: Path) -> None:
    inputs = "".join(TENSOR.replace("name: input", f"name: x{number}") for number in range(200))
    (tmp_path / "many.yaml").write_text(f"name: torch.add\nstandard: {{acc: equal}}\ninputs:\n{inputs}")
    told = findings(tmp_path)
    assert [finding["name"] for finding in told] == ["unknown-shapes"]


def test_shapes_that_never_meet_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "apart.yaml").write_text(two("[3]", "[4]"))
    told = findings(tmp_path)
    assert [(finding["name"], finding["severity"]) for finding in told] == [("shapes-cannot-meet", "error")]


def test_a_cut_case_file_keeps_its_whole_cases(tmp_path: Path) -> None:
    whole = CASE % (0, CASE_INPUT % "[4]" + ", " + CASE_INPUT % "[4]")
    (tmp_path / "all_add.json").write_text(f'[{whole}, {{"id": 1, "na')
    report = json.loads(run("audit", tmp_path, "--format", "json").stdout)["files"][0]
    assert report["status"] == "invalid"
    assert report["verdicts"] == {"ok": 1}


def test_text_in_a_range_does_not_hide_a_comparator_that_will_not_run(tmp_path: Path) -> None:
    acc = "{mixed_tolerance_bm: {fp32_rtoll: 1.0e-4}}"
    spec = GOOD.replace("torch.relu", "torch.tanh").replace("acc: equal", f"acc: {acc}").replace("[-5, 5]", "[1e-4, 5]")
    (tmp_path / "both.yaml").write_text(spec)
    assert {str(finding["name"]) for finding in findings(tmp_path)} >= {"number-as-text", "unknown-comparator"}


def test_exit_codes(tmp_path: Path) -> None:
    good, loose = tmp_path / "good.yaml", tmp_path / "loose.yaml"
    good.write_text(GOOD)
    loose.write_text(GOOD.replace("equal", "single_bm"))
    assert run("audit", good).return_value == 0
    assert run("audit", loose).return_value == 1
    assert run("audit", loose, "--fail-on", "never").return_value == 0
    assert run("fix", loose).return_value == 1
    assert loose.read_text() == GOOD.replace("equal", "single_bm")
    assert run("fix", loose, "--write").return_value == 0
    assert loose.read_text() == GOOD
    assert run("fix", loose).return_value == 0


@pytest.mark.parametrize("version", ["latest", "26.x"])
def test_an_atk_version_without_numbers_is_a_usage_error(tmp_path: Path, version: str) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    result = run("audit", tmp_path, "--atk-version", version)
    assert type(result.exception).__name__ == "UsageError"
    assert version in str(result.exception)


def test_a_bad_setting_names_the_file_and_the_key(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.opscan]\natk-verson = '26.8.8'\n")
    (tmp_path / "good.yaml").write_text(GOOD)
    result = run("audit", tmp_path)
    assert type(result.exception).__name__ == "UsageError"
    assert "atk-verson" in str(result.exception)
    assert "pyproject.toml" in str(result.exception)


def test_explain_says_how_to_write_an_input() -> None:
    result = run("explain", "torch.add", "--input", "fp32[4]")
    assert "NAME=fp32[2,3]" in str(result.exception)
    result = run("explain", "torch.add", "--input", "x=fp23[4]")
    assert "unknown dtype 'fp23'" in str(result.exception)


@pytest.mark.parametrize("setting", ["jobs = -1", "trace-seconds = 0", "trace-mebibytes = 1", "jobs = '2'"])
def test_limits_of_traces_are_checked(tmp_path: Path, setting: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.opscan]\n{setting}\n")
    (tmp_path / "good.yaml").write_text(GOOD)
    result = run("audit", tmp_path)
    assert type(result.exception).__name__ == "UsageError"
    assert setting.partition(" ")[0] in str(result.exception)
