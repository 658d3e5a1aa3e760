"""The operator that a spec names, as a function of declared tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from opscan.dataclass import dataclass
from opscan.numerics.declared.engine import call
from opscan.numerics.declared.entries import find
from opscan.numerics.declared.namespaces import operator_key
from opscan.numerics.declared.values import NotDeclared, Refused, Tensor
from opscan.numerics.packets import FOREACH, OF_ONE

_RECEIVERS = {"torch": "input", "torch.special": "input", "torch.fft": "input", "torch.linalg": "A"}
"""What the functions of a namespace call the input that ATen calls `self`."""
_BOUNDS = {"maximum": "clamp_min", "minimum": "clamp_max"}
"""What the larger or the smaller of an element and a number is."""
_BY_AXIS = frozenset({"sum", "prod", "mean", "max", "min", "median", "nanmedian", "all", "any"})
"""Reductions of everything have no `keepdim`."""
_RESHAPING = frozenset(
    {"as_strided_", "resize_", "resize_as_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_"}
)
"""In-place calls that leave another shape."""


@dataclass(frozen=True, slots=True)
class DeclaredOperator:
    """`parameters`: the names under which users pass its inputs; `in_place`: its first input is what is compared."""

    name: str
    call: Callable[..., Any]
    parameters: tuple[str, ...]
    in_place: bool = False
    placed: int | None = None
    """How many of its inputs may be passed by place; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a spec spells an operator. `key`: where its steps stand, None where nobody has written any."""

    key: str | None
    method: bool
    in_place: bool
    each: bool
    """It is a list operator."""


def spelt(name: str, *, is_method: bool = False) -> Spelling:
    """What `torch.add`, `Tensor.add_`, `torch._foreach_add` ... stand for.

    A call in place is the call by its plain name, and a list operator its single operator, where no entry stands under
    their own names: that of a list operator tells of one member.
    """
    head, _, last = name.rpartition(".")
    method = is_method or head in ("Tensor", "torch.Tensor")
    in_place = last.endswith("_") and not last.endswith("__")
    plain = last.rstrip("_") if in_place else last
    each = plain.startswith(FOREACH)
    space = "torch.ops.aten" if each else head
    words = [plain, plain.removeprefix(FOREACH)] if each else [plain]
    words = [f"{word}_" for word in words] + words if in_place else words
    keys = [operator_key(f"{space}.{word}" if space else word, is_method=method and not each) for word in words]
    key = next((key for key in keys if key is not None), None)
    return Spelling(key, method, in_place, each)


@lru_cache(maxsize=2048)
def operator(name: str, *, is_method: bool = False) -> DeclaredOperator | None:
    """The operator `name`; None where the catalog has no steps for it."""
    spelling = spelt(name, is_method=is_method)
    key = spelling.key
    entry = None if key is None else find(key)
    if key is None or entry is None:
        return None
    public = "" if spelling.method or spelling.each else _RECEIVERS.get(name.rpartition(".")[0], "")
    names = [entry.labels.get(p.name) or (public if public and p.name == "self" else p.name) for p in entry.parameters]
    function: Callable[..., Any] = partial(_for_each if spelling.each else _run, key)
    if spelling.in_place and name.rpartition(".")[2] not in _RESHAPING:
        function = partial(_written, function)
    if spelling.method:
        function = partial(_on_receiver, function)
    if name.startswith("torch.ops.aten."):
        function = partial(_dispatched, function)
    placed = None if spelling.each else sum(not parameter.by_name for parameter in entry.parameters)
    return DeclaredOperator(name, function, tuple(names), spelling.in_place, placed)


def _on_receiver(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """A method: of a tensor, and what it returns is its own. Raises Refused else."""
    if not isinstance(args[0] if args else kwargs.get("self"), Tensor):
        raise Refused("a method is called on a tensor")
    if kwargs.get("out") is not None:
        raise Refused("a method takes no `out`")
    return function(*args, **kwargs)


def _dispatched(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """An ATen overload: whether a gradient is wanted is no argument of it. Raises Refused."""
    if "requires_grad" in kwargs:
        raise Refused("an overload takes no `requires_grad`")
    return function(*args, **kwargs)


def _run(key: str, /, *args: Any, **kwargs: Any) -> Any:
    axes = kwargs.get("dim", args[1] if len(args) > 1 else None)
    if "keepdim" in kwargs and key in _BY_AXIS and (isinstance(axes, Tensor) or ("dim" not in kwargs and axes is None)):
        raise Refused(f"{key}() keeps axes only where some are named")
    out = kwargs.pop("out", None)
    result = call(key, args, kwargs)
    if out is None:
        return result
    if key.startswith("nn.functional."):
        raise NotDeclared("some of these functions take an `out`, some do not")
    if not isinstance(out, Tensor) or not isinstance(result, Tensor) or result.requires_grad or out.requires_grad:
        raise NotDeclared("`out=` of several tensors, or one that wants a gradient")
    if key == "empty" and result.shape == out.shape:
        return out  # nothing is written; its kin copy what they have found into it
    return _cast(result, out)


def _written(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """What an in-place call leaves in its first argument. Raises Refused where it does not fit."""
    if not args:
        raise NotDeclared("an in-place call without a first argument")
    result = function(*args, **kwargs)
    if isinstance(args[0], (list, tuple)):
        return [_cast(one, target) for one, target in zip(result, args[0], strict=True)]
    return _cast(result, args[0])


def _cast(result: Any, target: Any) -> Any:
    if not isinstance(result, Tensor) or not isinstance(target, Tensor):
        raise NotDeclared("what is written is no tensor")
    if result.shape != target.shape:
        raise Refused(f"a result of shape {list(result.shape)} does not fit one of {list(target.shape)}")
    if result.dtype == target.dtype:
        return result
    if result.dtype.is_complex or (result.dtype.rounds and not target.dtype.rounds) or target.dtype == "bool":
        raise Refused(f"a result of {result.dtype} cannot be written to {target.dtype}")
    return call("_to_copy", (result,), {"dtype": target.dtype})


def _for_each(key: str, /, *args: Any, **kwargs: Any) -> Any:
    """A list operator is its single operator on each member."""
    entry = find(key)
    assert entry is not None
    members: Sequence[Any] = next((value for value in args[:2] if isinstance(value, (list, tuple))), ())
    if not members:
        raise Refused("a list of tensors is needed")

    def at(value: Any, place: int) -> Any:
        if not isinstance(value, (list, tuple)):
            return value
        if len(value) != len(members):
            raise Refused("lists of unequal length")
        return value[place]

    def one(place: int) -> Any:
        given: Sequence[Any] = [at(value, place) for value in args]
        named = {OF_ONE.get(k, k): at(v, place) for k, v in kwargs.items()}
        if key in _BOUNDS and len(given) > 1 and not isinstance(given[1], Tensor):
            return call(_BOUNDS[key], given, named)
        taken = sum(not parameter.by_name for parameter in entry.parameters)
        more = [parameter.name for parameter in entry.parameters if parameter.by_name]
        return call(key, given[:taken], {**dict(zip(more, given[taken:], strict=False)), **named})

    return [one(place) for place in range(len(members))]
