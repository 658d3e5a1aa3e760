"""Element by element: what each function computes, from elementary terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from opscan.numerics.bits import Bits
from opscan.numerics.call import Call, Operand
from opscan.numerics.elements.functions import Arithmetic, Value, either, elsewhere, lifted, ratio
from opscan.numerics.elements.term import Term

Function = Callable[[Arithmetic, "Given"], "Term | None"]

_ELEMENTARY = (
    "exp", "log", "log1p", "expm1", "sqrt", "rsqrt", "reciprocal", "tanh", "sigmoid", "erf", "erfc", "sin", "cos",
    "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "exp2", "log2", "log10", "lgamma",
    "floor", "ceil", "trunc", "round",
)  # fmt: skip


class Given:
    """The arguments of a call: tensors as terms, everything else as it is."""

    def __init__(self, call: Call, results: Sequence[Bits] = ()) -> None:
        self.call = call
        self._results = results

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get(name)

    def get(self, name: str, default: Any = None) -> Any:
        value = self.call.arguments.get(name)
        if value is None:
            return default
        if isinstance(value, Operand):
            if value.bits.term is None:
                raise Untold(name)
            return value.bits.term
        return value

    def met(self, place: int = 0) -> int:
        """How many addends meet in an element of a result."""
        if place >= len(self._results):
            return 1
        bits = self._results[place]
        return bits.addends if bits.addends > 1 or not bits.ended else bits.ended[-1].extent

    @property
    def share(self) -> float:
        """What the gradient of a loss is multiplied by: one over the elements of a mean."""
        return 1 / max(self.call.tensor("self").numel, 1) if self.call.arguments.get("reduction", 0) == 1 else 1.0


class Untold(Exception):
    """Nothing is known of the values of an operand."""


def _sum(of: Arithmetic, given: Given, sign: int = 1) -> Term:
    alpha, other = given.get("alpha", 1), given.other
    if alpha != 1:
        other = of.mul(other, alpha)
    return of.add(given.self, other) if sign > 0 else of.sub(given.self, other)


def _rsub(of: Arithmetic, given: Given) -> Term:
    alpha = given.get("alpha", 1)
    return of.sub(given.other, given.self if alpha == 1 else of.mul(given.self, alpha))


def _div(of: Arithmetic, given: Given) -> Term:
    quotient: Term = of.div(given.self, given.other)
    mode = given.rounding_mode
    return quotient if mode is None else of.call("floor" if mode == "floor" else "trunc", quotient)


def _product_added(of: Arithmetic, given: Given) -> Term:
    product = of.mul(given.tensor1, given.tensor2)
    value = given.get("value", 1)
    return of.add(given.self, product if value == 1 else of.mul(product, value))


def _quotient_added(of: Arithmetic, given: Given) -> Term:
    quotient = of.div(given.tensor1, given.tensor2)
    value = given.get("value", 1)
    return of.add(given.self, quotient if value == 1 else of.mul(quotient, value))


def _gelu(of: Arithmetic, given: Given) -> Term:
    x = given.self
    return of.mul(of.mul(x, 0.5), of.add(_gelu_factor(of, x, given), 1))


def _gelu_factor(of: Arithmetic, x: Value, given: Given) -> Term:
    if given.approximate == "tanh":
        cube = of.mul(of.mul(x, x), x)
        return of.tanh(of.mul(math.sqrt(2 / math.pi), of.add(x, of.mul(cube, 0.044715))))
    return of.erf(of.mul(x, math.sqrt(0.5)))


def _gelu_backward(of: Arithmetic, given: Given) -> Term:
    x, gradient = given.self, given.grad_output
    factor = _gelu_factor(of, x, given)
    left = of.mul(of.add(factor, 1), 0.5)
    if given.approximate == "tanh":
        steep = of.mul(math.sqrt(2 / math.pi), of.add(of.mul(of.mul(x, x), 3 * 0.044715), 1))
        right = of.mul(of.mul(of.mul(x, 0.5), of.sub(1, of.mul(factor, factor))), steep)
    else:
        density = of.mul(of.exp(of.mul(of.mul(x, x), -0.5)), 1 / math.sqrt(2 * math.pi))
        right = of.mul(x, density)
    return of.mul(gradient, of.add(left, right))


def _silu_backward(of: Arithmetic, given: Given) -> Term:
    s = of.sigmoid(given.self)
    return of.mul(of.mul(given.grad_output, s), of.add(of.mul(given.self, of.sub(1, s)), 1))


def _log_sigmoid_backward(of: Arithmetic, given: Given) -> Term:
    """As the kernels on a CPU compute it, from exp(-|x|) that the forward has kept."""
    part = of.div(given.buffer, of.add(given.buffer, 1))
    return of.mul(given.grad_output, of.where(of.less(given.self, 0), of.sub(1, part), part))


def _glu_backward(of: Arithmetic, given: Given) -> Term:
    """Of one half of the input or the other."""
    first, second = lifted(given.self), elsewhere(given.self, "gate")
    gate = of.sigmoid(second)
    own = of.mul(gate, given.grad_output)
    other = of.mul(of.mul(of.mul(of.sub(1, gate), gate), given.grad_output), first)
    return either(own, other, 0.5)


def _softplus(of: Arithmetic, given: Given) -> Term:
    scaled = of.mul(given.self, given.get("beta", 1))
    smooth = of.div(of.log1p(of.exp(scaled)), given.get("beta", 1))
    return of.where(of.less(given.get("threshold", 20), scaled), given.self, smooth)


def _softplus_backward(of: Arithmetic, given: Given) -> Term:
    power = of.exp(of.mul(given.self, given.get("beta", 1)))
    steep = of.div(of.mul(given.grad_output, power), of.add(power, 1))
    return of.where(
        of.less(given.get("threshold", 20), of.mul(given.self, given.get("beta", 1))), given.grad_output, steep
    )


def _mish(of: Arithmetic, given: Given) -> Term:
    return of.mul(given.self, of.tanh(of.log1p(of.exp(given.self))))


def _mish_backward(of: Arithmetic, given: Given) -> Term:
    t, s = of.tanh(of.log1p(of.exp(given.self))), of.sigmoid(given.self)
    return of.mul(given.grad_output, of.add(t, of.mul(of.mul(given.self, s), of.sub(1, of.mul(t, t)))))


def _elu(of: Arithmetic, given: Given) -> Term:
    alpha, scale, steep = given.get("alpha", 1), given.get("scale", 1), given.get("input_scale", 1)
    low = of.mul(of.expm1(of.mul(given.self, steep)), alpha * scale)
    return of.where(of.less(given.self, 0), low, of.mul(given.self, scale))


def _celu(of: Arithmetic, given: Given) -> Term:
    alpha = given.get("alpha", 1)
    return of.where(of.less(given.self, 0), of.mul(of.expm1(of.div(given.self, alpha)), alpha), given.self)


def _elu_backward(of: Arithmetic, given: Given) -> Term:
    alpha, scale, steep = given.get("alpha", 1), given.get("scale", 1), given.get("input_scale", 1)
    x = given.self_or_result
    if given.is_result:
        low = of.mul(of.mul(given.grad_output, steep), of.add(x, alpha * scale))
    else:
        low = of.mul(of.mul(given.grad_output, steep * alpha * scale), of.exp(of.mul(x, steep)))
    return of.where(of.less(x, 0), low, of.mul(given.grad_output, scale))


def _hard_gate(of: Arithmetic, x: Value) -> Term:
    return of.minimum(of.maximum(of.add(x, 3), 0), 6)


def _inside(of: Arithmetic, x: Value, low: float, high: float, value: Value) -> Term:
    return of.where(of.less(low, x), of.where(of.less(x, high), value, 0), 0)


def _hardswish_backward(of: Arithmetic, given: Given) -> Term:
    middle = of.mul(given.grad_output, of.add(of.div(given.self, 3), 0.5))
    upper = of.where(of.less(given.self, 3), middle, given.grad_output)
    return of.where(of.less(given.self, -3), 0, upper)


def _logit(of: Arithmetic, given: Given) -> Term:
    x = given.self
    if given.eps is not None:
        x = of.minimum(of.maximum(x, given.eps), 1 - given.eps)
    return of.log(of.div(x, of.sub(1, x)))


def _log_sum(of: Arithmetic, given: Given) -> Term:
    high, low = of.maximum(given.self, given.other), of.minimum(given.self, given.other)
    return of.add(high, of.log1p(of.exp(of.sub(low, high))))


def _cross_entropy_backward(of: Arithmetic, given: Given) -> Term:
    x, target = given.self, given.target
    spread = of.maximum(of.mul(of.sub(1, x), x), 1e-12)
    result: Term = of.div(of.mul(given.grad_output, of.sub(x, target)), spread)
    return _shared(of, result if given.weight is None else of.mul(result, given.weight), given)


def _shared(of: Arithmetic, gradient: Term, given: Given) -> Term:
    return gradient if given.share == 1 else of.mul(gradient, ratio(given.share))


def _smooth_l1_backward(of: Arithmetic, given: Given) -> Term:
    beta, difference = given.get("beta", 1.0), of.sub(given.self, given.target)
    bounded = of.maximum(of.minimum(of.div(difference, beta) if beta else of.sign(difference), 1), -1)
    return _shared(of, of.mul(bounded, given.grad_output), given)


def _huber_backward(of: Arithmetic, given: Given) -> Term:
    delta, difference = given.get("delta", 1.0), of.sub(given.self, given.target)
    return _shared(of, of.mul(of.maximum(of.minimum(difference, delta), -delta), given.grad_output), given)


def _mse_backward(of: Arithmetic, given: Given) -> Term:
    return _shared(of, of.mul(of.mul(of.sub(given.self, given.target), 2), given.grad_output), given)


def _soft_margin_backward(of: Arithmetic, given: Given) -> Term:
    power = of.exp(of.neg(of.mul(given.self, given.target)))
    return _shared(of, of.mul(of.neg(of.div(of.mul(given.target, power), of.add(power, 1))), given.grad_output), given)


def _threshold_backward(of: Arithmetic, given: Given) -> Term:
    return of.where(of.less(given.threshold, given.self), given.grad_output, 0)


def _clamp(of: Arithmetic, given: Given) -> Term:
    result = given.self
    low, high = given.get("min", given.min_val), given.get("max", given.max_val)
    result = result if low is None else of.maximum(result, low)
    return result if high is None else of.minimum(result, high)


def _leaky(of: Arithmetic, given: Given, chosen: str = "self") -> Term:
    slope = given.get("negative_slope", given.weight)
    return of.where(of.less(given.self, 0), of.mul(given.get(chosen), slope), given.get(chosen))


FUNCTIONS: dict[str, Function] = {
    "add": _sum,
    "sub": lambda of, given: _sum(of, given, -1),
    "rsub": _rsub,
    "mul": lambda of, given: of.mul(given.self, given.other),
    "div": _div,
    "floor_divide": lambda of, given: of.call("floor", of.div(given.self, given.other)),
    "addcmul": _product_added,
    "addcdiv": _quotient_added,
    "lerp": lambda of, given: of.add(given.self, of.mul(given.weight, of.sub(given.end, given.self))),
    "pow": lambda of, given: of.pow(given.self, given.exponent),
    "sigmoid_backward": lambda of, given: of.mul(given.grad_output, of.mul(of.sub(1, given.output), given.output)),
    "tanh_backward": lambda of, given: of.mul(given.grad_output, of.sub(1, of.mul(given.output, given.output))),
    "log_sigmoid_backward": _log_sigmoid_backward,
    "glu_backward": _glu_backward,
    "silu": lambda of, given: of.div(given.self, of.add(of.exp(of.neg(given.self)), 1)),
    "silu_backward": _silu_backward,
    "gelu": _gelu,
    "gelu_backward": _gelu_backward,
    "softplus": _softplus,
    "softplus_backward": _softplus_backward,
    "mish": _mish,
    "mish_backward": _mish_backward,
    "elu": _elu,
    "celu": lambda of, given: of.where(
        of.less(given.self, 0),
        of.mul(of.expm1(of.div(given.self, given.get("alpha", 1))), given.get("alpha", 1)),
        given.self,
    ),
    "elu_backward": _elu_backward,
    "hardsigmoid": lambda of, given: of.div(_hard_gate(of, given.self), 6),
    "hardsigmoid_backward": lambda of, given: _inside(of, given.self, -3, 3, of.div(given.grad_output, 6)),
    "hardswish": lambda of, given: of.div(of.mul(given.self, _hard_gate(of, given.self)), 6),
    "hardswish_backward": _hardswish_backward,
    "logit": _logit,
    "logit_backward": lambda of, given: of.div(given.grad_output, of.mul(given.self, of.sub(1, given.self))),
    "logaddexp": _log_sum,
    "hypot": lambda of, given: of.sqrt(of.add(of.mul(given.self, given.self), of.mul(given.other, given.other))),
    "xlogy": lambda of, given: of.mul(given.self, of.log(given.other)),
    "special_xlog1py": lambda of, given: of.mul(given.self, of.log1p(given.other)),
    "sinc": lambda of, given: of.div(of.sin(of.mul(given.self, math.pi)), of.mul(given.self, math.pi)),
    "deg2rad": lambda of, given: of.mul(given.self, math.pi / 180),
    "rad2deg": lambda of, given: of.mul(given.self, 180 / math.pi),
    "binary_cross_entropy_backward": _cross_entropy_backward,
    "smooth_l1_loss_backward": _smooth_l1_backward,
    "huber_loss_backward": _huber_backward,
    "mse_loss_backward": _mse_backward,
    "soft_margin_loss_backward": _soft_margin_backward,
    "leaky_relu": _leaky,
    "leaky_relu_backward": lambda of, given: _leaky(of, given, "grad_output"),
    "_prelu_kernel": _leaky,
    "softshrink": lambda of, given: of.where(
        of.less(of.abs(given.self), given.get("lambd", 0.5)),
        0,
        of.sub(given.self, of.mul(of.sign(given.self), given.get("lambd", 0.5))),
    ),
    "frac": lambda of, given: of.sub(given.self, of.trunc(given.self)),
    "_masked_scale": lambda of, given: of.mul(given.self, of.mul(given.mask, given.scale)),
    "native_dropout_backward": lambda of, given: of.mul(given.grad_output, of.mul(given.mask, given.scale)),
    # -- choices
    "relu": lambda of, given: of.maximum(given.self, 0),
    "threshold": lambda of, given: of.where(of.less(given.threshold, given.self), given.self, given.value),
    "threshold_backward": _threshold_backward,
    "hardtanh": _clamp,
    "clamp": _clamp,
    "clamp_min": _clamp,
    "clamp_max": _clamp,
    "hardtanh_backward": lambda of, given: _inside(of, given.self, given.min_val, given.max_val, given.grad_output),
    "hardshrink": lambda of, given: of.where(of.less(of.abs(given.self), given.get("lambd", 0.5)), 0, given.self),
    "maximum": lambda of, given: of.maximum(given.self, given.other),
    "minimum": lambda of, given: of.minimum(given.self, given.other),
    "fmax": lambda of, given: of.maximum(given.self, given.other),
    "fmin": lambda of, given: of.minimum(given.self, given.other),
    "where": lambda of, given: of.where(given.condition, given.self, given.other),
    "masked_fill": lambda of, given: of.where(given.mask, given.value, given.self),
    "nan_to_num": lambda _, given: given.self,
    "bitwise_not": lambda of, given: of.sub(1, given.self),
    "logical_not": lambda of, given: of.where(given.self, 0, 1),
    "logical_and": lambda of, given: of.minimum(given.self, given.other),
    "logical_or": lambda of, given: of.maximum(given.self, given.other),
    "eq": lambda _, given: Term("equal", _both(given)),
    "ne": lambda _, given: Term("where", (Term("equal", _both(given)), lifted(0), lifted(1))),
    "lt": lambda _, given: Term("less", _both(given)),
    "le": lambda _, given: Term("less", _both(given)),
    "gt": lambda _, given: Term("less", _both(given)[::-1]),
    "ge": lambda _, given: Term("less", _both(given)[::-1]),
    "isnan": lambda *_: lifted(0),
    "isinf": lambda *_: lifted(0),
    "sgn": lambda of, given: of.sign(given.self),
    "positive": lambda _, given: given.self,
    "neg": lambda of, given: of.neg(given.self),
    "abs": lambda of, given: of.abs(given.self),
    "sign": lambda of, given: of.sign(given.self),
    "square": lambda of, given: of.square(given.self),
}


def _elementary(name: str) -> Function:
    return lambda of, given: of.call(name, given.self)


FUNCTIONS |= {name: _elementary(name) for name in _ELEMENTARY}


def _both(given: Given) -> tuple[Term, Term]:
    return lifted(given.self), lifted(given.other)
