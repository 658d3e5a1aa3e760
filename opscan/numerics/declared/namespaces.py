"""What a name in an entry's text means: an operator, a shape function, or a part of `torch`."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from opscan.numerics.declared import dtypes
from opscan.numerics.declared.engine import call, sum_to
from opscan.numerics.declared.entries import place_of
from opscan.numerics.declared.values import EVALUATOR, Dtype, NotDeclared, Refused, Tensor
from opscan.numerics.dtypes import TORCH_DTYPES

_PLAIN = {
    name: getattr(builtins, name)
    for name in (
        "abs", "all", "any", "bool", "dict", "enumerate", "float", "int", "isinstance", "len", "list", "max", "min",
        "next", "range", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip",
    )
}  # fmt: skip
_DTYPES = frozenset(TORCH_DTYPES.values())
_SPACES = {
    "nn.functional": "nn.functional.",
    "special": "special_",
    "linalg": "linalg_",
    "fft": "fft_",
    "masked": "masked.",
}
"""Where a name of a namespace stands: behind this in the catalog."""


def is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def refuse(reason: str) -> None:
    """What an entry says where torch raises."""
    raise Refused(reason)


def undeclared(reason: str) -> None:
    """What an entry says where it does not answer."""
    raise NotDeclared(reason)


SHAPES = (
    "shapes", "view_shapes", "pointwise_shapes", "reduction_shapes", "index_shapes", "contraction_shapes",
    "window_shapes", "layer_shapes", "matrix_shapes", "fourier_shapes",
)  # fmt: skip
"""The modules of shape functions; one is imported when a name is looked for that those before it do not have."""
_FUNCTIONS: dict[str, Any] = {
    "is_tensor": is_tensor,
    "is_word": lambda value: isinstance(value, str),
    "is_list": lambda value: isinstance(value, (list, tuple)),
    "refuse": refuse,
    "undeclared": undeclared,
    "sum_to": lambda value, target: sum_to(value, tuple(target.shape if isinstance(target, Tensor) else target)),
    "math": math,
    "inf": math.inf,
    **{name: getattr(dtypes, name) for name in ("counted", "complex_of")},
    "promoted_of": lambda *values: dtypes.promoted(values),
    "floating_of": dtypes.floating,
    "real_of": dtypes.real,
}  # fmt: skip


@lru_cache(maxsize=4096)
def named(name: str) -> Any:
    """What a bare name of an entry means; None where it means nothing."""
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    if name in ("torch", "F"):
        return Namespace("" if name == "torch" else "nn.functional")
    if name in _DTYPES:
        return Dtype(name)
    operator = None if place_of(name) is None else partial(_operate, name)
    plain = _PLAIN.get(name)
    if operator is None or plain is None:
        return operator or plain or _shape_function(name)
    return _either(name, plain)


def _shape_function(name: str) -> Any:
    modules = (import_module(f"opscan.numerics.declared.{module}") for module in SHAPES)
    return next((getattr(module, name) for module in modules if name in module.__all__), None)


def _either(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Python's own function where no tensor is among its arguments."""

    def choose(*args: Any, **kwargs: Any) -> Any:
        return _operate(name, *args, **kwargs) if any(map(is_tensor, args)) else plain(*args, **kwargs)

    return choose


def _operate(name: str, /, *args: Any, **kwargs: Any) -> Any:
    return call(name, args, kwargs)


@lru_cache(maxsize=1024)
def method(name: str) -> Callable[..., Any] | None:
    """The operator that a method of Tensor is."""
    for key in (f"Tensor.{name}", name):
        if place_of(key) is not None:
            return partial(_operate, key)
    return None


class Namespace:
    """`torch`, `torch.nn.functional`, `torch.ops.aten` as formulas write them."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        path = f"{self._path}.{name}" if self._path else name
        if path in ("nn", "ops", *_SPACES, "ops.aten"):
            return Namespace(path)
        if not self._path and name in _DTYPES:
            return Dtype(name)
        if (key := operator_key(f"torch.{path}")) is None:
            raise NotDeclared(f"no steps are declared for torch.{path}")
        return partial(_operate, key)


def operator_key(name: str, *, is_method: bool = False) -> str | None:
    """Where the steps of an operator stand that a spec names; None where nobody has written any."""
    head, _, last = name.rpartition(".")
    if is_method or head in ("Tensor", "torch.Tensor"):
        keys = [f"Tensor.{last}", last]
    elif name.startswith(("torch.ops.aten.", "aten.")):
        packet = name.removeprefix("torch.ops.").removeprefix("aten.").partition(".")[0]
        keys = [f"aten.{packet}", packet]
    else:
        space = {"F": "nn.functional", "functional": "nn.functional"}.get(head, head.removeprefix("torch."))
        if head == "torch":
            keys = [f"torch.{last}", last]
        elif space in _SPACES:
            keys = [f"{space}.{last}", _SPACES[space] + last]
        else:
            keys = [f"{space}.{last}"]
    return next((key for key in keys if place_of(key) is not None), None)


EVALUATOR.update(named=named, method=method)
