"""What a call has besides sizes and numbers: which parameters it gives, of which dtypes, with which words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from opscan.dataclass import dataclass
from opscan.numerics.binding import Binding, Dtype, TensorArgument

Number = bool | int | float
Sizes = tuple[int, ...]


class Unshapely(Exception):
    """The call has an argument that no path speaks of."""


@dataclass(slots=True)
class Instance:
    """One call in numbers: the shape of every tensor in order, and every numeric attribute by name.

    `shapes` grows by the outputs while a path is evaluated, so that later terms can name them.
    """

    shapes: list[Sizes]
    numbers: Mapping[str, Any]
    tensors: tuple[TensorArgument, ...]
    outputs: list[Sizes] = field(default_factory=list)
    common: Sizes | None = None
    """What all shapes broadcast to, once it has been asked for."""


@dataclass(frozen=True, slots=True)
class Signature:
    """`form`: parameters and words, as text; `dtypes`: of the tensors in order."""

    form: str
    dtypes: tuple[str, ...]


def read_call(
    binding: Binding, parameters: Sequence[str], renamed: Mapping[str, str] = MappingProxyType({})
) -> tuple[Signature, Instance]:
    """The signature of a call and its sizes. `renamed`: what a keyword is called here.

    Raises Unshapely for what a path cannot depend on.
    """
    tensors: list[TensorArgument] = []
    numbers: dict[str, Any] = {}
    arguments = sorted(named(binding, parameters, renamed), key=itemgetter(0))
    words = [f"{name}:{_word(name, value, tensors, numbers)}" for name, value in arguments]
    signature = Signature(" ".join(words), tuple(tensor.dtype for tensor in tensors))
    return signature, Instance([tensor.shape for tensor in tensors], numbers, tuple(tensors))


def named(binding: Binding, parameters: Sequence[str], renamed: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Every argument by its parameter, whether it was passed by place or by name."""
    for place, value in enumerate(binding.args):
        yield (parameters[place] if place < len(parameters) else f"#{place}"), value
    for name, value in binding.kwargs.items():
        yield renamed.get(name, name), value


def _word(name: str, value: Any, tensors: list[TensorArgument], numbers: dict[str, Any]) -> str:
    if isinstance(value, TensorArgument):
        tensors.append(value)
        empty = "0" if 0 in value.shape else ""  # nothing is added up there, whatever else holds
        return f"T{empty}!{value.values}" if value.values in ("unique", "duplicate") else f"T{empty}"
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, (int, float)):
        numbers[name] = value
        return "i" if isinstance(value, int) else "f"
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, Dtype):
        return value.name
    if isinstance(value, (list, tuple)):
        return _list_word(name, value, tensors, numbers)
    raise Unshapely(f"{name} is a {type(value).__name__}")


def _list_word(name: str, value: Sequence[Any], tensors: list[TensorArgument], numbers: dict[str, Any]) -> str:
    if value and all(type(item) in (int, float) for item in value):
        numbers[name] = tuple(value)
        return f"[{len(value)}]"
    return f"[{','.join(_word(name, item, tensors, {}) for item in _only_plain(name, value))}]"


def _only_plain(name: str, value: Sequence[Any]) -> Sequence[Any]:
    if any(type(item) in (int, float, list, tuple) for item in value):
        raise Unshapely(f"{name} mixes kinds")
    return value
