"""Elementary terms: one rounding each, in the format in which the call computes."""

from __future__ import annotations

from collections.abc import Callable

from opscan.numerics.call import SIGNIFICAND
from opscan.numerics.elements.term import Group, Number, Term, number

Value = Term | Number
_SHORT_DIGITS = 24


class Arithmetic:
    """Makes terms that are rounded to one dtype: `Arithmetic("float32").add(x, 1)`."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def call(self, name: str, *operands: Value) -> Term:
        return Term(name, [lifted(operand) for operand in operands], (), self.dtype)

    def __getattr__(self, name: str) -> Callable[..., Term]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *operands: self.call(name, *operands)

    # -- what never rounds -------------------------------------------------------------------------------------------

    def neg(self, x: Value) -> Term:
        return Term("neg", (lifted(x),))

    def abs(self, x: Value) -> Term:
        return Term("abs", (lifted(x),))

    def sign(self, x: Value) -> Term:
        return Term("sign", (lifted(x),))

    def maximum(self, x: Value, y: Value) -> Term:
        return Term("maximum", (lifted(x), lifted(y)))

    def minimum(self, x: Value, y: Value) -> Term:
        return Term("minimum", (lifted(x), lifted(y)))

    def where(self, condition: Value, x: Value, y: Value) -> Term:
        return Term("where", (lifted(condition), lifted(x), lifted(y)))

    def less(self, x: Value, y: Value) -> Term:
        return Term("less", (lifted(x), lifted(y)))

    # -- what people compose -----------------------------------------------------------------------------------------

    def pow(self, x: Value, exponent: Value) -> Term:
        if not isinstance(exponent, Term):
            if exponent == 1:
                return lifted(x)
            if exponent == 2:
                return self.mul(x, x)
            if exponent == 0.5:
                return self.sqrt(x)
            if exponent == -1:
                return self.reciprocal(x)
        return self.call("power", x, exponent)

    def square(self, x: Value) -> Term:
        return self.mul(x, x)

    def log_sigmoid(self, x: Value) -> Term:
        """min(x, 0) - log1p(exp(-|x|)), as PyTorch's kernels compute it."""
        return self.sub(self.minimum(x, 0), self.log1p(self.exp(self.neg(self.abs(x)))))

    def total(self, x: Value, group: Group) -> Term:
        return Term("total", (lifted(x),), group, self.dtype)

    def dot(self, x: Value, y: Value, group: Group) -> Term:
        """A sum of products, which libraries add in orders of their own."""
        return Term("dot", (self.mul(x, y),), group, self.dtype)

    def mean(self, x: Value, group: Group) -> Term:
        return Term("mean", (lifted(x),), group, self.dtype)

    def largest(self, x: Value, group: Group) -> Term:
        return Term("largest", (lifted(x),), group)


def lifted(value: Value) -> Term:
    return value if isinstance(value, Term) else number(value)


def group_of(axes: object, addends: int) -> Group:
    """The group of a sum over `axes` of so many addends."""
    return (axes, addends)


def ratio(value: float) -> Term:
    """A number that follows from the shapes, such as one over the elements of a mean."""
    return Term("ratio", (), (float(value),))


def elsewhere(x: Term, place: object) -> Term:
    """Another element of the same tensor, the same one for the same `place`."""
    return x if x.name == "number" else Term("elsewhere", (x,), (place,))


def either(first: Term, second: Term, share: float) -> Term:
    """An element that is one of two, the first in `share` of the places."""
    return Term("either", (first, second), (share,))


def kept_in(x: Term, dtype: str) -> Term:
    """`x` rounded to a dtype, which does nothing where its digits are as many or more."""
    if x.dtype == dtype or dtype not in SIGNIFICAND or x.name == "number":
        return x
    if x.name == "cast" and SIGNIFICAND[x.dtype] <= SIGNIFICAND[dtype]:
        return x
    return Term("cast", (x,), (), dtype)


def inner(dtype: str) -> str:
    """The format in which a kernel computes a dtype: float32 for the shorter ones."""
    return "float32" if SIGNIFICAND.get(dtype, 0) < _SHORT_DIGITS else dtype
