"""Rows of expected.yaml: a text for a call becomes a case, a text for a claim can be held against a class."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from opscan.model import Case, CaseInput, TensorClass

_TENSOR = re.compile(r"(\w+)\[([\d,]*)\](?: (nograd|-?\d+\.\.-?\d+))?")


@dataclass(frozen=True)
class Row:
    operator: str
    inputs: dict[str, Any]
    claims: dict[str, str]

    @property
    def id(self) -> str:
        return f"{self.operator}({', '.join(f'{name}={value}' for name, value in self.inputs.items())})"


def load_rows() -> list[Row]:
    return [Row(*entry) for entry in yaml.safe_load(Path(__file__).with_name("expected.yaml").read_text("utf-8"))]


def case_of(operator: str, inputs: dict[str, Any], backward: bool | None = None) -> Case:
    given = [input_of(name, value) for name, value in inputs.items()]
    receiver = given.pop(0) if operator.startswith("Tensor.") else None
    everything = [receiver, *given] if receiver else given
    if backward is None:
        backward = any(_differentiable(entry) for entry in everything)
    return Case(0, 0, operator, tuple(given), backward=backward, tensor_input=receiver, method_inputs=tuple(given))


def _differentiable(given: CaseInput) -> bool:
    if given.members is not None:
        return any(_differentiable(member) for member in given.members)
    return given.shape is not None and given.backward and (given.dtype or "").startswith(("fp", "bf", "complex"))


def input_of(name: str | None, value: Any) -> CaseInput:
    label = None if name is None or name.startswith("_") else name
    if isinstance(value, list) and value and all(isinstance(v, str) and _TENSOR.fullmatch(v) for v in value):
        return CaseInput(label, "tensors", members=tuple(input_of(None, member) for member in value))
    if isinstance(value, str) and (match := _TENSOR.fullmatch(value)):
        dtype, sizes, extra = match.groups()
        shape = tuple(int(size) for size in sizes.split(",") if size)
        values = [int(end) for end in extra.split("..")] if extra and ".." in extra else None
        return CaseInput(label, "tensor", dtype, shape, values, backward=extra != "nograd")
    if isinstance(value, str) and value.startswith("dtype:"):
        return CaseInput(label, "attr", "torch_dtype", values=value.removeprefix("dtype:"))
    kinds = {bool: "bool", int: "int", float: "float", str: "string"}
    return CaseInput(label, "attr", kinds.get(type(value), "int"), values=value)


def disagreement(expected: str, found: TensorClass) -> str:
    """Where `found` is not what the text `expected` says; empty where it is."""
    classes, *words = expected.split()
    wanted = dict(word.split("=") for word in words if "=" in word)
    problems = []
    if str(found.numeric_class) not in classes.split("|"):
        problems.append(f"class {found.numeric_class}, expected {classes}")
    if found.correctly_rounded != ("once" in words):
        problems.append(f"correctly_rounded {found.correctly_rounded}")
    if "cause" in wanted and found.cause != wanted["cause"]:
        problems.append(f"cause {found.cause}, expected {wanted['cause']}")
    if "extent" in wanted and found.extent != int(wanted["extent"]):
        problems.append(f"extent {found.extent}, expected {wanted['extent']}")
    stages = ",".join(f"{stage.cause}:{stage.extent}" for stage in found.stages)
    if stages != wanted.get("stages", stages):
        problems.append(f"stages {stages}, expected {wanted['stages']}")
    depends = set(wanted.get("depends", "").split(",")) - {"", "nothing"}
    if wanted.get("depends") == "nothing" and found.depends_on:
        problems.append(f"depends on {found.depends_on}")
    if not depends <= set(found.depends_on) or ("values" in found.depends_on) != ("values" in depends):
        problems.append(f"depends on {found.depends_on}, expected {depends}")
    return "; ".join(problems)
