"""A case, as a spec's case file would hold it, for a call on tensors."""

from __future__ import annotations

from typing import Any

import torch
from numerics_runs import Subject
from torch.utils._pytree import tree_unflatten

from opscan.model import Case, CaseInput

_KINDS = {bool: "bool", int: "int", float: "float", str: "string"}


class Inexpressible(ValueError):
    """A case cannot hold this call; the message says which value."""


def case_for(name: str, what: Subject) -> Case:
    """The call of `what` as a case of the operator `name`, gradients wanted as `what` wants them."""
    args, kwargs = tree_unflatten(list(what.leaves), what.structure)
    receiver = _input(None, args[0]) if name.startswith("Tensor.") else None
    given = [_input(None, value) for value in args[receiver is not None :]]
    given += [_input(key, value) for key, value in kwargs.items()]
    inputs = () if receiver else tuple(given)
    methods = tuple(given) if receiver else ()
    return Case(0, 0, name, inputs, backward=bool(what.wanted), tensor_input=receiver, method_inputs=methods)


def _input(name: str | None, value: Any) -> CaseInput:
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_quantized:
            raise Inexpressible(f"{name}: {value.layout}")
        dtype, shape = str(value.dtype).removeprefix("torch."), tuple(value.shape)
        return CaseInput(name, "tensor", dtype, shape, range_of(value), backward=value.requires_grad)
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
    if values and all(isinstance(value, torch.Tensor) for value in values):
        return CaseInput(name, "tensors", members=tuple(_input(None, value) for value in values))
    kinds = {type(value) for value in values}
    if len(kinds) > 1 or not kinds <= {bool, int, float}:
        raise Inexpressible(f"{name}: {values}")
    return CaseInput(name, "attr", _KINDS[kinds.pop()] if kinds else "int", values=values)


def range_of(tensor: torch.Tensor) -> Any:
    """The range that a case would declare for whole numbers."""
    whole = not tensor.dtype.is_floating_point and not tensor.dtype.is_complex and tensor.dtype != torch.bool
    if not whole or tensor.is_quantized or not tensor.numel():
        return None
    values = tensor.to_dense() if tensor.layout != torch.strided else tensor
    return int(values.min()), int(values.max())
