"""What a golden may import, and the built-in functions that treat tensors otherwise than a generator plugin's."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from opscan.numerics.goldens.atk import ATK_NAMES
from opscan.numerics.goldens.numbers import Number
from opscan.numerics.goldens.tensors import is_tensor
from opscan.numerics.goldens.torch_values import (
    DtypeType,
    Namespace,
    TensorType,
    named_operator,
    torch_attribute,
)
from opscan.pyread import library
from opscan.pyread.modules import import_all, import_module, import_name
from opscan.pyread.stops import CannotFollow
from opscan.pyread.values import (
    HostFunction,
    Instance,
    ModuleValue,
    Poison,
    Record,
    TypeValue,
    measure,
)

if TYPE_CHECKING:
    from opscan.numerics.goldens.interpreter import GoldenInterpreter
    from opscan.pyread.scope import Scope

_TORCH_PATHS = frozenset(
    {"torch", "torch.nn", "torch.nn.functional", "torch.special", "torch.linalg", "torch.fft", "torch.nn.init"}
)


def bind_import(ev: GoldenInterpreter, node: ast.Import, scope: Scope) -> None:
    """`import a.b as c`."""
    for alias in node.names:
        head = alias.name.split(".")[0]
        path = alias.name if alias.asname else head
        value = (path != alias.name and ev.package(alias.name)) or _module(ev, path)
        if isinstance(value, Poison):
            value = Poison(f"module {alias.name}")
        scope.bind(alias.asname or head, value)


def bind_import_from(ev: GoldenInterpreter, node: ast.ImportFrom, scope: Scope) -> None:
    """`from a import b as c`; a name that is not followed stops the golden where it is used."""
    path = ev.path_of(node, scope)
    for alias in node.names:
        if alias.name != "*":
            scope.bind(alias.asname or alias.name, _name(ev, path, alias.name))
        elif path.split(".", maxsplit=1)[0] not in ("atk", "torch"):
            for name, value in import_all(ev, path).items():
                scope.bind(name, value)


def _module(ev: GoldenInterpreter, path: str) -> Any:
    if path in _TORCH_PATHS:
        return Namespace(path)
    if path == "copy":
        return ModuleValue("copy", _COPIES)
    return import_module(ev, path)


def _name(ev: GoldenInterpreter, path: str, name: str) -> Any:
    head = path.split(".", maxsplit=1)[0]
    try:
        if path in _TORCH_PATHS:
            return torch_attribute(Namespace(path), name)
        if head == "atk":
            return ATK_NAMES[name](ev) if name in ATK_NAMES else Poison(f"atk's {name}")
    except CannotFollow as stop:
        return Poison(stop.construct)
    if path == "copy":
        return _COPIES.get(name) or Poison(f"copy.{name}")
    return import_name(ev, path, name)


def _copy(_: GoldenInterpreter, value: Any) -> Any:
    """`copy.copy`: a container of the same items; the copy of a tensor shares its memory."""
    if type(value) in (list, dict):
        return value.copy()
    if isinstance(value, Record):
        return Record(value.kind, dict(value.fields))
    if isinstance(value, Instance):
        return Instance(value.cls, dict(value.attributes))
    return value


def _deep_copy(ev: GoldenInterpreter, value: Any) -> Any:
    """`copy.deepcopy`: each tensor's copy has memory of its own."""
    measure(value)
    tensors: dict[int, Any] = {}

    def copied(item: Any) -> Any:
        ev.budget.left -= 1
        if is_tensor(item):
            return tensors.setdefault(id(item), item.clone())
        if type(item) in (list, tuple):
            return type(item)(copied(one) for one in item)
        if type(item) is dict:
            return {key: copied(one) for key, one in item.items()}
        if isinstance(item, Record):
            return Record(item.kind, copied(item.fields))
        if isinstance(item, Instance):
            return Instance(item.cls, copied(item.attributes))
        return item

    return copied(value)


_COPIES = {"copy": HostFunction("copy", _copy), "deepcopy": HostFunction("deepcopy", _deep_copy)}


def _isinstance(ev: GoldenInterpreter, value: Any, wanted: Any) -> bool:
    import torch

    if type(wanted) is tuple:
        return any(_isinstance(ev, value, one) for one in wanted)
    if isinstance(wanted, TensorType):
        if wanted.name != "torch.Tensor":
            raise CannotFollow(f"`isinstance` with {wanted.name}")
        return is_tensor(value)
    if isinstance(wanted, DtypeType):
        return isinstance(value, torch.dtype)
    if isinstance(value, Number):
        return isinstance(wanted, TypeValue) and issubclass(value.kind, wanted.host)
    return bool(library.BUILTINS["isinstance"].call(ev, value, wanted))


def _eval(_: GoldenInterpreter, text: Any) -> Any:
    """`eval(self.api_name)`, ATK's own way from a name to an operator; no other text is evaluated."""
    return named_operator(text)


BUILTINS: dict[str, Any] = {
    "isinstance": HostFunction("isinstance", _isinstance),
    "eval": HostFunction("eval", _eval),
    "slice": HostFunction("slice", slice, pure=True),
    "Ellipsis": ...,
}
