"""Numbers that a golden has read from a tensor. They keep how their bits came about: each is a tensor without axes.

Python computes with such numbers in float64 and int64, and so does this module, under the tracer's eyes. A value itself
is read only where the code must know it: in a condition, a size, an index, the bounds of a loop.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from opscan.pyread.library import TYPES
from opscan.pyread.stops import CannotFollow
from opscan.pyread.values import HostFunction, TypeValue

if TYPE_CHECKING:
    from opscan.numerics.goldens.interpreter import GoldenInterpreter

_PLAIN = (bool, int, float)
_MOST_READ = 4096
"""Elements that `tolist` may give."""


@dataclass(eq=False, repr=False)
class Number:
    """`tensor` has one element and is never written; its dtype is that in which the number was read."""

    tensor: Any

    @property
    def kind(self) -> type:
        """The type that Python would see."""
        if self.tensor.dtype == torch.bool:
            return bool
        return float if self.tensor.is_floating_point() else int

    def read(self) -> Any:
        """The value itself; on fake tensors torch says that there is none."""
        return self.tensor.item()

    def __bool__(self) -> bool:
        return bool(self.read())

    def __int__(self) -> int:
        return int(self.read())

    def __float__(self) -> float:
        return float(self.read())

    def __index__(self) -> int:
        if self.kind is float:
            raise TypeError("'float' object cannot be interpreted as an integer")
        return int(self.read())

    def __eq__(self, other: object) -> bool:
        return bool(self.read() == plain_number(other))

    def __lt__(self, other: object) -> bool:
        return bool(self.read() < plain_number(other))

    def __gt__(self, other: object) -> bool:
        return bool(self.read() > plain_number(other))

    def __hash__(self) -> int:
        return hash(self.read())


def plain_number(value: Any) -> Any:
    """The value itself where `value` is a Number."""
    return value.read() if isinstance(value, Number) else value


def is_number(value: Any) -> bool:
    return isinstance(value, Number) or type(value) in _PLAIN


# -- out of a tensor and back ------------------------------------------------------------------------------------------


def read_item(tensor: Any) -> Any:
    """`tensor.item()`. The number does not follow what is written to the tensor later."""
    if tensor.numel() != 1 or tensor.is_complex():
        return tensor.item()
    return Number(tensor.detach().clone().reshape(()))


def read_list(tensor: Any) -> Any:
    """`tensor.tolist()`."""
    if tensor.numel() > _MOST_READ:
        raise CannotFollow(f"`.tolist()` of more than {_MOST_READ} elements")
    if tensor.is_complex():
        raise CannotFollow("`.tolist()` of complex numbers")
    return _nested(tensor.detach().clone())


def _nested(tensor: Any) -> Any:
    return Number(tensor) if tensor.dim() == 0 else [_nested(row) for row in tensor.unbind(0)]


def holds_numbers(value: Any) -> bool:
    """Whether a value, or a list of values at any depth, holds a Number."""
    if type(value) in (list, tuple):
        return any(map(holds_numbers, value))
    return isinstance(value, Number)


def tensor_of(value: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """`torch.tensor(value)` for nested lists that hold Numbers."""
    del device
    if dtype is None:
        kinds = {one.kind if isinstance(one, Number) else type(one) for one in _leaves(value)}
        dtype = torch.get_default_dtype() if float in kinds else torch.int64 if int in kinds else torch.bool
    return _stacked(value, dtype).requires_grad_(requires_grad)


def _leaves(value: Any) -> list[Any]:
    return [leaf for one in value for leaf in _leaves(one)] if type(value) in (list, tuple) else [value]


def _stacked(value: Any, dtype: Any) -> Any:
    if type(value) in (list, tuple):
        return torch.stack([_stacked(one, dtype) for one in value])
    if isinstance(value, Number):
        return value.tensor.clone() if value.tensor.dtype == dtype else value.tensor.to(dtype)
    return torch.tensor(value, dtype=dtype)


def full(size: Any, value: Number, *, dtype: Any = None, **_: Any) -> Any:
    """`torch.full(size, value)`."""
    return tensor_of(value, dtype).expand(size).clone()


def full_like(tensor: Any, value: Number, *, dtype: Any = None, **_: Any) -> Any:
    """`torch.full_like(tensor, value)`."""
    return tensor_of(value, dtype or tensor.dtype).expand(tensor.shape).clone()


def beside(number: Number, operands: Sequence[Any]) -> Any:
    """The Number as an operand of a call of torch: like a number of Python's it widens no tensor beside it."""
    other = next((operand for operand in operands if isinstance(operand, torch.Tensor)), None)
    tensor = number.tensor
    if other is None:
        return tensor
    if number.kind is float and not other.is_floating_point() and not other.is_complex():
        return tensor.to(torch.get_default_dtype())
    wider = other.dim() == 0 and other.dtype != tensor.dtype
    same_kind = other.is_floating_point() if number.kind is float else not other.dtype.is_floating_point
    return tensor.to(other.dtype) if wider and same_kind and other.dtype != torch.bool else tensor


# -- Python's arithmetic -----------------------------------------------------------------------------------------------


_NEUTRAL: dict[type[ast.AST], int] = {ast.Add: 0, ast.Sub: 0, ast.Mult: 1}


def operate(ev: GoldenInterpreter, kind: type[ast.AST], function: Callable[..., Any], *values: Any) -> Any:
    """`left <operator> right` of two numbers, at least one of them a Number."""
    neutral = _NEUTRAL.get(kind)
    left, right = values
    if neutral is not None and type(right) in _PLAIN and right == neutral:
        return left
    if kind in (ast.Add, ast.Mult) and type(left) in _PLAIN and left == neutral:
        return right
    floats = kind in (ast.Div, ast.Pow) or any(_kind(value) is float for value in values)
    return Number(ev.call_torch(function, [_widened(value, floats) for value in values], {}))


def compare(ev: GoldenInterpreter, function: Callable[..., Any], *values: Any) -> Number:
    """`left <comparison> right` of two numbers."""
    floats = any(_kind(value) is float for value in values)
    return Number(ev.call_torch(function, [_widened(value, floats) for value in values], {}))


def _kind(value: Any) -> type:
    return value.kind if isinstance(value, Number) else type(value)


def _widened(value: Any, floats: bool) -> Any:
    """The operand in the format in which Python computes."""
    if not isinstance(value, Number):
        return value
    wanted = torch.float64 if floats else torch.int64
    return value.tensor if value.tensor.dtype == wanted else value.tensor.to(wanted)


def converted(host: type, value: Any) -> Any:
    """`float(value)`, `int(value)` or `bool(value)` of a Number or of a tensor with one element."""
    number = value if isinstance(value, Number) else read_item(value)
    if not isinstance(number, Number):
        return host(number)
    if host is number.kind:
        return number
    tensor = number.tensor
    if host is int:
        return Number(tensor.trunc().to(torch.int64) if number.kind is float else tensor.to(torch.int64))
    return Number(tensor != 0 if host is bool else tensor.to(torch.float64))


# -- functions of Python -----------------------------------------------------------------------------------------------

_ELEMENTWISE = {
    "sqrt": torch.sqrt, "exp": torch.exp, "log": torch.log, "log2": torch.log2, "log10": torch.log10,
    "log1p": torch.log1p, "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "tanh": torch.tanh, "fabs": torch.abs,
}  # fmt: skip
_TESTS = {"isnan": torch.isnan, "isinf": torch.isinf, "isfinite": torch.isfinite}
_WHOLE = {"floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc, "round": torch.round}
_TOLERANT = frozenset({"isinstance", "type", "print", "callable", "sum", "pow", "math.prod", "hasattr", "getattr"})
"""Functions that take Numbers as they are."""


def call(ev: GoldenInterpreter, function: HostFunction | TypeValue, args: list[Any], named: dict[str, Any]) -> Any:
    """A function of Python on arguments of which some are Numbers; those it has no way to compute with are read."""
    if isinstance(function, TypeValue):
        if function.host in _PLAIN and len(args) == 1:
            return converted(function.host, args[0])
    elif function.name in _TOLERANT or function.method:
        return ev.call_plain(function, args, named)
    elif not named and (known := _computed(ev, function.name.removeprefix("math."), args)) is not None:
        return known
    return ev.call_plain(
        function, [plain_number(one) for one in args], {name: plain_number(one) for name, one in named.items()}
    )


def _computed(ev: GoldenInterpreter, name: str, args: list[Any]) -> Number | None:
    first = args[0]
    if len(args) == 1 and isinstance(first, Number):
        if name in _ELEMENTWISE:
            return Number(ev.call_torch(_ELEMENTWISE[name], [_widened(first, True)], {}))
        if name in _WHOLE:
            whole = _widened(first, True)
            return first if first.kind is int else converted(int, Number(ev.call_torch(_WHOLE[name], [whole], {})))
        if name == "abs" or name in _TESTS:
            return Number(ev.call_torch(_TESTS.get(name, torch.abs), [first.tensor], {}))
    if name in ("min", "max"):
        values = args[0] if len(args) == 1 else args
        return extreme(ev, name, values) if type(values) in (list, tuple) and all(map(is_number, values)) else None
    return None


def extreme(ev: GoldenInterpreter, name: str, values: Sequence[Any]) -> Number:
    """`min(values)` or `max(values)`."""
    floats = any(_kind(value) is float for value in values)
    choose = torch.minimum if name == "min" else torch.maximum
    own = {value.tensor.dtype for value in values if isinstance(value, Number)}
    wanted = torch.float64 if floats else torch.int64
    if len(own) == 1 and all(isinstance(value, Number) or value in (0, 1, -1) for value in values):
        wanted = own.pop()  # the choice is the same, and nothing is rounded on the way back
    found = None
    for value in values:
        tensor = value.tensor.to(wanted) if isinstance(value, Number) else torch.tensor(value, dtype=wanted)
        found = tensor if found is None else ev.call_torch(choose, [found, tensor], {})
    return Number(found)


def type_of(number: Number) -> TypeValue:
    """`type(number)`."""
    return TYPES[number.kind.__name__]
