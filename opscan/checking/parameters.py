"""What a call of an operator can be given: names, types and defaults, read from torch's schemas and signatures."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import inspect
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from opscan.checking.calls import function_of

_PREFIXES = ("", "special_", "linalg_", "fft_", "_")
_WORD = re.compile(r"""['"]([a-z][a-z_\-]*)['"]""")
UNDRAWN = frozenset({
    "out", "generator", "layout", "device", "pin_memory", "memory_format", "names", "dimname", "size_average", "reduce",
    "non_blocking", "copy",
})  # fmt: skip
"""Parameters that say where and how a tensor lies, and deprecated ones."""


@dataclass(frozen=True)
class Parameter:
    """`kind`: Tensor, int, float, number, bool, str or dtype; `many`: a list of them."""

    name: str
    kind: str
    many: bool
    optional: bool
    by_name: bool = False


@lru_cache(maxsize=4096)
def overloads(name: str) -> tuple[tuple[Parameter, ...], ...]:
    """The signatures of the ATen overloads behind a name, those that write to `out` left out."""
    found = []
    for packet in _packets(name):
        for overload in packet.overloads():
            schema = getattr(packet, overload)._schema
            if not any(argument.is_out for argument in schema.arguments):
                found.append(tuple(_of_schema(argument) for argument in schema.arguments))
    return tuple(found)


def takes_out(name: str) -> bool:
    return any(
        argument.is_out
        for packet in _packets(name)
        for overload in packet.overloads()
        for argument in getattr(packet, overload)._schema.arguments
    )


@lru_cache(maxsize=4096)
def optional_parameters(name: str) -> tuple[Parameter, ...]:
    """The parameters of the callable that can be passed by keyword and left out."""
    python = _of_python(name)
    given = python or [parameter for overload in overloads(name) for parameter in overload]
    known: dict[str, Parameter] = {}
    for parameter in given:
        if parameter.optional and parameter.name not in UNDRAWN:
            known.setdefault(parameter.name, parameter)
    return tuple(known.values())


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """What the documentation of an operator puts in quotes: the words it may take."""
    try:
        return tuple(dict.fromkeys(_WORD.findall(function_of(name).__doc__ or "")))
    except AttributeError:
        return ()


def _packets(name: str) -> list[Any]:
    parts = name.removeprefix("torch.ops.aten.").split(".") if name.startswith("torch.ops.aten.") else []
    last = parts[0] if parts else name.rpartition(".")[2]
    if parts:
        return [getattr(torch.ops.aten, last)]
    head = name.split(".")[1]
    prefixes = [f"{head}_"] if head in ("special", "linalg", "fft") else _PREFIXES[:1]
    found = []
    for prefix in prefixes:
        packet = getattr(torch.ops.aten, prefix + last, None)
        if packet is not None and hasattr(packet, "overloads"):
            found.append(packet)
    return found


def _of_schema(argument: Any) -> Parameter:
    text = str(argument.type)
    kind = next((kind for kind in ("Tensor", "bool", "float", "number", "str", "int") if kind in text), "other")
    if argument.name == "dtype":
        kind = "dtype"
    optional = argument.has_default_value() or text.startswith("Optional")
    return Parameter(argument.name, kind, "List[" in text, optional, argument.kwarg_only)


def _of_python(name: str) -> list[Parameter]:
    function: Any = function_of(name)
    if not inspect.isfunction(function):
        return []
    found = []
    for parameter in inspect.signature(getattr(function, "__wrapped__", function)).parameters.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            return []
        text, default = str(parameter.annotation), parameter.default
        kinds = {"Tensor": "Tensor", "bool": "bool", "float": "float", "str": "str", "int": "int", "dtype": "dtype"}
        kind = next((kind for word, kind in kinds.items() if word in text), "")
        if not kind and type(default) in (bool, float, str, int):
            kind = type(default).__name__
        many = "list" in text.lower() or "tuple" in text.lower() or isinstance(default, (list, tuple))
        found.append(Parameter(parameter.name, kind or "other", many, default is not parameter.empty))
    return found
