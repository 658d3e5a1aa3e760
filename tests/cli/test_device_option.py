"""`--device NAME`: what is judged for it, what the report says, and how a wrong name ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opscan.cli import cli

SPEC = """\
name: {name}
standard: {{acc: {acc}}}
inputs:
  - name: input
    type: tensor
    dtypes: {{values: [{dtype}]}}
    ranges: {{valid: {{values: [[-5, 5]]}}}}
    shapes: {{dim_numbers: {{values: [2]}}, dim_values: [{{values: [64]}}, {{values: [4096]}}]}}
{more}"""
DIM = "  - {name: dim, type: attr, dtypes: {values: [int]}, ranges: {valid: {values: [1]}}}\n"
OWN = """\
devices:
  lab:
    {{title: of the lab, source: measured, functions: {functions}, flushes: [], fma: true,
      order: {{repeat: 64, ways: [tree], cores: [1]}}}}
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def spec(folder: Path, name: str = "torch.sum", acc: str = "single_bm", dtype: str = "fp32", more: str = DIM) -> Path:
    path = folder / "spec.yaml"
    path.write_text(SPEC.format(name=name, acc=acc, dtype=dtype, more=more))
    return path


def test_the_order_of_a_device_narrows_the_prediction(tmp_path: Path) -> None:
    """A tight tolerance fails one long chain of addends around 0 more often than a tree."""
    acc = "{mixed_tolerance_bm: {fp32_rtol: 0.00001, fp32_atol: 0.00001, fp32_required_matched_ratio: 0.999}}"
    path = spec(tmp_path, acc=acc)
    rates = []
    for device in ((), ("--device", "950")):
        message = run("audit", path, *device).stdout
        assert "OPS109" in message
        rates.append(float(message.partition("kernels in ")[2].partition(" %")[0]))
    assert rates[1] < rates[0] / 2


@pytest.mark.parametrize("form", ["concise", "full", "markdown", "html"])
def test_reports_say_for_which_device(tmp_path: Path, form: str) -> None:
    path = spec(tmp_path)
    assert "device 950" in run("audit", path, "--device", "950", "--format", form).stdout
    assert "any device" in run("audit", path, "--format", form).stdout


def test_json_and_sarif_name_the_device(tmp_path: Path) -> None:
    path = spec(tmp_path)
    assert json.loads(run("audit", path, "--device", "a2", "--format", "json").stdout)["device"] == "A2"
    assert "device" not in json.loads(run("audit", path, "--format", "json").stdout)
    sarif = json.loads(run("audit", path, "--device", "a2", "--format", "sarif").stdout)
    assert sarif["runs"][0]["properties"]["judgedFor"] == "device A2"


@pytest.mark.parametrize("command", ["audit", "fix", "explain", "validate"])
def test_a_wrong_name_is_a_usage_error(tmp_path: Path, command: str) -> None:
    subject = "torch.exp" if command == "explain" else spec(tmp_path)
    name = "simulated:95O" if command == "validate" else "95O"
    found = run(command, subject, "--device", name)
    assert found.exit_code == 2
    assert "did you mean 950?; known: A2, A3, 950, cuda, cpu" in found.output


def test_the_setting_holds_until_the_option_is_given(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.opscan]\ndevice = "A2"\n')
    path = spec(tmp_path)
    assert "device A2" in run("audit", path).stdout
    assert "device 950" in run("audit", path, "--device", "950").stdout
    (tmp_path / "pyproject.toml").write_text('[tool.opscan]\ndevice = "A4"\n')
    assert run("audit", path).exit_code == 2


def test_a_device_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "devices.yaml").write_text(OWN.format(functions="{}"))
    (tmp_path / "pyproject.toml").write_text('[tool.opscan]\nrules = ["own"]\ndevice = "lab"\n')
    path = spec(tmp_path)
    assert "device lab" in run("audit", path).stdout
    (tmp_path / "faulty").mkdir()
    (tmp_path / "faulty" / "devices.yaml").write_text(OWN.format(functions="{exp: 2}"))
    (tmp_path / "pyproject.toml").write_text('[tool.opscan]\nrules = ["faulty"]\n')
    refused = run("audit", path)
    assert refused.exit_code == 2
    assert "devices.yaml:3:" in refused.output


def test_explain_says_what_is_documented() -> None:
    pytest.importorskip("torch")
    told = run("explain", "torch.exp", "--input", "x=fp32[4]", "--device", "950").stdout
    assert "on 950: exp within 1 ULP (subnormals flushed)" in told
    assert "exp not documented" in run("explain", "torch.exp", "--input", "x=fp32[4]", "--device", "A2").stdout
    summed = run("explain", "torch.sum", "--input", "x=fp32[4]", "--device", "A2", "--format", "json").stdout
    assert "sums of 64 by a tree" in json.loads(summed)["tensors"][0]["documented"]


def test_a_short_format_says_which_kernel_it_was_judged_by(tmp_path: Path) -> None:
    acc = "{mixed_tolerance_bm: {bf16_rtol: 0.0001, bf16_atol: 0.0001, bf16_required_matched_ratio: 0.999}}"
    path = spec(tmp_path, "torch.sigmoid", acc, "bf16", "backward: true\n")
    told = run("audit", path).stdout
    assert "OPS109" in told
    assert "judged by a fused kernel, which keeps fp32 inside and rounds once at the end" in told
    assert "against a golden that rounds its steps to bf16" in told


def test_a_validation_against_a_profile_is_labelled(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = spec(tmp_path, acc="single_bm")
    found = run("validate", path, "--device", "simulated:950", "--max-cases", "1", "--runs", "1")
    assert found.stdout.startswith("SIMULATED device 950: ")
    assert run("validate", path, "--max-cases", "1", "--runs", "1").stdout.startswith("SIMULATED device: ")


def test_confirmation_emulates_the_device(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = spec(tmp_path, "torch.cumsum")
    assert "emulated on 950: " in run("audit", path, "--device", "950", "--confirm").output
