"""A call with described tensors: as the run of an oracle, as a case of a spec, as a line for `opscan explain`."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map

from opscan.checking.runs import Subject
from opscan.model import Case, CaseInput
from opscan.numerics.dtypes import ATK_DTYPES

_KINDS = {bool: "bool", int: "int", float: "float", str: "string"}
DATA = ("mixed", "positive", "small", "zeros")
"""Ways to fill the tensors of a call: values of both signs, inside of (0.05, 0.95), that with 0 and 1 for whole
numbers, with 0 for these."""


class Inexpressible(ValueError):
    """A case cannot hold this call; the message says which value."""


@dataclass(frozen=True)
class Drawn:
    """A tensor to be made. `low` and `high` bound whole numbers, both included."""

    dtype: str
    shape: tuple[int, ...]
    grad: bool = False
    low: int = 0
    high: int = 1

    @property
    def floating(self) -> bool:
        return is_floating(self.dtype)


def is_floating(dtype: str) -> bool:
    return "float" in dtype or dtype.startswith("complex")


@dataclass(frozen=True)
class FreshCall:
    """`name` as a spec spells it; `args` and `kwargs` with a `Drawn` where a tensor is."""

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    @property
    def method(self) -> bool:
        return self.name.startswith(("torch.Tensor.", "Tensor."))

    @property
    def in_place(self) -> bool:
        parts = self.name.removeprefix("torch.ops.aten.").split(".")
        last = parts[0] if self.name.startswith("torch.ops.aten.") else parts[-1]
        return last.endswith("_") and not last.endswith("__")

    def tensors(self) -> list[Drawn]:
        return [leaf for leaf in tree_flatten((self.args, dict(self.kwargs)))[0] if isinstance(leaf, Drawn)]

    def mapped(self, change: Callable[[Drawn], Drawn]) -> FreshCall:
        def walk(value: Any) -> Any:
            if isinstance(value, Drawn):
                return change(value)
            return type(value)(walk(item) for item in value) if isinstance(value, (list, tuple)) else value

        return FreshCall(self.name, tuple(map(walk, self.args)), {name: walk(v) for name, v in self.kwargs.items()})


def call_of(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> FreshCall:
    """A call on real tensors with its tensors described. Raises Inexpressible."""

    def described(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.layout != torch.strided or value.is_quantized or value.is_nested:
                raise Inexpressible(str(value.layout))
            low, high = range_of(value) or (0, 1)
            dtype = str(value.dtype).removeprefix("torch.")
            return Drawn(dtype, tuple(value.shape), value.requires_grad, low, high)
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            return type(value)(described(item) for item in value)
        if value is None or type(value) in _KINDS or isinstance(value, torch.dtype):
            return value
        raise Inexpressible(type(value).__name__)

    return FreshCall(name, tuple(map(described, args)), {key: described(value) for key, value in kwargs.items()})


def range_of(tensor: torch.Tensor) -> tuple[int, int] | None:
    """The range that a case would declare for whole numbers."""
    whole = not tensor.dtype.is_floating_point and not tensor.dtype.is_complex and tensor.dtype != torch.bool
    if not whole or tensor.is_quantized or not tensor.numel():
        return None
    values = tensor.to_dense() if tensor.layout != torch.strided else tensor
    return int(values.min()), int(values.max())


# -- as the run of an oracle ------------------------------------------------------------------------------------------


def function_of(name: str) -> Callable[..., Any]:
    """What a name means in torch. Raises AttributeError."""
    found: Any = torch
    for part in name.removeprefix("torch.").split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def subject_of(call: FreshCall, data: str, seed: int, function: Callable[..., Any] | None = None) -> Subject:
    """The call on real tensors, filled as `data` says."""
    generator = torch.Generator().manual_seed(seed)
    leaves, structure = tree_flatten((call.args, dict(call.kwargs)))
    filled = [_filled(leaf, data, generator) if isinstance(leaf, Drawn) else leaf for leaf in leaves]
    return Subject(call.name, _written_apart(call, function or function_of(call.name)), tuple(filled), structure)


def _written_apart(call: FreshCall, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on copies of what it may write: tensors without gradients, and what is written in place."""

    def copied(value: Any) -> Any:
        return value.clone() if isinstance(value, torch.Tensor) and not value.requires_grad else value

    def apart(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map(copied, args), tree_map(copied, kwargs)
        if call.in_place:
            args = (
                tree_map(lambda value: value.clone() if isinstance(value, torch.Tensor) else value, args[0]),
                *args[1:],
            )
        return function(*args, **kwargs)

    return apart


def _filled(given: Drawn, data: str, generator: torch.Generator) -> torch.Tensor:
    dtype = getattr(torch, given.dtype)
    if given.floating:
        wide = torch.complex128 if dtype.is_complex else torch.float64
        if data == "mixed":
            values = torch.randn(given.shape, generator=generator, dtype=wide)
        else:
            values = torch.rand(given.shape, generator=generator, dtype=wide) * 0.9 + 0.05
        return values.to(dtype).requires_grad_(given.grad)
    if dtype == torch.bool:
        return torch.rand(given.shape, generator=generator) < 0.6
    low, high = {"small": (0, 1), "zeros": (0, 0)}.get(data, (given.low, given.high))
    return torch.randint(low, high + 1, given.shape, generator=generator).to(dtype)


# -- as a case of a spec ----------------------------------------------------------------------------------------------


def case_of(call: FreshCall) -> Case:
    """The call as a spec's case file would hold it. Raises Inexpressible."""
    given = [_input(None, value) for value in call.args]
    given += [_input(key, value) for key, value in call.kwargs.items()]
    backward = any(tensor.grad for tensor in call.tensors())
    if call.method:
        return Case(0, 0, call.name, (), backward=backward, tensor_input=given[0], method_inputs=tuple(given[1:]))
    return Case(0, 0, call.name, tuple(given), backward=backward)


def _input(name: str | None, value: Any) -> CaseInput:
    if isinstance(value, Drawn):
        whole = not value.floating and value.dtype != "bool"
        values = (value.low, value.high) if whole else None
        return CaseInput(
            name, "tensor", ATK_DTYPES.get(value.dtype, value.dtype), value.shape, values, backward=value.grad
        )
    if isinstance(value, torch.dtype):
        return CaseInput(name, "attr", "torch_dtype", values=str(value))
    if value is None:
        return CaseInput(name, "attr", "int", values="null")
    if type(value) in _KINDS:
        return CaseInput(name, "attr", _KINDS[type(value)], values=value)
    if isinstance(value, (list, tuple)):
        return _list(name, list(value))
    raise Inexpressible(f"{name}: {type(value).__name__}")


def _list(name: str | None, values: list[Any]) -> CaseInput:
    if values and all(isinstance(value, Drawn) for value in values):
        return CaseInput(name, "tensors", members=tuple(_input(None, value) for value in values))
    kinds = {type(value) for value in values}
    if len(kinds) > 1 or not kinds <= {bool, int, float}:
        raise Inexpressible(f"{name}: {values}")
    return CaseInput(name, "attr", _KINDS[kinds.pop()] if kinds else "int", values=values)


def labels(call: FreshCall, parameters: Sequence[str]) -> list[str]:
    """The name of every leaf of the call in the order of a run: its parameter, and its place in a list."""

    def walk(label: str, value: Any) -> Iterator[str]:
        if isinstance(value, (list, tuple)):
            for place, item in enumerate(value):
                yield from walk(f"{label}[{place}]", item)
        else:
            yield label

    shift = int(call.method)
    names = [parameters[place] if place < len(parameters) else f"#{place - shift}" for place in range(len(call.args))]
    named = [*zip(names, call.args, strict=True), *call.kwargs.items()]
    return [label for name, value in named for label in walk(name, value)]


# -- as a line --------------------------------------------------------------------------------------------------------


def line_of(call: FreshCall, parameters: Sequence[str]) -> str:
    """The `opscan explain` line for the call; what it cannot say of gradients stands behind #."""
    names = [parameters[place] if place < len(parameters) else f"x{place}" for place in range(len(call.args))]
    given = [*zip(names, call.args, strict=True), *call.kwargs.items()]
    words = [f"--input {_quoted(f'{name}={_text(value)}')}" for name, value in given]
    tensors = call.tensors()
    plain = [tensor for tensor in tensors if tensor.floating and not tensor.grad]
    if tensors and not any(tensor.grad for tensor in tensors):
        words.append("--forward-only")
    elif plain:
        words.append(f"# no gradient of {len(plain)} of {len(tensors)} tensors")
    return f"opscan explain {call.name} {' '.join(words)}"


def _text(value: Any) -> str:
    if isinstance(value, Drawn):
        return f"{ATK_DTYPES.get(value.dtype, value.dtype)}[{','.join(map(str, value.shape))}]"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_text, value))}]"
    return str(value)


def _quoted(text: str) -> str:
    return f"'{text}'" if set(text) & set("[]*?#;&|<>() ") else text


def without_gradients(call: FreshCall) -> FreshCall:
    return call.mapped(lambda tensor: replace(tensor, grad=False))
