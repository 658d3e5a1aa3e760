"""One ATen call that can be made again with other arguments."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

Redo = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class AtenCall:
    """`packet` is the name without overload and without the underscore of an in-place call."""

    func: Any
    packet: str
    arguments: Mapping[str, Any]
    written: frozenset[str]

    @classmethod
    def of(cls, func: Any, args: Any, kwargs: Mapping[str, Any]) -> AtenCall:
        schema = func._schema
        arguments = {each.name: each.default_value for each in schema.arguments if each.has_default_value()}
        arguments |= dict(zip((each.name for each in schema.arguments), args, strict=False))
        arguments |= kwargs
        written = {each.name for each in schema.arguments if each.alias_info is not None and each.alias_info.is_write}
        name = schema.name.split("::")[1]
        packet = name[:-1] if name.endswith("_") and not name.endswith("__") else name
        return cls(func, packet, arguments, frozenset(written | {"running_mean", "running_var"}))

    def again(self, /, **changes: Any) -> Any:
        """The result with some arguments replaced; nothing that the call writes is changed."""
        arguments = {**self.arguments, **changes}
        for name in self.written & arguments.keys():
            arguments[name] = _copied(arguments[name])
        schema = self.func._schema.arguments
        positional = [arguments[each.name] for each in schema if not each.kwarg_only and each.name in arguments]
        named = {each.name: arguments[each.name] for each in schema if each.kwarg_only and each.name in arguments}
        return self.func(*positional, **named)

    def get(self, name: str, default: Any = None) -> Any:
        return self.arguments.get(name, default)


def _copied(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(item) for item in value)
    return value.clone() if isinstance(value, torch.Tensor) else value


def rounds(value: Any) -> bool:
    """Whether `value` is a dense tensor of numbers that arithmetic rounds."""
    return (
        isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and (value.dtype.is_floating_point or value.dtype.is_complex)
    )
