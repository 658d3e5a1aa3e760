"""`with`, and functions that `yield`: what runs before and after a body that others determine."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator
from contextlib import ExitStack
from typing import Any

from opscan.pyread.definitions import Definitions, Return
from opscan.pyread.files import FileValue
from opscan.pyread.neighbours import told_from_outside
from opscan.pyread.operations import describe, truth
from opscan.pyread.scope import Scope
from opscan.pyread.stops import CannotFollow, PluginRaise
from opscan.pyread.values import ContextValue, FunctionValue, Instance, Silent, holds_yield

BREAK = object()
CONTINUE = object()

Exit = Callable[[PluginRaise | None], bool]
"""What happens behind the body of a `with`, given the exception that ended it: whether that one is swallowed."""
Flow = Generator[Any, None, Any]


class Suspending(Definitions):
    """`with` and `yield`. The statements of a function that yields are followed as its values are asked for."""

    def enter(self, manager: Any) -> tuple[Any, Exit]:
        """What `with manager as name` binds, and what happens behind the body."""
        if isinstance(manager, Silent | FileValue):
            return manager, lambda _: False
        if isinstance(manager, ContextValue):
            return next(manager.flow), lambda error: _leave(manager.flow, error)
        if isinstance(manager, Instance) and manager.cls.has("__enter__") and manager.cls.has("__exit__"):
            leave = self.bind(manager.cls.find("__exit__"), manager)

            def left(error: PluginRaise | None) -> bool:
                given = [None] * 3 if error is None else [self.type_of(error.value), error.value, None]
                return truth(self.call(leave, given)) and error is not None

            return self.call(self.bind(manager.cls.find("__enter__"), manager), []), left
        raise CannotFollow(f"`with` {describe(manager)}")

    def execute(self, node: ast.stmt, scope: Scope) -> Any:
        """Follows a statement; gives the signal that ended the statements around it early, else None."""
        raise NotImplementedError

    def catches(self, wanted: Any, value: Any) -> bool:
        """Whether a handler for `wanted` catches the exception `value`."""
        raise NotImplementedError

    def with_(self, node: ast.With, scope: Scope) -> Any:
        return _result(self._within(node, 0, scope, self._at_once))

    def _at_once(self, body: list[ast.stmt], scope: Scope) -> Flow:
        return self.run(body, scope)
        yield  # a flow that never suspends

    def _within(self, node: ast.With, place: int, scope: Scope, follow: Callable[..., Flow]) -> Flow:
        if place == len(node.items):
            return (yield from follow(node.body, scope))
        item = node.items[place]
        self.at = item.context_expr
        value, leave = self.enter(self.eval(item.context_expr, scope))
        if item.optional_vars is not None:
            self.assign(item.optional_vars, value, scope)
        try:
            signal = yield from self._within(node, place + 1, scope, follow)
        except PluginRaise as error:
            if leave(error):
                return None
            raise
        leave(None)
        return signal

    # -- functions that yield ------------------------------------------------------------------------------------------

    def suspended(self, function: FunctionValue, scope: Scope) -> Flow:
        """The values that a function yields, as they are asked for."""
        with ExitStack() as outside:
            if function.foreign:
                outside.enter_context(told_from_outside(self, function))
            yield from self.flow(function.node.body, scope)

    def flow(self, body: list[ast.stmt], scope: Scope) -> Flow:
        """`run` for statements of which some yield; returns the signal."""
        for node in body:
            if not holds_yield(node):
                signal = self.execute(node, scope)
            else:
                self.budget.left -= 1
                self.at = node
                known = _FLOWS.get(type(node))
                if known is None:
                    raise CannotFollow("`yield` in such a statement", node.lineno)
                signal = yield from known(self, node, scope)
            if signal is not None:
                return signal
        return None

    def _value(self, node: ast.AST | None, scope: Scope) -> Flow:
        """The value of an expression that is a `yield`, or holds none."""
        if isinstance(node, ast.Yield):
            yield None if node.value is None else self.eval(node.value, scope)
            return None
        if isinstance(node, ast.YieldFrom):
            yield from self.iterate(self.eval(node.value, scope))
            return None
        if node is not None and holds_yield(node):
            raise CannotFollow("`yield` inside an expression", getattr(node, "lineno", 0))
        return None if node is None else self.eval(node, scope)

    def _flow_expression(self, node: ast.Expr, scope: Scope) -> Flow:
        yield from self._value(node.value, scope)

    def _flow_assign(self, node: ast.Assign, scope: Scope) -> Flow:
        value = yield from self._value(node.value, scope)
        for target in node.targets:
            self.assign(target, value, scope)

    def _flow_return(self, node: ast.Return, scope: Scope) -> Flow:
        return Return((yield from self._value(node.value, scope)))

    def _flow_if(self, node: ast.If, scope: Scope) -> Flow:
        test = yield from self._value(node.test, scope)
        return (yield from self.flow(node.body if truth(test) else node.orelse, scope))

    def _flow_for(self, node: ast.For, scope: Scope) -> Flow:
        for value in self.iterate((yield from self._value(node.iter, scope))):
            self.assign(node.target, value, scope)
            signal = yield from self.flow(node.body, scope)
            if signal is BREAK:
                return None
            if signal is not None and signal is not CONTINUE:
                return signal
            self.budget.left -= 1
            if self.budget.left < 0:
                raise self.budget.exhausted()
        return (yield from self.flow(node.orelse, scope))

    def _flow_while(self, node: ast.While, scope: Scope) -> Flow:
        while truth((yield from self._value(node.test, scope))):
            signal = yield from self.flow(node.body, scope)
            if signal is BREAK:
                return None
            if signal is not None and signal is not CONTINUE:
                return signal
            self.budget.left -= 1
            if self.budget.left < 0:
                raise self.budget.exhausted()
        return (yield from self.flow(node.orelse, scope))

    def _flow_with(self, node: ast.With, scope: Scope) -> Flow:
        return (yield from self._within(node, 0, scope, self.flow))

    def _flow_try(self, node: ast.Try, scope: Scope) -> Flow:
        try:
            signal = yield from self._flow_tried(node, scope)
        except (PluginRaise, GeneratorExit):
            ending = yield from self.flow(node.finalbody, scope)
            if ending is not None:
                return ending
            raise
        ending = yield from self.flow(node.finalbody, scope)
        return signal if ending is None else ending

    def _flow_tried(self, node: ast.Try, scope: Scope) -> Flow:
        try:
            signal = yield from self.flow(node.body, scope)
        except PluginRaise as error:
            handler = self.handler(node, error, scope)
            if handler is None:
                raise
            return (yield from self.flow(handler.body, scope))
        return (yield from self.flow(node.orelse, scope)) if signal is None else signal

    def handler(self, node: ast.Try, error: PluginRaise, scope: Scope) -> ast.ExceptHandler | None:
        """The handler that catches an exception, its name bound; None where none does."""
        for handler in node.handlers:
            if handler.type is None or self.catches(self.eval(handler.type, scope), error.value):
                scope.names["<handled>"] = error.value
                if handler.name:
                    scope.bind(handler.name, error.value)
                return handler
        return None


_FLOWS: dict[type, Callable[..., Flow]] = {
    ast.Expr: Suspending._flow_expression,
    ast.Assign: Suspending._flow_assign,
    ast.Return: Suspending._flow_return,
    ast.If: Suspending._flow_if,
    ast.For: Suspending._flow_for,
    ast.While: Suspending._flow_while,
    ast.With: Suspending._flow_with,
    ast.Try: Suspending._flow_try,
}


def _result(flow: Flow) -> Any:
    """What a flow returns that never suspends."""
    try:
        next(flow)
    except StopIteration as ended:
        return ended.value
    raise CannotFollow("`yield` in such a place")


def _leave(flow: Any, error: PluginRaise | None) -> bool:
    """Run a context manager's function on behind its `yield`; whether it swallows the exception."""
    try:
        if error is None:
            next(flow)
        else:
            flow.throw(error)
    except StopIteration:
        return error is not None
    raise CannotFollow("a context manager that yields twice")
