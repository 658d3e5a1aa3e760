"""Functions and classes of a plugin: how they come about, and how a function is called."""

from __future__ import annotations

import ast
from typing import Any

from opscan.pyread.classes import annotated_names, finish_class
from opscan.pyread.evaluator import Evaluator
from opscan.pyread.scope import Scope
from opscan.pyread.stops import MAX_DEPTH, CannotFollow, PluginRaise
from opscan.pyread.values import HINT, ClassValue, ExceptionType, ExceptionValue, FunctionValue, Silent

_UNSPECIAL = frozenset(
    {
        *("__init__", "__call__", "__post_init__", "__enter__", "__exit__", "__str__", "__repr__"),
        *("__doc__", "__slots__", "__all__"),
    }
)
_BINDINGS = {"staticmethod": "static", "classmethod": "class", "property": "property"}


class Return:
    """The signal that a `return` has ended a function's statements."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Definitions(Evaluator):
    """`def`, `lambda`, `class`, and calls of what they define."""

    depth = 0

    def run(self, body: list[ast.stmt], scope: Scope) -> Any:
        """Executes statements; gives a signal (return, break, continue) that ended them early, else None."""
        raise NotImplementedError

    def run_tolerantly(self, body: list[ast.stmt], scope: Scope) -> None:
        """Executes statements; one that cannot be followed poisons what it concerns instead of stopping."""
        raise NotImplementedError

    def suspended(self, function: FunctionValue, scope: Scope) -> Any:
        """The values that a function yields, as they are asked for."""
        raise NotImplementedError

    def make_function(self, node: Any, scope: Scope) -> FunctionValue:
        parameters = node.args
        return FunctionValue(
            node,
            scope,
            "<file>" in scope.module.names,
            [self.eval(d, scope) for d in parameters.defaults],
            {
                a.arg: self.eval(d, scope)
                for a, d in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
                if d is not None
            },
        )

    def define_function(self, node: ast.FunctionDef, scope: Scope) -> None:
        value: Any = self.make_function(node, scope)
        for decorator in reversed(node.decorator_list):
            name = decorator.id if isinstance(decorator, ast.Name) else ""
            binding = _BINDINGS.get(name)
            if binding and isinstance(value, FunctionValue):
                value.binding = binding
            else:
                value = self.call(self.eval(decorator, scope), [value])
        scope.bind(node.name, value)

    def define_class(self, node: ast.ClassDef, scope: Scope) -> None:
        bases = [base for base in (self.eval(base, scope) for base in node.bases) if not _is_abstract(base)]
        odd = any(keyword.arg != "metaclass" for keyword in node.keywords)
        if odd or not all(isinstance(b, ClassValue | ExceptionType) for b in bases):
            raise CannotFollow(f"the base of class `{node.name}`", node.lineno, node.col_offset + 1)
        host = next((b.host for b in bases if isinstance(b, ExceptionType)), None)
        inherited = next((b.exception for b in bases if isinstance(b, ClassValue) and b.exception), None)
        kept = tuple(b for b in bases if isinstance(b, ClassValue))
        cls = ClassValue(node.name, kept, exception=host or inherited)
        inner = Scope(scope)
        self.run_tolerantly(node.body, inner)
        for value in inner.names.values():
            if isinstance(value, FunctionValue) and value.scope is inner:
                value.owner, value.scope = cls, scope
        cls.attributes.update(inner.names)
        finish_class(cls, annotated_names(node.body))
        special = next((name for name in inner.names if _is_special(name)), None)
        if special is not None:
            raise CannotFollow(f"`{special}` of class `{node.name}`", node.lineno, node.col_offset + 1)
        result: Any = cls
        for decorator in reversed(node.decorator_list):
            result = self.call(self.eval(decorator, scope), [result])
        scope.bind(node.name, result)

    def call_function(self, function: FunctionValue, args: list[Any], named: dict[str, Any]) -> Any:
        if self.depth >= MAX_DEPTH:
            raise CannotFollow(f"more than {MAX_DEPTH} nested calls", self.line)
        if function.foreign:
            return self._call_foreign(function, args, named)
        return self._run_function(function, args, named)

    def _call_foreign(self, function: FunctionValue, args: list[Any], named: dict[str, Any]) -> Any:
        from opscan.pyread.neighbours import told_from_outside

        with told_from_outside(self, function):
            return self._run_function(function, args, named)

    def _run_function(self, function: FunctionValue, args: list[Any], named: dict[str, Any]) -> Any:
        scope = Scope(function.scope, function)
        self._bind_arguments(function, args, named, scope)
        self.depth += 1
        try:
            if function.suspends:
                return self.suspended(function, scope)
            if isinstance(function.node, ast.Lambda):
                return self.eval(function.node.body, scope)
            signal = self.run(function.node.body, scope)
        finally:
            self.depth -= 1
        return signal.value if isinstance(signal, Return) else None

    def _bind_arguments(self, function: FunctionValue, args: list[Any], named: dict[str, Any], scope: Scope) -> None:
        parameters = function.node.args
        names = function.names
        more = named or parameters.vararg or parameters.kwarg or parameters.kwonlyargs
        if len(args) == len(names) and not more:
            scope.names.update(zip(names, args, strict=True))
            return
        values = dict(zip(names[len(names) - len(function.defaults) :], function.defaults, strict=True))
        values.update(function.kw_defaults)
        values.update(zip(names, args, strict=False))
        rest = {k: v for k, v in named.items() if k not in {*names, *(a.arg for a in parameters.kwonlyargs)}}
        values.update((k, v) for k, v in named.items() if k not in rest)
        if parameters.vararg is not None:
            values[parameters.vararg.arg] = tuple(args[len(names) :])
        if parameters.kwarg is not None:
            values[parameters.kwarg.arg] = rest
        missing = [n for n in (*names, *(a.arg for a in parameters.kwonlyargs)) if n not in values]
        twice = any(name in named for name in names[: len(args)])
        surplus = twice or (parameters.vararg is None and len(args) > len(names)) or (parameters.kwarg is None and rest)
        if missing or surplus:
            raise PluginRaise(ExceptionValue(TypeError, (f"wrong arguments for {function.name}()",)), self.line)
        scope.names.update(values)


def _is_abstract(base: Any) -> bool:
    """Whether a base class says nothing but that methods are to be overridden: `abc.ABC`, `typing.Protocol`."""
    return isinstance(base, Silent) and base.what == HINT


def _is_special(name: str) -> bool:
    """Whether a class gives an operator of Python a meaning of its own (`__eq__`, `__len__`), which is not followed."""
    return name.startswith("__") and name.endswith("__") and name not in _UNSPECIAL
