"""From the name in a spec to a callable PyTorch operator and the names of its parameters.

Only operators are resolved: a spec that names `torch.load` or anything else that could run code is refused.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import inspect
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from opscan.dataclass import dataclass

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_IN_PYTHON = ("torch.masked", "torch.signal.windows")
"""Namespaces whose operators PyTorch writes in Python."""
_NAMESPACES = (
    "torch.nn.functional", "torch.special", "torch.linalg", "torch.fft", "torch.Tensor", "torch", *_IN_PYTHON,
)  # fmt: skip
_REFUSED = re.compile(
    r"from_file|set_?|set_data|data|requires_grad_|retain_grad|record_stream|pin_memory|is_leaf|output_nr|resize_storage.*"
    r"|_version|_backward|_print|_(functional_)?(assert|sobol|cufft|cudnn_init|test|debug|nested|sym|mps|mkldnn|fw_primal"
    r"|make_dual|unpack_dual|make_dep|from_blob|functionalize|lazy_clone|use_).*"
)
"""Dispatcher entries that are no computation on tensors: files, autograd state, streams, assertions, caches."""
_CONVERSIONS = frozenset(
    {
        "bfloat16",
        "bool",
        "byte",
        "cdouble",
        "cfloat",
        "chalf",
        "char",
        "double",
        "float",
        "half",
        "int",
        "long",
        "short",
    }
)
"""Methods of Tensor that cast, under names that the dispatcher does not know."""
_COMPOSED = frozenset(
    {"unique", "lu", "lobpcg", "pca_lowrank", "svd_lowrank", "unravel_index", "upsample_bilinear", "upsample_nearest"}
)
"""Operators that PyTorch writes in Python, under names that the dispatcher does not know."""
_PREFIXES = {"torch.special": "special_", "torch.linalg": "linalg_", "torch.fft": "fft_"}


class NotFollowed(Exception):
    """The code that describes an operator leaves the subset that is followed; the message says where and with what."""


@dataclass(frozen=True, slots=True)
class Operator:
    """`call` takes the receiver first where `method`; `parameters` are the names users know, where known.

    `counts`: where it looks at values, how large the whole numbers among its inputs are decides shapes and extents.
    """

    name: str
    call: Callable[..., Any]
    parameters: tuple[str, ...]
    method: bool = False
    counts: bool = False

    @property
    def in_place(self) -> bool:
        last = self.name.rsplit(".", 1)[-1]
        return last.endswith("_") and not last.endswith("__")


@lru_cache(maxsize=4096)
def resolve(name: str, *, method: bool = False) -> Operator | str:
    """The operator that `name` means to ATK, or the reason why it means none here.

    `method`: the spec has a `tensor_input`, so a bare or dotted name ends in a method of Tensor.
    """
    if not _NAME.fullmatch(name):
        return f"`{name}` is not the name of an operator"
    head, _, last = name.rpartition(".")
    if _REFUSED.fullmatch(last) or last.startswith("__"):
        return f"`{name}` is not an operator"
    if method or head in ("Tensor", "torch.Tensor"):
        return _resolve_method(name, last)
    if name.startswith(("torch.ops.aten.", "aten.")):
        return _resolve_aten(name)
    if head in ("F", "nn.functional", "functional"):
        head = "torch.nn.functional"
    if head not in _NAMESPACES:
        return _refusal(name, head)
    return _resolve_function(name, head, last)


def _refusal(name: str, head: str) -> str:
    if head.startswith("torch_npu") or head.startswith("torch.ops.npu"):
        return f"`{name}` is an operator of torch_npu, which has no CPU semantics here"
    if head == "torch.nn" or head.startswith("torch.nn."):
        return f"`{name}` names a module, not a function: the golden that builds and calls it is in a plugin"
    return f"`{name}` is no PyTorch operator: its golden must be in a plugin"


def _resolve_method(name: str, last: str) -> Operator | str:
    import torch

    method = getattr(torch.Tensor, last, None)
    if not callable(method):
        return f"torch {torch.__version__} has no method Tensor.{last}"
    if last not in _CONVERSIONS | _COMPOSED and not _is_dispatched(last):
        return f"`{name}` is not an operator"
    names = _parameters(method, last)
    return Operator(name, method, ("self", *names[names[:1] == ("input",) :]), method=True)


def _resolve_aten(name: str) -> Operator | str:
    import torch

    parts = name.removeprefix("torch.ops.").removeprefix("aten.").split(".")
    if len(parts) > 2 or _REFUSED.fullmatch(parts[0]) or parts[0] not in _dispatched():
        return f"torch {torch.__version__} has no operator {name}"
    try:
        packet = getattr(torch.ops.aten, parts[0])
        operator = getattr(packet, parts[1]) if len(parts) > 1 else packet
        overload = operator if len(parts) > 1 else getattr(packet, packet.overloads()[0])
    except AttributeError:
        return f"torch {torch.__version__} has no operator {name}"
    return Operator(name, operator, tuple(argument.name for argument in overload._schema.arguments))


def _resolve_function(name: str, head: str, last: str) -> Operator | str:
    import torch

    owner: Any = torch
    for part in head.split(".")[1:]:
        owner = getattr(owner, part)
    function = getattr(owner, last, None)
    if function is None:
        return f"torch {torch.__version__} has no operator {name}"
    if inspect.isclass(function) or not callable(function):
        return f"`{name}` is not a function"
    if not _is_operator(function, head, last):
        return f"`{name}` is not an operator"
    return Operator(name, function, _parameters(function, last))


def _is_operator(function: Any, head: str, last: str) -> bool:
    """Being callable is not enough: `torch` also holds loaders, thread settings and the compiler's entry points."""
    if _is_dispatched(last) or _is_dispatched(_PREFIXES.get(head, "") + last):
        return True
    if head in _IN_PYTHON:
        return inspect.isfunction(function) and "masked_tensor" not in last
    if head in ("torch", "torch.nn.functional") and last in _COMPOSED:
        return True
    if head == "torch":
        return False
    return getattr(function, "__hash__", None) is not None and function in _overridable()


def _is_dispatched(name: str) -> bool:
    return name in _dispatched() or (name.endswith("_") and name.rstrip("_") in _dispatched())


@lru_cache(maxsize=1)
def _dispatched() -> frozenset[str]:
    """ATen operators that the dispatcher knows; `torch.ops.aten` also holds the JIT's own, such as `save`."""
    import torch

    names = (name.partition("::") for name in torch._C._dispatch_get_all_op_names())
    return frozenset(rest.partition(".")[0] for space, _, rest in names if space == "aten")


@lru_cache(maxsize=1)
def _overridable() -> frozenset[Any]:
    import torch

    functions = torch.overrides.get_overridable_functions()
    namespaces = (torch, torch.nn.functional, torch.special, torch.linalg, torch.fft)
    hashable = {f for owner in namespaces for f in functions.get(owner, ()) if getattr(f, "__hash__", None)}
    return frozenset(hashable | set(torch.overrides.get_testing_overrides()))


def _parameters(function: Any, last: str) -> tuple[str, ...]:
    """From the signature of a Python function, else from the first line of the docstring of a builtin."""
    function = getattr(function, "__wrapped__", function)
    try:
        names = tuple(inspect.signature(function).parameters)
        if names and not {"args", "kwargs"} & set(names):
            return names
    except (TypeError, ValueError):
        pass
    text = (function.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
    match = re.search(rf"\b{re.escape(last)}\(([^)]*(?:\([^)]*\)[^)]*)*)\)", text)
    if not match:
        return _schema_parameters(last)
    names = tuple(part.split("=")[0].split(":")[0].strip(" *") for part in match.group(1).split(","))
    return tuple(part for part in names if part.isidentifier())


def _schema_parameters(last: str) -> tuple[str, ...]:
    import torch

    try:
        packet = getattr(torch.ops.aten, last)
        overloads = packet.overloads()
        chosen = next((name for name in ("List", "Tensor", "default", "") if name in overloads), overloads[0])
        schema = getattr(packet, chosen)._schema
    except (AttributeError, IndexError):
        return ()
    return tuple(
        "input" if argument.name == "self" and str(argument.type) == "Tensor" else argument.name
        for argument in schema.arguments
    )
