"""Evaluates expressions of a plugin's syntax tree: names, operators, comprehensions, attributes and calls.

Nothing of the plugin is compiled, executed or imported. What is not listed here raises CannotFollow.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from typing import Any

from opscan.shapes.library import BUILTINS
from opscan.shapes.methods import METHODS, call_method
from opscan.shapes.modules import random_function
from opscan.shapes.operations import binary, compare, describe, format_value, subscript, to_text, truth
from opscan.shapes.records import record_method
from opscan.shapes.stops import Budget, CannotFollow, PluginRaise
from opscan.shapes.values import (
    BoundMethod,
    ClassValue,
    ExceptionType,
    ExceptionValue,
    FunctionValue,
    HostFunction,
    Instance,
    ModuleValue,
    NativeMethod,
    Poison,
    RandomSource,
    Record,
    RecordType,
    Silent,
    SuperValue,
    TypeValue,
    measure,
)

_GENERATOR = type(_ for _ in ())
_ITERABLE = frozenset({list, tuple, range, str, dict})


class Scope:
    """The names of one call (or of the module), and the scope around it."""

    __slots__ = ("function", "names", "outer", "outside", "parent")

    def __init__(self, parent: Scope | None = None, function: FunctionValue | None = None) -> None:
        self.names: dict[str, Any] = {}
        self.parent = parent
        self.function = function
        self.outer: set[str] = set()
        """Names declared `nonlocal`."""
        self.outside: set[str] = set()
        """Names declared `global`."""

    def holder(self, name: str) -> Scope | None:
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.parent
        return scope

    @property
    def module(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def bind(self, name: str, value: Any) -> None:
        if name in self.outside:
            self.module.names[name] = value
        elif name in self.outer and self.parent is not None and (holder := self.parent.holder(name)) is not None:
            holder.names[name] = value
        else:
            self.names[name] = value


class Evaluator:
    """Expressions. `drew` tells whether the plugin has drawn a random number, `read_index` whether it looked at
    `self.index`, which counts the cases."""

    def __init__(self, rng: random.Random) -> None:
        self.budget = Budget()
        self.rng = rng
        self.drew = False
        self.read_index = False
        self.modules: dict[str, Any] = {}
        self.registered: dict[str, ClassValue] = {}
        self.at: ast.AST | None = None
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
            ast.List: lambda n, s: self._sequence(n, s),
            ast.Tuple: lambda n, s: tuple(self._sequence(n, s)),
            ast.Set: lambda n, s: set(self._sequence(n, s)),
            ast.Dict: self._dict,
            ast.ListComp: lambda n, s: self._collect(self._comprehend(n, s)),
            ast.SetComp: lambda n, s: set(self._collect(self._comprehend(n, s))),
            ast.GeneratorExp: lambda n, s: self._comprehend(n, s),
            ast.DictComp: lambda n, s: dict(self._collect(self._comprehend(n, s))),
            ast.JoinedStr: self._joined,
            ast.FormattedValue: self._formatted,
            ast.Lambda: lambda n, s: self.make_function(n, s),
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

    def _constant(self, node: ast.Constant, scope: Scope) -> Any:
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
        index = self.index(node.slice, scope)
        return self.guard(subscript, container, index, self.budget)

    def index(self, node: ast.AST, scope: Scope) -> Any:
        """The index of a subscript: a value, or a slice."""
        if not isinstance(node, ast.Slice):
            return self.eval(node, scope)
        return slice(
            *(None if part is None else self.eval(part, scope) for part in (node.lower, node.upper, node.step))
        )

    def _binary(self, node: ast.BinOp, scope: Scope) -> Any:
        left = self.eval(node.left, scope)
        return self.guard(binary, type(node.op), left, self.eval(node.right, scope), self.budget)

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> Any:
        value = self.eval(node.operand, scope)
        if isinstance(node.op, ast.Not):
            return not truth(value)
        if type(value) not in {int, float, bool}:
            raise CannotFollow(f"a sign before {describe(value)}")
        if isinstance(node.op, ast.Invert):
            return self.guard(lambda: ~int(value))
        return -value if isinstance(node.op, ast.USub) else +value

    def _bool(self, node: ast.BoolOp, scope: Scope) -> Any:
        stop_at = isinstance(node.op, ast.Or)
        value = None
        for part in node.values:
            value = self.eval(part, scope)
            if truth(value) is stop_at:
                break
        return value

    def _compare(self, node: ast.Compare, scope: Scope) -> bool:
        left = self.eval(node.left, scope)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self.eval(part, scope)
            if not self.guard(compare, type(op), left, right, self.budget):
                return False
            left = right
        return True

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
                result[name] = self.eval(value, scope)
        return result

    def _mapping(self, value: Any) -> dict[Any, Any]:
        if type(value) is not dict:
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

    def _collect(self, values: Iterator[Any]) -> list[Any]:
        collected = list(values)
        self.budget.charge(len(collected))
        return collected

    def _joined(self, node: ast.JoinedStr, scope: Scope) -> str:
        text = "".join(self.eval(part, scope) for part in node.values)
        self.budget.charge(len(text))
        return text

    def _formatted(self, node: ast.FormattedValue, scope: Scope) -> str:
        value = self.eval(node.value, scope)
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

    # -- attributes ----------------------------------------------------------------------------------------------------

    def attribute(self, value: Any, name: str) -> Any:
        """`value.name` for the values that have attributes here; anything else raises CannotFollow."""
        if _hidden(name):
            raise CannotFollow(f"`.{name}`")
        if isinstance(value, Record):
            if name in value.fields:
                return value.fields[name]
            method = record_method(value, name)
            if method is None:
                raise CannotFollow(f"`.{name}` of the {value.kind} object")
            return method
        if isinstance(value, Instance):
            return self._instance_attribute(value, name)
        if isinstance(value, ClassValue):
            return self._class_attribute(value, name)
        if isinstance(value, SuperValue):
            return self._super_attribute(value, name)
        if isinstance(value, RandomSource):
            if name == "Random" and value.shared:
                from opscan.shapes.modules import import_name

                return import_name(self, "random", name)
            found = random_function(value, name)
            if found is None:
                raise CannotFollow(f"`random.{name}`")
            return found
        if isinstance(value, ModuleValue):
            found = value.names.get(name)
            if found is None or isinstance(found, Poison):
                raise CannotFollow(f"`{value.name}.{name}`")
            return found
        if isinstance(value, Silent):
            return value
        if isinstance(value, ExceptionValue) and name == "args":
            return value.args
        if isinstance(value, TypeValue) and value.host is dict and name == "fromkeys":
            return HostFunction("dict.fromkeys", lambda ev, keys, item=None: dict.fromkeys(ev.items(keys), item))
        if type(value) in METHODS and name in METHODS[type(value)]:
            return NativeMethod(value, name)
        raise CannotFollow(f"`.{name}` of {describe(value)}")

    def has_attribute(self, value: Any, name: str) -> bool:
        """`hasattr(value, name)`."""
        if type(name) is not str or _hidden(name):
            raise CannotFollow("an attribute whose name is hidden or no text")
        if isinstance(value, Record):
            return name in value.fields
        if isinstance(value, Instance):
            self.read_index |= name == "index"
            return name in value.attributes or _finds(value.cls, name)
        return type(value) in METHODS and name in METHODS[type(value)]

    def _instance_attribute(self, value: Instance, name: str) -> Any:
        if name in value.attributes:
            self.read_index |= name == "index"
            return value.attributes[name]
        try:
            return self._bind(value.cls.find(name), value)
        except KeyError:
            raise CannotFollow(f"`.{name}` of the generator") from None

    def _class_attribute(self, value: ClassValue, name: str) -> Any:
        try:
            found = value.find(name)
        except KeyError:
            raise CannotFollow(f"`{value.name}.{name}`") from None
        if isinstance(found, Poison):
            raise found.stop()
        if isinstance(found, FunctionValue) and found.binding == "class":
            return BoundMethod(found, value)
        return found

    def _super_attribute(self, value: SuperValue, name: str) -> Any:
        try:
            return self._bind(value.owner.find_inherited(name), value.instance)
        except KeyError:
            raise CannotFollow(f"`super().{name}`") from None

    def _bind(self, found: Any, receiver: Any) -> Any:
        if isinstance(found, Poison):
            raise found.stop()
        if isinstance(found, HostFunction) and found.method:
            return BoundMethod(found, receiver)
        if not isinstance(found, FunctionValue) or found.binding == "static":
            return found
        if found.binding == "property":
            return self.call(found, [receiver])
        return BoundMethod(found, receiver.cls if found.binding == "class" else receiver)

    def set_attribute(self, value: Any, name: str, new: Any) -> None:
        """`value.name = new`."""
        if type(name) is not str or _hidden(name):
            raise CannotFollow("assigning an attribute whose name is hidden or no text")
        if isinstance(value, Record):
            value.fields[name] = new
        elif isinstance(value, Instance | ClassValue):
            value.attributes[name] = new
        elif not isinstance(value, Silent):
            raise CannotFollow(f"assigning `.{name}` of {describe(value)}")

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and scope.holder("super") is None:
            return self._super(node, scope)
        function = self.eval(node.func, scope)
        args = self._sequence(node, scope)
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value, scope)
            if keyword.arg is None:
                named.update(self._mapping(value))
            else:
                named[keyword.arg] = value
        self.at = node
        result = self.call(function, args, named)
        self.at = node
        return result

    def call(self, function: Any, args: list[Any], named: dict[str, Any] | None = None) -> Any:
        """Calls a function of the plugin or of the library."""
        named = named or {}
        if isinstance(function, BoundMethod):
            return self.call(function.function, [function.receiver, *args], named)
        if isinstance(function, FunctionValue):
            return self.call_function(function, args, named)
        if isinstance(function, HostFunction):
            return self.guard(function.call, self, *args, **named)
        if isinstance(function, NativeMethod):
            return self.guard(call_method, self, function.receiver, function.name, args, named)
        if isinstance(function, TypeValue):
            return self.guard(function.construct, self, *args, **named)
        if isinstance(function, RecordType):
            return self.guard(function.build, self, *args, **named)
        if isinstance(function, ClassValue):
            return self._instantiate(function, args, named)
        if isinstance(function, ExceptionType):
            return ExceptionValue(function.host, tuple(args))
        if isinstance(function, Silent):
            return function
        raise CannotFollow(f"a call of {describe(function)}")

    def call_function(self, function: FunctionValue, args: list[Any], named: dict[str, Any]) -> Any:
        raise NotImplementedError

    def make_function(self, node: Any, scope: Scope) -> FunctionValue:
        raise NotImplementedError

    def assign(self, target: ast.AST, value: Any, scope: Scope) -> None:
        raise NotImplementedError

    def register(self, _: Any, name: str = "", **__: Any) -> HostFunction:
        """`GENERATOR_REGISTRY.register(name)`, a decorator of classes."""

        def decorate(ev: Any, cls: Any) -> Any:
            if isinstance(cls, ClassValue):
                self.registered[name] = cls
            return cls

        return HostFunction("register", decorate)

    def _super(self, node: ast.Call, scope: Scope) -> SuperValue:
        holder: Scope | None = scope
        while holder is not None and (holder.function is None or holder.function.owner is None):
            holder = holder.parent
        if holder is None or holder.function is None or holder.function.owner is None:
            raise CannotFollow("`super()` outside a method")
        parameters = holder.function.node.args
        first = [*parameters.posonlyargs, *parameters.args][0].arg
        found = holder.holder(first)
        return SuperValue(holder.function.owner, found.names[first] if found else None)

    def _instantiate(self, cls: ClassValue, args: list[Any], named: dict[str, Any]) -> Any:
        if cls.exception is not None:
            return ExceptionValue(cls.exception, tuple(args), cls.name)
        instance = Instance(cls)
        if _finds(cls, "__init__"):
            self.call(self._bind(cls.find("__init__"), instance), args, named)
        return instance

    def guard(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Calls `function` of ours; what it raises for the plugin's values is an exception of the plugin."""
        try:
            return function(*args, **named)
        except (ArithmeticError, LookupError, TypeError, ValueError, StopIteration, AttributeError) as error:
            known = next((k for k in type(error).__mro__ if k.__name__ in BUILTINS), Exception)
            raise PluginRaise(ExceptionValue(known, (str(error)[:200],)), self.line) from None

    @property
    def line(self) -> int:
        return getattr(self.at, "lineno", 0)

    # -- what the library functions need -------------------------------------------------------------------------------

    def items(self, value: Any) -> list[Any]:
        """The items of an iterable as a list (the list itself, where it is one); sets in a fixed order."""
        kind = type(value)
        if kind is list:
            return value  # type: ignore[no-any-return]
        if kind in {set, frozenset}:
            measure(value)
            return sorted(value, key=lambda v: (type(v).__name__, repr(v)))
        if kind is _GENERATOR:
            return self._collect(value)
        if kind not in _ITERABLE:
            raise CannotFollow(f"iterating over {describe(value)}")
        self.budget.charge(len(value))
        return list(value)

    def iterate(self, value: Any) -> Any:
        """Something to loop over once, item by item; a generator and a range are not expanded."""
        return value if type(value) in {_GENERATOR, range, list} else self.items(value)

    def callback(self, function: Any) -> Callable[[Any], Any]:
        return lambda value: self.call(function, [value])

    def sort(self, values: list[Any], key: Any = None, reverse: Any = False) -> list[Any]:
        self.budget.charge(len(values))
        if key is None:
            for value in values:
                measure(value)
            return sorted(values, reverse=bool(reverse))
        return sorted(values, key=self.callback(key), reverse=bool(reverse))

    def add(self, left: Any, right: Any) -> Any:
        return binary(ast.Add, left, right, self.budget)

    def multiply(self, left: Any, right: Any) -> Any:
        return binary(ast.Mult, left, right, self.budget)

    def power(self, left: Any, right: Any) -> Any:
        return binary(ast.Pow, left, right, self.budget)


def _hidden(name: str) -> bool:
    """Whether Python itself gives the attribute its meaning (`__class__`); `__init__` is the only one followed."""
    return name.startswith("__") and name.endswith("__") and name != "__init__"


def _finds(cls: ClassValue, name: str) -> bool:
    try:
        cls.find(name)
    except KeyError:
        return False
    return True


def _place(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1


_NAMES = {
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
    return _NAMES.get(kind, f"{kind} syntax")
