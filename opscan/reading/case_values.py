"""One entry of a case file as a typed case."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any

from opscan.model import Case, CaseInput, two_numbers
from opscan.reading.checks import kind_of


class UnusableError(ValueError):
    """One case cannot be read; the message says why."""


def read_case(index: int, entry: Any) -> Case:
    """The case of one entry of a case file's list. Raises UnusableError where it is none."""
    if not isinstance(entry, dict):
        raise UnusableError(f"it is {kind_of(entry)}, not an object")
    standard = entry.get("standard")
    if standard is not None and not isinstance(standard, dict):
        raise UnusableError(f"`standard` is {kind_of(standard)}, not an object")
    receiver = entry.get("tensor_input")
    return Case(
        index=index,
        id=entry.get("id"),
        name=_text(entry, "name"),
        inputs=_inputs(entry.get("inputs"), "inputs"),
        acc=standard.get("acc") if standard else None,
        aclnn_name=_text(entry, "aclnn_name"),
        api=_text(entry, "api") or "pytorch",
        api_type=_text(entry, "api_type") or "function",
        backward=_flag(entry, "backward", False),
        outputs=_outputs(entry),
        tensor_input=None if receiver is None else _input(receiver, "tensor_input"),
        method_inputs=_inputs(entry.get("method_inputs"), "method_inputs"),
        is_boundary=_flag(entry, "is_boundary", False),
    )


def case_from(index: int, entry: Any) -> Case | str:
    """The case of one entry of a case file's list, or why it is none."""
    try:
        return read_case(index, entry)
    except UnusableError as error:
        return str(error)


def _inputs(value: Any, where: str) -> tuple[CaseInput, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise UnusableError(f"`{where}` is {kind_of(value)}, not a list")
    return tuple([_input(item, f"{where}[{index}]") for index, item in enumerate(value)])


def _input(value: Any, where: str) -> CaseInput:
    if isinstance(value, list):
        members = _inputs(value, where)
        first = members[0] if members else CaseInput(None, "tensors")
        return CaseInput(first.name, first.kind, first.dtype, backward=first.backward, members=members)
    if not isinstance(value, dict):
        raise UnusableError(f"`{where}` is {kind_of(value)}, not an object")
    kind = value.get("type")
    if not isinstance(kind, str):
        raise UnusableError(f"`{where}.type` is {kind_of(kind)}, not text")
    return CaseInput(
        name=_text(value, "name", where),
        kind=intern(kind),
        dtype=_text(value, "dtype", where),
        shape=_shape(value.get("shape"), where),
        values=value.get("range_values"),
        backward=_flag(value, "backward", True, where),
        required=_flag(value, "required", True, where),
        outliers=two_numbers(value.get("outlier_values")),
    )


def _shape(value: Any, where: str) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise UnusableError(f"`{where}.shape` is {kind_of(value)}, not a list")
    for size in value:
        if type(size) is not int or size < 0:
            held = f"{size}" if type(size) is int else kind_of(size)
            raise UnusableError(f"`{where}.shape` holds {held}, not a size")
    return tuple(value)


def _text(entry: Mapping[str, Any], key: str, where: str = "") -> str | None:
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        return intern(value)
    raise UnusableError(f"`{where}{'.' if where else ''}{key}` is {kind_of(value)}, not text")


def _flag(entry: Mapping[str, Any], key: str, default: bool, where: str = "") -> bool:
    value = entry.get(key)
    if value is None:
        return default
    if isinstance(value, bool):
        return value
    raise UnusableError(f"`{where}{'.' if where else ''}{key}` is {kind_of(value)}, not true or false")


def _outputs(entry: Mapping[str, Any]) -> int | None:
    value = entry.get("outputs")
    if value is None or type(value) is int:
        return value
    raise UnusableError(f"`outputs` is {kind_of(value)}, not a number")
