"""Tensors of a declared call: shape, dtype and how their bits came about; no values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opscan.numerics.bits import PLAIN, Bits
from opscan.numerics.call import Operand
from opscan.numerics.facts import NOTHING, Facts, operand

EVALUATOR: dict[str, Callable[..., Any]] = {}
"""What formulas over values call, by name: `call` an operator, the operator of a `method`, `get_item`, what is `named`.
Declared steps are formulas over values whose operators are declared steps, so the evaluator puts itself in here."""


class _Numbers:
    last = 0


def begin() -> None:
    """Number what the next run makes from the start, so that its answer is that of any process."""
    _Numbers.last = 0


def number() -> int:
    """What nothing else of this run has; later things have larger ones."""
    _Numbers.last += 1
    return _Numbers.last


class NotDeclared(Exception):
    """The declared steps do not answer this call; the message says what is missing."""


class Refused(Exception):
    """The operator takes no such call; the message says why."""


class Dtype(str):
    """The name of a dtype, as torch names it."""

    __slots__ = ()

    @property
    def is_floating_point(self) -> bool:
        return self.startswith(("float", "bfloat"))

    @property
    def is_complex(self) -> bool:
        return self.startswith("complex")

    @property
    def rounds(self) -> bool:
        return self.is_floating_point or self.is_complex


class Results(tuple[Any, ...]):
    """Several results, with the names that torch gives to those of orders and extremes."""

    __slots__ = ()

    @property
    def values(self) -> Any:
        return self[0]

    @property
    def indices(self) -> Any:
        return self[1]


class Tensor:
    """A tensor that an operator takes or makes. `node`: the call that made it, where a gradient may flow through it."""

    __slots__ = ("bits", "dtype", "facts", "node", "number", "requires_grad", "shape")

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: str,
        bits: Bits = PLAIN,
        facts: Facts = NOTHING,
        *,
        requires_grad: bool = False,
    ) -> None:
        self.shape = shape
        self.dtype = Dtype(dtype)
        self.bits = bits
        self.facts = facts
        self.requires_grad = requires_grad
        self.number = number()
        self.node: Any = None

    @property
    def operand(self) -> Operand:
        """As the rules of `transfer` see it."""
        return operand(self.shape, str(self.dtype), self.bits, self.facts)

    # -- what code asks of a tensor --------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def dim(self) -> int:
        return len(self.shape)

    def numel(self) -> int:
        return math.prod(self.shape)

    def size(self, axis: int | None = None) -> Any:
        return self.shape if axis is None else self.shape[axis]

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self.dtype.is_complex

    @property
    def device(self) -> str:
        return "cpu"

    def item(self) -> Any:
        raise NotDeclared("it reads the value of a tensor")

    tolist = __bool__ = __int__ = __float__ = __index__ = item

    def __len__(self) -> int:
        if not self.shape:
            raise Refused("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Any:
        return iter(_call("unbind", self, 0))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = EVALUATOR["method"](name)
        if found is None:
            raise NotDeclared(f"no steps are declared for Tensor.{name}")
        return lambda *args, **kwargs: found(self, *args, **kwargs)

    @property
    def T(self) -> Any:
        return _call("permute", self, list(range(self.ndim))[::-1])

    @property
    def mT(self) -> Any:
        return _call("transpose", self, -2, -1)

    @property
    def mH(self) -> Any:
        return _call("transpose", self, -2, -1).conj()

    @property
    def real(self) -> Any:
        return _call("real", self)

    @property
    def imag(self) -> Any:
        return _call("imag", self)

    def __getitem__(self, key: Any) -> Any:
        return EVALUATOR["get_item"](self, key)

    # -- operators -------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return _call("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _call("add", self, other)

    def __sub__(self, other: Any) -> Any:
        return _call("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _call("rsub", self, other)

    def __mul__(self, other: Any) -> Any:
        return _call("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _call("mul", self, other)

    def __truediv__(self, other: Any) -> Any:
        return _call("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _call("mul", _call("reciprocal", self), other)

    def __floordiv__(self, other: Any) -> Any:
        return _call("floor_divide", self, other)

    def __mod__(self, other: Any) -> Any:
        return _call("remainder", self, other)

    def __pow__(self, other: Any) -> Any:
        return _call("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _call("pow", other, self)

    def __matmul__(self, other: Any) -> Any:
        return _call("matmul", self, other)

    def __neg__(self) -> Any:
        return _call("neg", self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return _call("abs", self)

    def __invert__(self) -> Any:
        return _call("bitwise_not", self)

    def __and__(self, other: Any) -> Any:
        return _call("bitwise_and", self, other)

    def __or__(self, other: Any) -> Any:
        return _call("bitwise_or", self, other)

    def __xor__(self, other: Any) -> Any:
        return _call("bitwise_xor", self, other)

    def __lt__(self, other: Any) -> Any:
        return _call("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return _call("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return _call("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return _call("ge", self, other)

    def __eq__(self, other: Any) -> Any:
        return _call("eq", self, other)

    def __ne__(self, other: Any) -> Any:
        return _call("ne", self, other)

    __hash__ = object.__hash__


def _call(name: str, *args: Any) -> Any:
    return EVALUATOR["call"](name, args, {})
