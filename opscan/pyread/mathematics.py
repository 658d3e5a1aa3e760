"""The functions of `math` and, for single numbers, of `numpy` that a plugin may call."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any

from opscan.pyread.library import TYPES
from opscan.pyread.operations import numpy_number
from opscan.pyread.stops import CannotFollow
from opscan.pyread.values import HostFunction, NumpyInt, TypeValue

if TYPE_CHECKING:
    from opscan.pyread.machine import Machine


def _number_function(module: str, name: str) -> HostFunction:
    function = getattr(math, name)

    def call(*args: Any) -> Any:
        if any(type(a) not in {int, float, bool} for a in args):
            raise CannotFollow(f"`{module}.{name}` of something that is no number")
        return function(*args)

    return HostFunction(f"{module}.{name}", call, pure=True)


def _small_function(name: str) -> HostFunction:
    function = getattr(math, name)

    def call(*args: Any) -> Any:
        if any(type(a) is not int or a > 500 for a in args):
            raise CannotFollow(f"`math.{name}` of more than 500")
        return function(*args)

    return HostFunction(f"math.{name}", call, pure=True)


def _prod(ev: Machine, values: Any, *, start: Any = 1) -> Any:
    total = start
    for value in ev.items(values):
        total = ev.operate(ast.Mult, total, value)
    return total


def _numpy_function(name: str) -> HostFunction:
    """A function of numpy on one number: its result is a float, and where Python raises it gives nan or inf."""
    function = getattr(math, name)

    def call(value: Any) -> Any:
        if type(value) not in {int, float, bool, NumpyInt}:
            raise CannotFollow(f"`np.{name}` of something that is no number")
        try:
            result = function(value)
        except (ValueError, OverflowError):
            raise CannotFollow(f"`np.{name}` of a number without a finite result") from None
        return result if type(result) is bool else float(result)

    return HostFunction(f"np.{name}", call, pure=True)


def _numpy_prod(ev: Machine, values: Any) -> Any:
    items = ev.items(values)
    if any(type(item) is float for item in items) or not items:
        raise CannotFollow("`np.prod` of anything but integers")
    return numpy_number(int(_prod(ev, items)))


def _numpy_int(_: Machine, value: Any = 0) -> Any:
    if type(value) not in {int, float, bool, NumpyInt}:
        raise CannotFollow("an integer of numpy made of something that is no number")
    return numpy_number(int(value))


_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
_NUMBER_FUNCTIONS = (
    *("sqrt", "ceil", "floor", "trunc", "fabs", "log", "log2", "log10", "log1p", "exp", "pow", "gcd", "lcm", "isqrt"),
    *("isnan", "isinf", "isfinite", "copysign", "fmod", "hypot", "sin", "cos", "tan", "tanh"),
)
MATH: dict[str, Any] = {
    **{name: _number_function("math", name) for name in _NUMBER_FUNCTIONS},
    **{name: _small_function(name) for name in ("factorial", "comb", "perm")},
    **_CONSTANTS,
    "prod": HostFunction("math.prod", _prod),
}
_NUMPY_FUNCTIONS = ("sqrt", "ceil", "floor", "log", "log2", "log10", "exp", "isnan", "isinf")
_WIDE = TypeValue("np.int64", NumpyInt, _numpy_int)
NUMPY: dict[str, Any] = {
    **{name: _numpy_function(name) for name in _NUMPY_FUNCTIONS},
    **dict.fromkeys(("int64", "integer"), _WIDE),
    **dict.fromkeys(("float64", "floating"), TYPES["float"]),
    **_CONSTANTS,
    "prod": HostFunction("np.prod", _numpy_prod),
}
