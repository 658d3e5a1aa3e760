"""Read the inputs of `opscan explain`: `other=fp32[1,8]`, `x=[fp32[2],fp32[3]]`, `dim=1`, `size=[300,8]` ..."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from opscan.model import Case, CaseInput

_TENSOR = re.compile(r"(?P<dtype>[a-z][a-z0-9_]*)\[(?P<shape>[\d,\s]*)\]")


class BadInput(ValueError):
    """An input that cannot be understood; the message shows the forms that can."""


def case_of(operator: str, inputs: Sequence[str], *, backward: bool) -> Case:
    """The case that the command line describes. A Tensor method takes its first input as the receiver.

    Raises BadInput.
    """
    given = [_input(text) for text in inputs]
    method = operator.startswith(("Tensor.", "torch.Tensor."))
    receiver = given[0] if method and given else None
    rest = tuple(given[1:] if method else given)
    return Case(
        index=0,
        id=0,
        name=operator,
        inputs=() if method else rest,
        backward=backward,
        tensor_input=receiver,
        method_inputs=rest if method else (),
    )


def _input(text: str) -> CaseInput:
    name, separator, value = text.partition("=")
    if not separator or not name.isidentifier():
        raise BadInput(f"--input {text!r}: write NAME=fp32[2,3] for a tensor or NAME=VALUE for an attribute")
    value = value.strip()
    if match := _TENSOR.fullmatch(value):
        return _tensor(name, match)
    if value.startswith("[") and _TENSOR.search(value):
        return CaseInput(name, "tensors", members=tuple(_tensor(name, match) for match in _TENSOR.finditer(value)))
    return _attribute(name, value)


def _tensor(name: str, match: re.Match[str]) -> CaseInput:
    from opscan.numerics.dtypes import TORCH_DTYPES

    dtype = match["dtype"]
    if dtype not in TORCH_DTYPES:
        raise BadInput(f"--input {name}: unknown dtype {dtype!r}; known: {', '.join(TORCH_DTYPES)}")
    shape = tuple(int(size) for size in match["shape"].split(",") if size.strip())
    return CaseInput(name, "tensor", dtype, shape)


def _attribute(name: str, value: str) -> CaseInput:
    parsed: Any
    try:
        parsed = json.loads({"True": "true", "False": "false", "None": "null"}.get(value, value))
    except json.JSONDecodeError:
        return CaseInput(name, "attr", "string", None, value)
    kinds = {bool: "bool", int: "int", float: "float", str: "string"}
    return CaseInput(name, "attr", kinds.get(type(parsed), "int"), None, parsed)
