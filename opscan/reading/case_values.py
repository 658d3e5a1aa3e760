"""One entry of a case file as a typed case, and what repeats only once in memory.

Generated cases repeat their operator, standard and ranges, often all but their number; a case that was met before is
not checked again.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from sys import intern
from typing import Any

from opscan.model import Case, CaseInput
from opscan.reading.checks import kind_of

_READ = (
    "name",
    "inputs",
    "standard",
    "aclnn_name",
    "api",
    "api_type",
    "backward",
    "outputs",
    "tensor_input",
    "method_inputs",
    "is_boundary",
)
_REMEMBERED = 4096
"""Cases and values; in a file that repeats nothing, what is remembered must not outgrow what is kept."""


class _Unusable(Exception):
    """One case cannot be read; the message says why."""


class CaseReader:
    """Reads the entries of one file. What it gives for equal entries is shared, but for position and id."""

    def __init__(self) -> None:
        self._cases: dict[bytes, Case] = {}
        self._values: dict[bytes, Any] = {}

    def read(self, index: int, entry: Any) -> Case | str:
        """The case, or why it is none."""
        key = _key(entry)
        known = self._cases.get(key) if key is not None else None
        if known is not None:
            return _renumbered(known, index, entry.get("id"))
        try:
            case = self._case(index, entry)
        except _Unusable as error:
            return str(error)
        if key is not None:
            _remember(self._cases, key, case)
        return case

    def _shared(self, value: Any) -> Any:
        """The value, or the equal one that was met before."""
        if type(value) is str:
            return intern(value)
        if not isinstance(value, (list, dict, float)):
            return value
        try:
            key = marshal.dumps(value, 2)
        except ValueError:
            return value
        known = self._values.get(key)
        if known is None:
            known = value
            _remember(self._values, key, value)
        return known

    def _case(self, index: int, entry: Any) -> Case:
        if not isinstance(entry, dict):
            raise _Unusable(f"it is {kind_of(entry)}, not an object")
        standard = entry.get("standard")
        if standard is not None and not isinstance(standard, dict):
            raise _Unusable(f"`standard` is {kind_of(standard)}, not an object")
        receiver = entry.get("tensor_input")
        return Case(
            index=index,
            id=entry.get("id"),
            name=_text(entry, "name"),
            inputs=self._inputs(entry.get("inputs"), "inputs"),
            acc=self._shared(standard.get("acc")) if standard else None,
            aclnn_name=_text(entry, "aclnn_name"),
            api=_text(entry, "api") or "pytorch",
            api_type=_text(entry, "api_type") or "function",
            backward=_flag(entry, "backward", False),
            outputs=_outputs(entry),
            tensor_input=None if receiver is None else self._input(receiver, "tensor_input"),
            method_inputs=self._inputs(entry.get("method_inputs"), "method_inputs"),
            is_boundary=_flag(entry, "is_boundary", False),
        )

    def _inputs(self, value: Any, where: str) -> tuple[CaseInput, ...]:
        if value is None:
            return ()
        if not isinstance(value, list):
            raise _Unusable(f"`{where}` is {kind_of(value)}, not a list")
        return tuple([self._input(item, f"{where}[{index}]") for index, item in enumerate(value)])

    def _input(self, value: Any, where: str) -> CaseInput:
        if isinstance(value, list):
            members = self._inputs(value, where)
            first = members[0] if members else CaseInput(None, "tensors")
            return CaseInput(first.name, first.kind, first.dtype, backward=first.backward, members=members)
        if not isinstance(value, dict):
            raise _Unusable(f"`{where}` is {kind_of(value)}, not an object")
        kind = value.get("type")
        if not isinstance(kind, str):
            raise _Unusable(f"`{where}.type` is {kind_of(kind)}, not text")
        return CaseInput(
            name=_text(value, "name", where),
            kind=intern(kind),
            dtype=_text(value, "dtype", where),
            shape=self._shape(value.get("shape"), where),
            values=self._shared(value.get("range_values")),
            backward=_flag(value, "backward", True, where),
            required=_flag(value, "required", True, where),
        )

    def _shape(self, value: Any, where: str) -> tuple[int, ...] | None:
        if value is None:
            return None
        if not isinstance(value, list):
            raise _Unusable(f"`{where}.shape` is {kind_of(value)}, not a list")
        for size in value:
            if type(size) is not int or size < 0:
                held = f"{size}" if type(size) is int else kind_of(size)
                raise _Unusable(f"`{where}.shape` holds {held}, not a size")
        return tuple(value)


def case_from(index: int, entry: Any) -> Case | str:
    """The case of one entry of a case file's list, or why it is none."""
    return CaseReader().read(index, entry)


def _key(entry: Any) -> bytes | None:
    """All that is read of an entry but its id, as bytes that are equal for equal entries only."""
    if not isinstance(entry, dict):
        return None
    get = entry.get
    try:
        return marshal.dumps([get(name) for name in _READ], 2)
    except ValueError:
        return None  # nested too deeply for it


def _remember(known: dict[bytes, Any], key: bytes, value: Any) -> None:
    if len(known) >= _REMEMBERED:
        known.clear()
    known[key] = value


def _renumbered(case: Case, index: int, identity: Any) -> Case:
    return Case(
        index,
        identity,
        case.name,
        case.inputs,
        case.acc,
        case.aclnn_name,
        case.api,
        case.api_type,
        case.backward,
        case.outputs,
        case.tensor_input,
        case.method_inputs,
        case.is_boundary,
    )


def _text(entry: Mapping[str, Any], key: str, where: str = "") -> str | None:
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        return intern(value)
    raise _Unusable(f"`{where}{'.' if where else ''}{key}` is {kind_of(value)}, not text")


def _flag(entry: Mapping[str, Any], key: str, default: bool, where: str = "") -> bool:
    value = entry.get(key)
    if value is None:
        return default
    if isinstance(value, bool):
        return value
    raise _Unusable(f"`{where}{'.' if where else ''}{key}` is {kind_of(value)}, not true or false")


def _outputs(entry: Mapping[str, Any]) -> int | None:
    value = entry.get("outputs")
    if value is None or type(value) is int:
        return value
    raise _Unusable(f"`outputs` is {kind_of(value)}, not a number")
