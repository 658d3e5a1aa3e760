"""Calls of torch for a followed golden: what may be passed, what comes back, and what torch's refusals mean."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from typing import TYPE_CHECKING, Any

import torch

from opscan.numerics.goldens.numbers import Number, beside, full, full_like, holds_numbers, plain_number, tensor_of
from opscan.numerics.goldens.tensors import is_returned, is_tensor, method, plain
from opscan.numerics.goldens.torch_values import (
    DtypeType,
    Generator,
    GradMode,
    Module,
    ModuleType,
    Namespace,
    NumberLimits,
    TensorMethod,
    TensorType,
    TorchFunction,
    operator_function,
    torch_attribute,
    words,
)
from opscan.numerics.running import needs_data
from opscan.pyread.library import BUILTINS
from opscan.pyread.operations import describe
from opscan.pyread.stops import CannotFollow, PluginRaise
from opscan.pyread.values import ExceptionValue, HostFunction, TypeValue, measure

if TYPE_CHECKING:
    from opscan.pyread.machine import Machine

_PLAIN = (bool, int, float, str, type(None), type(...), torch.dtype, torch.device, torch.layout, torch.memory_format)
_TORCH_VALUES = (
    Namespace, TorchFunction, TensorMethod, ModuleType, Module, TensorType, DtypeType, GradMode, Generator,
    NumberLimits,
)  # fmt: skip
_MODULE_METHODS = words("eval train to float double half bfloat16 cpu requires_grad_")
_LIMITS = words("max min eps tiny bits smallest_normal resolution")
_CALL_STEPS = 4


def call_torch(ev: Machine, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
    """The result of a function or operator of torch on values of the golden.

    Raises CannotFollow for arguments that torch must not see, PluginRaise for what torch itself raises; what says that
    fake tensors do not do goes through.
    """
    ev.budget.left -= _CALL_STEPS
    measure((*args, *named.values()))
    try:
        if holds_numbers([*args, *named.values()]):
            return plain(_call_with_numbers(function, args, named))
        return plain(_call(function, *_given(args, named)))
    except (CannotFollow, PluginRaise):
        raise
    except Exception as problem:
        if needs_data(problem):
            raise
        kind = next((k for k in type(problem).__mro__ if k.__name__ in BUILTINS), Exception)
        text = (str(problem).strip() or type(problem).__name__).splitlines()[0][:300]
        raise PluginRaise(ExceptionValue(kind, (text,)), ev.line) from None


def _call(function: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if isinstance(function, TorchFunction):
        return function.function(*args, **named)
    if isinstance(function, TensorMethod):
        return function.function(function.receiver, *args, **named)
    if isinstance(function, ModuleType):
        return Module(function.host(*args, **named))
    if isinstance(function, Module):
        return function.host(*args, **named)
    if isinstance(function, TensorType):
        return _make_tensor(function, args)
    return function(*args, **named)


def _given(args: list[Any], named: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    return [host_value(value) for value in args], {name: host_value(value) for name, value in named.items()}


def _call_with_numbers(function: Any, args: list[Any], named: dict[str, Any]) -> Any:
    """A call with numbers that were read from tensors: as tensors where torch takes these, else as what they are."""
    if (make := _MADE_OF_NUMBERS.get(getattr(function, "name", "").rpartition(".")[2])) is not None:
        return make(function, args, {name: host_value(value) for name, value in named.items()})
    operands = [getattr(function, "receiver", None), *args, *named.values()]

    def placed(value: Any) -> Any:
        return beside(value, operands) if isinstance(value, Number) else value

    try:
        return _call(function, *_given([placed(one) for one in args], {key: placed(one) for key, one in named.items()}))
    except (RuntimeError, TypeError) as problem:
        if needs_data(problem):
            raise
    return _call(function, *_given([_read(one) for one in args], {key: _read(one) for key, one in named.items()}))


def _read(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_read(one) for one in value)
    return plain_number(value)


def _made_like(function: Any, args: list[Any], named: dict[str, Any]) -> Any:
    """`tensor.new_tensor(values)` and `tensor.new_full(size, value)`."""
    named.setdefault("dtype", function.receiver.dtype)
    return tensor_of(*args, **named) if function.name.endswith("new_tensor") else full(*args, **named)


_MADE_OF_NUMBERS: dict[str, Any] = {
    **dict.fromkeys(("tensor", "as_tensor"), lambda _, args, named: tensor_of(*args, **named)),
    **dict.fromkeys(("new_tensor", "new_full"), _made_like),
    **dict.fromkeys(
        ("Tensor", "FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor", "LongTensor", "IntTensor"),
        lambda function, args, _: _make_tensor(function, args),
    ),
    "full": lambda _, args, named: full(*args, **named),
    "full_like": lambda _, args, named: full_like(*args, **named),
}
"""What makes tensors of values, on lists that hold Numbers."""


def _make_tensor(kind: TensorType, args: list[Any]) -> Any:
    """`torch.FloatTensor([1, 2])`: only from values, for sizes would leave the memory unwritten."""
    names = {"Tensor": "float32", "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16",
             "BFloat16Tensor": "bfloat16", "LongTensor": "int64", "IntTensor": "int32"}  # fmt: skip
    if len(args) != 1 or type(args[0]) not in (list, tuple):
        raise CannotFollow(f"`{kind.name}` of anything but a list of values")
    dtype = getattr(torch, names[kind.name.rsplit(".", 1)[-1]])
    return tensor_of(args[0], dtype) if holds_numbers(args[0]) else torch.tensor(args[0], dtype=dtype)


def host_value(value: Any) -> Any:
    """`value` as torch takes it. Raises CannotFollow for functions and objects of the golden."""
    if is_tensor(value) or isinstance(value, _PLAIN):
        return value
    if is_returned(value):
        return tuple(value)
    if type(value) in (list, tuple):
        return type(value)(host_value(item) for item in value)
    if type(value) is dict:
        return {key: host_value(item) for key, item in value.items()}
    if type(value) is slice:
        return slice(host_value(value.start), host_value(value.stop), host_value(value.step))
    if type(value) is range:
        return value
    if isinstance(value, Generator):
        return value.host
    if isinstance(value, TypeValue) and value.host in (bool, int, float):
        return value.host
    raise CannotFollow(f"{describe(value)} as an argument of torch")


def torch_value_attribute(value: Any, name: str, *, probe: bool = False) -> tuple[Any] | None:
    """The attribute of a value of torch that is no tensor, in a tuple; None where `value` is none of those.

    `probe`: only tell whether it is one.
    """
    if probe:
        return (None,) if isinstance(value, _TORCH_VALUES) else None
    if isinstance(value, Namespace):
        return (torch_attribute(value, name),)
    if isinstance(value, TensorType):
        return (TorchFunction(f"{value.name}.{name}", method(name)),)
    if isinstance(value, TorchFunction) and value.name.startswith("torch.ops.aten."):
        return (operator_function(f"{value.name}.{name}"),)
    if isinstance(value, Module):
        return (_module_attribute(value, name),)
    if isinstance(value, Generator):
        if name not in ("manual_seed", "seed"):
            raise CannotFollow(f"`.{name}` of a generator of random numbers")
        return (HostFunction(name, getattr(value, name), pure=True),)
    listed = {
        NumberLimits: _LIMITS,
        torch.dtype: frozenset({"is_floating_point", "is_complex", "itemsize"}),
        torch.device: frozenset({"type", "index"}),
    }.get(type(value))
    if listed is None:
        return None
    if name not in listed:
        raise CannotFollow(f"`.{name}` of {describe(value)}")
    return (getattr(value.host if isinstance(value, NumberLimits) else value, name),)


def _module_attribute(module: Module, name: str) -> Any:
    if name == "forward":
        return module
    if name not in _MODULE_METHODS:
        raise CannotFollow(f"`.{name}` of a module of torch.nn")

    def change(*args: Any) -> Module:
        getattr(module.host, name)(*(host_value(value) for value in args))
        return module

    return HostFunction(name, change, pure=True)


def set_tensor_attribute(tensor: Any, name: str, new: Any) -> None:
    """`tensor.requires_grad = ...` and `tensor.grad = None`; no other attribute of a tensor may be set."""
    if name == "requires_grad" and type(new) is bool:
        tensor.requires_grad_(new)
    elif name == "grad" and new is None:
        tensor.grad = None
    else:
        raise CannotFollow(f"assigning `.{name}` of a tensor")
