"""Evaluates expressions of a plugin's syntax tree: names, operators, comprehensions and calls.

Nothing of the plugin is compiled, executed or imported. What is not listed here raises CannotFollow.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from typing import Any

from opscan.pyread.library import BUILTINS
from opscan.pyread.machine import Machine
from opscan.pyread.methods import COUNTED
from opscan.pyread.operations import compare, describe, format_value, subscript, to_text, truth
from opscan.pyread.scope import Scope
from opscan.pyread.stops import CannotFollow, PluginRaise
from opscan.pyread.values import (
    ClassValue,
    DefaultDict,
    ExceptionValue,
    FunctionValue,
    Poison,
    Silent,
    SuperValue,
    measure,
)


class Evaluator(Machine):
    """Expressions; `eval` gives the value of one."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self._expressions: dict[type, Callable[[Any, Scope], Any]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.Call: self._call,
            ast.BinOp: self._binary,
            ast.UnaryOp: self._unary,
            ast.BoolOp: self._bool,
            ast.Compare: self._compare,
            ast.IfExp: lambda n, s: self.eval(n.body if truth(self.eval(n.test, s)) else n.orelse, s),
            ast.List: self._sequence,
            ast.Tuple: lambda n, s: tuple(self._sequence(n, s)),
            ast.Set: lambda n, s: self.guard(set, self._sequence(n, s)),
            ast.Dict: self._dict,
            ast.ListComp: lambda n, s: self.collect(self._comprehend(n, s)),
            ast.SetComp: lambda n, s: self.guard(set, self.collect(self._comprehend(n, s))),
            ast.GeneratorExp: self._comprehend,
            ast.DictComp: lambda n, s: self.guard(dict, self.collect(self._comprehend(n, s))),
            ast.JoinedStr: self._joined,
            ast.FormattedValue: self._formatted,
            ast.Lambda: self.make_function,
            ast.NamedExpr: self._walrus,
        }

    # -- expressions ---------------------------------------------------------------------------------------------------

    def eval(self, node: ast.AST, scope: Scope) -> Any:
        """The value of an expression. Raises CannotFollow, or PluginRaise for an exception of the plugin's own."""
        budget = self.budget
        budget.left -= 1
        if budget.left < 0:
            raise budget.exhausted()
        handler = self._expressions.get(type(node))
        if handler is None:
            raise CannotFollow(construct_name(node), *_place(node))
        self.at = node
        return handler(node, scope)

    def _constant(self, node: ast.Constant, _: Scope) -> Any:
        if isinstance(node.value, bytes | complex) or node.value is ...:
            raise CannotFollow(construct_name(node), *_place(node))
        return node.value

    def _name(self, node: ast.Name, scope: Scope) -> Any:
        value = self.look_up(node.id, scope)
        if isinstance(value, Poison):
            raise value.stop()
        return value

    def look_up(self, name: str, scope: Scope) -> Any:
        """The value of a name, perhaps a Poison. Raises CannotFollow for names from nowhere."""
        holder = scope.holder(name)
        if holder is not None:
            return holder.names[name]
        if name in BUILTINS:
            return BUILTINS[name]
        raise CannotFollow(f"`{name}`")

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        if isinstance(node.value, ast.Name):
            value = self.look_up(node.value.id, scope)
            if isinstance(value, Poison):
                raise value.stop(node.attr)
        else:
            value = self.eval(node.value, scope)
        return self.attribute(value, node.attr)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        container = self.eval(node.value, scope)
        return self.item(container, self.index(node.slice, scope))

    def item(self, container: Any, index: Any) -> Any:
        """`container[index]`."""
        if type(container) is DefaultDict and index not in container:
            return self._missing_item(container, index)
        return self.guard(subscript, container, index, self.budget)

    def _missing_item(self, container: DefaultDict, index: Any) -> Any:
        """What a `defaultdict` makes for a new key; a `Counter` makes nothing, and counts 0."""
        if container.factory is COUNTED:
            return 0
        if container.factory is None:
            raise PluginRaise(ExceptionValue(KeyError, (index,)), self.line)
        container[index] = self.call(container.factory, [])
        self.budget.limit(len(container))
        return container[index]

    def index(self, node: ast.AST, scope: Scope) -> Any:
        """The index of a subscript: a value, or a slice."""
        if not isinstance(node, ast.Slice):
            return self.eval(node, scope)
        return slice(
            *(None if part is None else self.eval(part, scope) for part in (node.lower, node.upper, node.step))
        )

    def _binary(self, node: ast.BinOp, scope: Scope) -> Any:
        left = self.eval(node.left, scope)
        return self.guard(self.operate, type(node.op), left, self.eval(node.right, scope))

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> Any:
        value = self.eval(node.operand, scope)
        return not truth(value) if isinstance(node.op, ast.Not) else self.sign(type(node.op), value)

    def sign(self, kind: type[ast.AST], value: Any) -> Any:
        """`-value`, `+value` or `~value`."""
        if type(value) not in {int, float, bool}:
            raise CannotFollow(f"a sign before {describe(value)}")
        if kind is ast.Invert:
            return self.guard(lambda: ~int(value))
        return -value if kind is ast.USub else +value

    def _bool(self, node: ast.BoolOp, scope: Scope) -> Any:
        stop_at = isinstance(node.op, ast.Or)
        value = None
        for part in node.values:
            value = self.eval(part, scope)
            if truth(value) is stop_at:
                break
        return value

    def _compare(self, node: ast.Compare, scope: Scope) -> Any:
        left = self.eval(node.left, scope)
        result: Any = True
        for op, part in zip(node.ops, node.comparators, strict=True):
            if not truth(result):
                break
            right = self.eval(part, scope)
            result = self.compared(type(op), left, right)
            left = right
        return result

    def compared(self, kind: type[ast.AST], left: Any, right: Any) -> Any:
        """`left <comparison> right`."""
        return self.guard(compare, kind, left, right, self.budget)

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set | ast.Call, scope: Scope) -> list[Any]:
        values = []
        for part in node.args if isinstance(node, ast.Call) else node.elts:
            if isinstance(part, ast.Starred):
                values.extend(self.items(self.eval(part.value, scope)))
                self.budget.charge(len(values))
            else:
                values.append(self.eval(part, scope))
        return values

    def _dict(self, node: ast.Dict, scope: Scope) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                result.update(self._mapping(self.eval(value, scope)))
                self.budget.charge(len(result))
            else:
                name = self.eval(key, scope)
                measure(name)
                self.guard(result.__setitem__, name, self.eval(value, scope))
        return result

    def _mapping(self, value: Any) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise CannotFollow(f"`**` with {describe(value)}")
        return value

    def _comprehend(self, node: Any, scope: Scope) -> Iterator[Any]:
        inner = Scope(scope, scope.function)

        def level(depth: int) -> Iterator[Any]:
            if depth == len(node.generators):
                if isinstance(node, ast.DictComp):
                    key = self.eval(node.key, inner)
                    measure(key)
                    yield key, self.eval(node.value, inner)
                else:
                    yield self.eval(node.elt, inner)
                return
            part = node.generators[depth]
            if part.is_async:
                raise CannotFollow("`async for`", *_place(part.iter))
            for value in self.iterate(self.eval(part.iter, inner)):
                self.budget.left -= 1
                self.assign(part.target, value, inner)
                if all(truth(self.eval(test, inner)) for test in part.ifs):
                    yield from level(depth + 1)

        return level(0)

    def _joined(self, node: ast.JoinedStr, scope: Scope) -> Any:
        parts = [self.eval(part, scope) for part in node.values]
        hidden = next((part for part in parts if isinstance(part, Silent)), None)
        if hidden is not None:
            return hidden
        text = "".join(parts)
        self.budget.charge(len(text))
        return text

    def _formatted(self, node: ast.FormattedValue, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        if isinstance(value, Silent):
            return value
        if node.conversion in {ord("r"), ord("a")} and type(value) is str:
            value = repr(value)
        elif node.conversion != -1:
            value = to_text(value, self.budget)
        spec = self.eval(node.format_spec, scope) if node.format_spec else ""
        return str(self.guard(format_value, value, spec, self.budget))

    def _walrus(self, node: ast.NamedExpr, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        target = scope
        while target.parent is not None and target.parent.function is target.function and target.function:
            target = target.parent
        target.bind(node.target.id, value)
        return value

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and scope.holder("super") is None:
            return self._super(node, scope)
        function = self.eval(node.func, scope)
        args = self._sequence(node, scope)
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value, scope)
            if keyword.arg is None and all(type(key) is str for key in self._mapping(value)):
                named.update(value)
            elif keyword.arg is None:
                raise CannotFollow("`**` with keys that are no text")
            else:
                named[keyword.arg] = value
        self.at = node
        result = self.call(function, args, named)
        self.at = node
        return result

    def _super(self, node: ast.Call, scope: Scope) -> SuperValue:
        if node.args:
            given = self._sequence(node, scope)
            if len(given) != 2 or not isinstance(given[0], ClassValue):
                raise CannotFollow("`super()` with these arguments")
            return SuperValue(given[0], given[1])
        holder: Scope | None = scope
        while holder is not None and (holder.function is None or holder.function.owner is None):
            holder = holder.parent
        if holder is None or holder.function is None or holder.function.owner is None:
            raise CannotFollow("`super()` outside a method")
        first = holder.function.names[0]
        found = holder.holder(first)
        return SuperValue(holder.function.owner, found.names[first] if found else None)

    def make_function(self, node: Any, scope: Scope) -> FunctionValue:
        """The value of a `def` or `lambda`."""
        raise NotImplementedError

    def assign(self, target: ast.AST, value: Any, scope: Scope) -> None:
        """Binds a name, unpacks into several, or changes an attribute or an item."""
        raise NotImplementedError


def _place(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1


_CONSTRUCTS = {
    "With": "`with`",
    "AsyncWith": "`async with`",
    "Yield": "`yield`",
    "YieldFrom": "`yield from`",
    "Await": "`await`",
    "AsyncFor": "`async for`",
    "AsyncFunctionDef": "`async def`",
    "Match": "`match`",
    "TryStar": "`except*`",
    "Starred": "`*`",
}


def construct_name(node: ast.AST) -> str:
    """What a message calls a piece of syntax."""
    kind = type(node).__name__
    return _CONSTRUCTS.get(kind, f"{kind} syntax")
