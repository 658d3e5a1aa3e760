"""Dataclasses of a golden: fields in the order in which they stand, with their defaults."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from opscan.pyread.stops import CannotFollow
from opscan.pyread.values import ClassValue, HostFunction, Instance

if TYPE_CHECKING:
    from opscan.numerics.goldens.interpreter import GoldenInterpreter
    from opscan.pyread.scope import Scope

MARK = "dataclass"


def _dataclass(*args: Any, **_: Any) -> Any:
    """The decorator, bare or with settings; `add_fields` does the work, for the fields are annotations."""
    return args[0] if args else DATACLASS


DATACLASS = HostFunction(MARK, _dataclass, pure=True)


def add_fields(node: ast.ClassDef, scope: Scope) -> None:
    """Give a class that was just defined the constructor that `@dataclass` makes, where it has that decorator."""
    cls = scope.names.get(node.name)
    if not isinstance(cls, ClassValue) or not any(_is_mark(decorator, scope) for decorator in node.decorator_list):
        return
    if cls.bases or cls.has("__init__") or cls.has("__post_init__"):
        raise CannotFollow(f"dataclass `{node.name}` with a base or a constructor", node.lineno)
    names = [s.target.id for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)]
    defaults = {name: cls.attributes[name] for name in names if name in cls.attributes}

    def create(_: GoldenInterpreter, instance: Instance, *args: Any, **named: Any) -> None:
        values = {**defaults, **dict(zip(names, args, strict=False)), **named}
        if len(args) > len(names) or set(values) != set(names):
            raise TypeError(f"wrong fields for {node.name}()")
        instance.attributes.update(values)

    cls.attributes["__init__"] = HostFunction("__init__", create, method=True)


def _is_mark(decorator: ast.expr, scope: Scope) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
    holder = scope.holder(name)
    bare = holder is not None and holder.names[name] is DATACLASS
    return bare or (name == MARK and isinstance(target, ast.Attribute))
