"""Elementary functions of one element: value, derivative, and how exact a correct device is.

`ULPS` are the largest errors in units in the last place that vendors document for float32 (CUDA, Ascend C, the usual
CPU libraries); a device is taken to err uniformly within them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Function = Callable[[float], "tuple[float, float]"]
"""Value and derivative at a place. Raises ValueError, OverflowError or ZeroDivisionError outside the domain."""


def _of(value: Callable[[float], float], slope: Callable[[float], float]) -> Function:
    """A function whose derivative is told by the place."""

    def both(x: float) -> tuple[float, float]:
        return value(x), slope(x)

    return both


def _from(value: Callable[[float], float], slope: Callable[[float], float]) -> Function:
    """A function whose derivative is told by the value."""

    def both(x: float) -> tuple[float, float]:
        y = value(x)
        return y, slope(y)

    return both


def _sigmoid(x: float) -> float:
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    power = math.exp(x)
    return power / (1 + power)


_LOG2, _LOG10 = math.log(2), math.log(10)
_BELL = 2 / math.sqrt(math.pi)

UNARY: dict[str, Function] = {
    "neg": lambda x: (-x, -1.0),
    "abs": lambda x: (abs(x), math.copysign(1.0, x)),
    "sign": lambda x: (math.copysign(1.0, x) if x else 0.0, 0.0),
    "floor": lambda x: (float(math.floor(x)), 0.0),
    "ceil": lambda x: (float(math.ceil(x)), 0.0),
    "trunc": lambda x: (float(math.trunc(x)), 0.0),
    "round": lambda x: (float(round(x)), 0.0),
    "exp": _from(math.exp, lambda y: y),
    "exp2": _from(lambda x: math.pow(2.0, x), lambda y: y * _LOG2),
    "expm1": _from(math.expm1, lambda y: y + 1),
    "log": _of(math.log, lambda x: 1 / x),
    "log2": _of(math.log2, lambda x: 1 / (x * _LOG2)),
    "log10": _of(math.log10, lambda x: 1 / (x * _LOG10)),
    "log1p": _of(math.log1p, lambda x: 1 / (1 + x)),
    "sqrt": _from(math.sqrt, lambda y: 0.5 / y if y else 0.0),
    "rsqrt": _of(lambda x: 1 / math.sqrt(x), lambda x: -0.5 / (x * math.sqrt(x))),
    "reciprocal": _from(lambda x: 1 / x, lambda y: -y * y),
    "tanh": _from(math.tanh, lambda y: 1 - y * y),
    "sigmoid": _of(_sigmoid, lambda x: _sigmoid(x) * _sigmoid(-x)),
    "erf": _of(math.erf, lambda x: _BELL * math.exp(-x * x)),
    "erfc": _of(math.erfc, lambda x: -_BELL * math.exp(-x * x)),
    "sin": _of(math.sin, math.cos),
    "cos": _of(math.cos, lambda x: -math.sin(x)),
    "tan": _from(math.tan, lambda y: 1 + y * y),
    "asin": _of(math.asin, lambda x: 1 / math.sqrt(1 - x * x)),
    "acos": _of(math.acos, lambda x: -1 / math.sqrt(1 - x * x)),
    "atan": _of(math.atan, lambda x: 1 / (1 + x * x)),
    "sinh": _of(math.sinh, math.cosh),
    "cosh": _of(math.cosh, math.sinh),
    "asinh": _of(math.asinh, lambda x: 1 / math.sqrt(1 + x * x)),
    "acosh": _of(math.acosh, lambda x: 1 / math.sqrt(x * x - 1)),
    "atanh": _of(math.atanh, lambda x: 1 / (1 - x * x)),
    "lgamma": _of(math.lgamma, lambda x: (math.lgamma(x + 1e-6) - math.lgamma(x - 1e-6)) / 2e-6),
}

ULPS: dict[str, float] = {
    "exp": 1, "exp2": 2, "expm1": 1, "log": 1, "log2": 1, "log10": 2, "log1p": 1, "sqrt": 1, "rsqrt": 2,
    "reciprocal": 1, "div": 1, "power": 4, "tanh": 2, "sigmoid": 2, "erf": 2, "erfc": 4, "sin": 2, "cos": 2, "tan": 4,
    "asin": 2, "acos": 2, "atan": 2, "sinh": 3, "cosh": 2, "asinh": 3, "acosh": 4, "atanh": 3, "lgamma": 4,
}  # fmt: skip
"""What is not here is rounded once."""
