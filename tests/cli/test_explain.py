"""`opscan explain`: inputs from the command line, what is said of index values, and broadcast patterns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from opscan.cli import cli


def explain(*arguments: str) -> Any:
    result = CliRunner().invoke(cli, ["explain", *arguments, "--format", "json"], standalone_mode=False)
    assert result.exception is None, result.exception
    return json.loads(result.stdout)


def classes(answer: dict[str, Any]) -> dict[str, str]:
    return {tensor["name"]: tensor["class"] for tensor in answer["tensors"]}


GATHER = ["torch.gather", "--input", "input=fp32[8,8]", "--input", "dim=1", "--input", "index=int64[8,4]"]
VALUES = [
    ((), "accumulated", ["shapes", "values"]),
    (("--values", "index=unique"), "select-only", ["shapes"]),
    (("--values", "index=duplicate"), "accumulated", ["shapes"]),
]


@pytest.mark.parametrize(("said", "kind", "depends"), VALUES)
def test_values_decide_what_only_they_can(said: tuple[str, ...], kind: str, depends: list[str]) -> None:
    gradient = next(t for t in explain(*GATHER, *said)["tensors"] if t["name"] == "grad:input")
    assert (gradient["class"], gradient["depends_on"]) == (kind, depends)


INPUTS = [
    (["torch.cat", "--input", "tensors=[fp32[2],fp32[3]]", "--input", "dim=0"], "grad:tensors[1]", "select-only"),
    (["Tensor.expand", "--input", "self=fp32[1,8]", "--input", "size=[300,8]"], "grad:self", "broadcast-reduced"),
    (["torch.neg", "--input", "input=fp16[]"], "output:0", "select-only"),
    (
        ["torch.nn.functional.pad", "--input", "input=fp32[2,3,8,8]", "--input", "pad=[2,2,2,2]", "--input",
         "mode=reflect"], "grad:input", "accumulated",
    ),
    (["torch.sum", "--input", "input=bf16[4,512]", "--input", "dim=1"], "output:0", "accumulated"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "name", "kind"), INPUTS, ids=[row[0][0] for row in INPUTS])
def test_inputs(arguments: list[str], name: str, kind: str) -> None:
    assert classes(explain(*arguments))[name] == kind


def test_broadcast_patterns_change_only_the_gradient_that_is_broadcast() -> None:
    shapes = ["--input", "condition=bool[4,8]", "--input", "input=fp32[4,8]", "--input", "other=fp32[4,8]"]
    answer = explain("torch.where", *shapes, "--broadcast")
    assert len(answer["patterns"]) == 16
    for pattern in answer["patterns"]:
        told = classes(pattern)
        for name in ("input", "other"):
            narrowed = pattern["shapes"][name] != [4, 8]
            assert told[f"grad:{name}"] == ("broadcast-reduced" if narrowed else "select-only")


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    arguments = ["explain", "torch.add", "--input", "input=fp32[4]", "--input", "other=fp32[3]", "--broadcast"]
    result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert "do not broadcast" in str(result.exception)


def test_unknown_operators_say_why_and_end_with_1() -> None:
    result = CliRunner().invoke(cli, ["explain", "torch.load", "--input", "f=x"], standalone_mode=False)
    assert (result.return_value, result.exception) == (1, None)
    assert "is not an operator" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "given_up", "told"),
    [
        (
            ["torch.einsum", "--input", "equation=ij,jk->ik", "--input", "operands=[fp32[2,3],fp32[3,4]]"],
            "by position only",
            {"output:0": "accumulated", "grad:operands[0]": "accumulated", "grad:operands[1]": "accumulated"},
        ),
        (["torch.bincount", "--input", "input=int64[8]", "--input", "weights=fp32[8]"], "there are no gradients", {
            "output:0": "accumulated"}),
    ],
)  # fmt: skip
def test_what_the_operator_does_not_take_is_given_up_and_said(
    arguments: list[str], given_up: str, told: dict[str, str]
) -> None:
    answer = explain(*arguments)
    assert classes(answer) == told
    assert given_up in answer["reason"]


def test_the_steps_are_those_of_this_call() -> None:
    answer = explain("torch.maximum", "--input", "input=fp32[8,8]", "--input", "other=fp32[1,8]")
    steps = {tensor["name"]: tensor["path"] for tensor in answer["tensors"]}
    assert "aten.sum.dim_IntList" in steps["grad:other"]
    assert not [step for step in steps["grad:input"] if ".sum." in step]


def test_a_torch_that_cannot_be_imported_leaves_what_ships(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('libhccl.so: cannot open shared object file')")
    arguments = ["torch.maximum", "--input", "input=fp32[8,8]", "--input", "other=fp32[1,8]", "--format", "json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), *sys.path))}
    command = [sys.executable, "-m", "opscan", "explain", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert classes(json.loads(done.stdout))["grad:other"] == "broadcast-reduced"
