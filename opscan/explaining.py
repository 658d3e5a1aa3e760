"""Read the inputs of `opscan explain`: `other=fp32[1,8]`, `x=[fp32[2],fp32[3]]`, `dim=1`, `size=[300,8]` ..."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opscan.model import Case, CaseInput

_TENSOR = re.compile(r"(?P<dtype>[a-z][a-z0-9_]*)\[(?P<shape>[\d,\s]*)\]")


class BadInput(ValueError):
    """An input that cannot be understood; the message shows the forms that can."""


def case_of(operator: str, inputs: Sequence[str], values: Sequence[str] = (), *, backward: bool) -> Case:
    """The case that the command line describes. A Tensor method takes its first input as the receiver.

    `values` says of index tensors what only their values decide: `index=unique` or `index=duplicate`. Raises BadInput.
    """
    given = _with_values([_input(text) for text in inputs], values)
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


def other_readings(case: Case) -> Iterator[tuple[Case, str]]:
    """The call with its inputs by position, then without gradients, then both, and what each gives up."""
    placed = replace(case, inputs=tuple(replace(given, name=None) for given in case.inputs))
    by_position = "the operator takes these inputs by position only"
    yield placed, by_position
    if case.backward:
        yield replace(case, backward=False), "there are no gradients"
        yield replace(placed, backward=False), f"{by_position}, and there are no gradients"


def broadcast_patterns(case: Case) -> list[Case]:
    """The call with all tensors of one shape, then with each in turn narrowed along the first axis, the last, and all.

    Raises BadInput where the shapes of the tensors do not broadcast to one.
    """
    tensors = [place for place, given in enumerate(case.inputs) if given.shape is not None]
    full = _broadcast([case.inputs[place].shape or () for place in tensors])
    narrowed = dict.fromkeys([(1, *full[1:]), (*full[:-1], 1), full[1:], (), (1,) * len(full)] if full else [()])
    same = _shaped(case, dict.fromkeys(tensors, full))
    others = [
        _shaped(case, dict.fromkeys(tensors, full) | {place: shape})
        for place in tensors
        for shape in narrowed
        if shape != full
    ]
    return [same, *others]


def _shaped(case: Case, shapes: Mapping[int, tuple[int, ...]]) -> Case:
    inputs = [replace(given, shape=shapes.get(place, given.shape)) for place, given in enumerate(case.inputs)]
    return replace(case, inputs=tuple(inputs))


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max(map(len, shapes), default=0)
    full = []
    for sizes in zip(*[(1,) * (rank - len(shape)) + shape for shape in shapes], strict=True):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            raise BadInput(f"--broadcast: the shapes {', '.join(map(str, shapes))} do not broadcast to one shape")
        full.append(wide.pop() if wide else 1)
    return tuple(full)


def _with_values(given: list[CaseInput], values: Sequence[str]) -> list[CaseInput]:
    said = {}
    for text in values:
        name, _, word = text.partition("=")
        if word not in ("unique", "duplicate") or name not in {entry.name for entry in given}:
            raise BadInput(f"--values {text!r}: write the name of an input and =unique or =duplicate")
        said[name] = word
    return [replace(entry, values=said.get(entry.name or "", entry.values)) for entry in given]


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
