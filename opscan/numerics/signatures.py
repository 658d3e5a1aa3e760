"""Signatures as ATen writes them: `Tensor self, Tensor? weight, int[] dim=[], *, float eps=1e-05`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from opscan.dataclass import dataclass

_PARAMETER = re.compile(
    r"(?P<type>\w+)(?P<marks>[\[\]?\d]*)(?:\([^)]*\))?(?P<more>[\[\]?\d]*)\s+(?P<name>\w+)(?:\s*=\s*(?P<default>.+))?$"
)
_KINDS = {
    "Tensor": "tensor",
    "Either": "either",
    "int": "int",
    "SymInt": "int",
    "float": "float",
    "Scalar": "scalar",
    "bool": "bool",
    "str": "str",
    "ScalarType": "dtype",
}
_REQUIRED = object()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; `many`: a list of them.

    `kind`: tensor, either (a tensor or a number), int, float, scalar, bool, str, dtype or other.
    """

    name: str
    kind: str
    many: bool = False
    optional: bool = False
    default: Any = _REQUIRED
    by_name: bool = False
    """Only passed by keyword."""
    by_place: bool = False
    """Never passed by keyword: what stands before a `/`."""
    sized: bool = False
    """A list for which one number may stand, as `int[1]` says."""

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED and not self.optional

    @property
    def absent(self) -> Any:
        """What is passed where the case has no such input."""
        return None if self.default is _REQUIRED else self.default


def plain(name: str) -> str:
    """A name without the marks that its spellings differ in."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def read_signature(text: str) -> tuple[Parameter, ...]:
    """The parameters of a signature, bare or as a whole ATen schema. Raises ValueError naming the part."""
    head = text.rsplit("->", 1)[0].strip()
    if match := re.fullmatch(r"[\w:.]+\((.*)\)", head, re.DOTALL):
        head = match.group(1)
    parameters: list[Parameter] = []
    by_name = False
    for part in _parts(head):
        if part == "*":
            by_name = True
            continue
        if part == "/":
            parameters = [replace(parameter, by_place=True) for parameter in parameters]
            continue
        parameters.append(_parameter(part, by_name))
    return tuple(parameters)


def _parts(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for position, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            yield text[start:position].strip()
            start = position + 1
    if text[start:].strip():
        yield text[start:].strip()


def _parameter(text: str, by_name: bool) -> Parameter:
    match = _PARAMETER.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not `Type name` or `Type name=default`")
    marks = match["marks"] + match["more"]
    default = _REQUIRED if match["default"] is None else _value(match["default"])
    kind = _KINDS.get(match["type"], "other")
    sized = any(letter.isdigit() for letter in marks)
    return Parameter(match["name"], kind, "[" in marks, marks.endswith("?"), default, by_name, sized=sized)


def _value(text: str) -> Any:
    words = {"None": None, "True": True, "False": False, "Mean": 1, "Sum": 2, "None_": None}
    if text in words:
        return words[text]
    if text.startswith("["):
        return [_value(part) for part in _parts(text[1:-1])]
    if text[0] in "\"'":
        return text[1:-1]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
