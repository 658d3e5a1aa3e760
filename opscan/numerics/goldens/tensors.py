"""Tensors of a golden: their attributes, methods, operators and items."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import torch

from opscan.numerics.goldens.limits import backward
from opscan.numerics.goldens.numbers import read_item, read_list
from opscan.numerics.goldens.torch_values import TensorMethod, words
from opscan.numerics.operators import Operator, resolve
from opscan.pyread.stops import CannotFollow

_ATTRIBUTES = words(
    "shape dtype device ndim requires_grad grad T mT H mH real imag is_cuda is_leaf itemsize nbytes layout"
)
_METHODS = words(
    "cpu size dim ndimension numel nelement element_size stride is_contiguous is_floating_point type "
    "retain_grad requires_grad_ new_tensor is_complex is_signed"
)
"""Methods that are no operators of the dispatcher, or that only tell of shapes."""

_ON_DEVICE = words("npu cuda")

BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
IN_PLACE: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.iadd,
    ast.Sub: operator.isub,
    ast.Mult: operator.imul,
    ast.Div: operator.itruediv,
    ast.FloorDiv: operator.ifloordiv,
    ast.Mod: operator.imod,
    ast.Pow: operator.ipow,
    ast.MatMult: operator.imatmul,
    ast.LShift: operator.ilshift,
    ast.RShift: operator.irshift,
    ast.BitAnd: operator.iand,
    ast.BitOr: operator.ior,
    ast.BitXor: operator.ixor,
}
COMPARE: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
SYMBOLS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@",
}  # fmt: skip


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def tensor_attribute(tensor: Any, name: str) -> Any:
    """`tensor.name`. Raises CannotFollow for what is neither listed nor an operator."""
    if name in _ATTRIBUTES:
        return plain(getattr(tensor, name))
    if name == "data":
        return tensor.detach()
    return TensorMethod(tensor, name, method(name))


def method(name: str) -> Callable[..., Any]:
    """The method of Tensor with that name, unbound."""
    if name in ("item", "tolist"):
        return read_item if name == "item" else read_list
    if name in _ON_DEVICE:
        return _copy_to_device
    if name in ("requires_grad_", "retain_grad"):
        return _require_grad if name == "requires_grad_" else lambda tensor: tensor.retain_grad()
    if name == "backward":
        return backward
    if name in _METHODS:
        found: Callable[..., Any] = getattr(torch.Tensor, name)
        return found
    known = resolve(f"Tensor.{name}", method=True)
    if not isinstance(known, Operator):
        raise CannotFollow(f"`.{name}` of a tensor")
    return known.call


def _require_grad(tensor: Any, wanted: bool = True) -> Any:
    """As the golden asks; a golden that asks for the gradient of a whole number fails, here as there."""
    return tensor.requires_grad_(wanted)


def _copy_to_device(tensor: Any, *_: Any, **__: Any) -> Any:
    """What stands on the device holds the same bits."""
    return tensor.clone()


def plain(value: Any) -> Any:
    """Results of torch as the golden's code handles them: a `torch.Size` is a tuple."""
    if isinstance(value, torch.Size):
        return tuple(value)
    return value


def is_returned(value: Any) -> bool:
    """Whether this is a named tuple of torch: what `max` or `sort` return."""
    return isinstance(value, tuple) and type(value) is not tuple and type(value).__module__ == "torch.return_types"
