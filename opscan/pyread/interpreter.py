"""Follows the statements of a plugin: assignments, conditions, loops, functions, classes, exceptions.

A statement of the module that cannot be followed does no harm until something it concerns is used: the names it
binds, and every container it may have changed half-way, are poisoned with its line and the construct.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opscan.pyread.definitions import Return
from opscan.pyread.effects import only_asks, only_tells, poison_names
from opscan.pyread.evaluator import construct_name
from opscan.pyread.files import Environment
from opscan.pyread.imports import module_that_may_miss, poison_alternatives
from opscan.pyread.modules import import_all, import_module, import_name
from opscan.pyread.operations import binary, describe, truth
from opscan.pyread.scope import Scope
from opscan.pyread.stops import CannotFollow, PluginRaise
from opscan.pyread.suspending import BREAK, CONTINUE, Suspending
from opscan.pyread.values import (
    VIEWS,
    ClassValue,
    DefaultDict,
    ExceptionType,
    ExceptionValue,
    Instance,
    ModuleValue,
    Poison,
    measure,
)

_IN_PLACE_OF_SETS: dict[type, str] = {
    ast.BitOr: "update",
    ast.Sub: "difference_update",
    ast.BitAnd: "intersection_update",
    ast.BitXor: "symmetric_difference_update",
}


class Interpreter(Suspending):
    """Statements. `run_module` follows a whole file and gives the scope of its names."""

    def lies(self, file: Path, folders: Sequence[Path] = ()) -> None:
        """Say where the plugin lies; modules that it imports are looked for beside it, then in `folders`."""
        self.file = os.path.abspath(file)
        self.search[:] = [os.path.dirname(self.file), *map(os.path.abspath, folders)]
        self.searched = frozenset(self.search)

    def run_module(self, tree: ast.Module) -> Scope:
        """Follows the top level of a plugin; never raises for what the plugin does there."""
        scope = Scope()
        scope.names["__name__"] = "plugin"
        if self.file:
            scope.names["__file__"] = self.file
        self.run_tolerantly(tree.body, scope)
        return scope

    def package(self, path: str) -> Any:
        """What `import a.b.c` binds to `a`, where that lies beside the plugin, with the modules below it loaded."""
        names = path.split(".")
        modules = [import_module(self, ".".join(names[: k + 1])) for k in range(len(names))]
        if not all(isinstance(module, ModuleValue) and module.file for module in modules):
            return None
        for above, name, module in zip(modules, names[1:], modules[1:], strict=False):
            above.names[name] = module
        return modules[0]

    def path_of(self, node: ast.ImportFrom, scope: Scope) -> str:
        """The module that `from ... import` names."""
        if not node.level:
            return node.module or ""
        from opscan.pyread.neighbours import absolute_name

        return absolute_name(node.level, node.module or "", scope)

    def neighbour(self, path: str) -> Any:
        """The module of that name that lies near the plugin, None where there is none."""
        from opscan.pyread.neighbours import neighbour

        return neighbour(self, path) if self.search else None

    def run_tolerantly(self, body: list[ast.stmt], scope: Scope) -> None:
        for statement in body:
            try:
                if isinstance(statement, ast.If) and truth(self.eval(statement.test, scope)):
                    self.run_tolerantly(statement.body, scope)
                elif isinstance(statement, ast.If):
                    self.run_tolerantly(statement.orelse, scope)
                elif isinstance(statement, ast.Try):
                    # What stands in `try` at this level are imports, which succeed where ATK runs.
                    self.run_tolerantly([*statement.body, *statement.orelse, *statement.finalbody], scope)
                    poison_alternatives(statement, scope)
                else:
                    self.execute(statement, scope)
            except CannotFollow as stop:
                poison_names(statement, scope, stop.construct, stop.line or self.line, stop.column)
            except PluginRaise as error:
                poison_names(statement, scope, f"an exception ({error.value!r})", error.line or self.line, 0)
            except RecursionError:
                poison_names(statement, scope, "deeply nested code", statement.lineno, 0)

    # -- statements ----------------------------------------------------------------------------------------------------

    def run(self, body: list[ast.stmt], scope: Scope) -> Any:
        """Executes statements; gives a signal (return, break, continue) that ended them early, else None."""
        for statement in body:
            signal = self.execute(statement, scope)
            if signal is not None:
                return signal
        return None

    def execute(self, node: ast.stmt, scope: Scope) -> Any:
        self.budget.left -= 1
        if self.budget.left < 0:
            raise self.budget.exhausted()
        handler = _STATEMENTS.get(type(node))
        if handler is None:
            raise CannotFollow(construct_name(node), node.lineno, node.col_offset + 1)
        self.at = node
        return handler(self, node, scope)

    def _expression(self, node: ast.Expr, scope: Scope) -> None:
        if not isinstance(node.value, ast.Constant):
            self.eval(node.value, scope)

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.eval(node.value, scope)
        for target in node.targets:
            self.assign(target, value, scope)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self.assign(node.target, self.eval(node.value, scope), scope)

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        if isinstance(node.target, ast.Name):
            old, store = self.look_up(node.target.id, scope), None
            if isinstance(old, Poison):
                raise old.stop()
        elif isinstance(node.target, ast.Attribute):
            store = self.eval(node.target.value, scope)
            old = self.attribute(store, node.target.attr)
        else:
            store, index = self.eval(node.target.value, scope), self.index(node.target.slice, scope)
            old = self.item(store, index)
        self.at = node
        new = self.in_place(type(node.op), old, self.eval(node.value, scope))
        if isinstance(node.target, ast.Name):
            scope.bind(node.target.id, new)
        elif isinstance(node.target, ast.Attribute):
            self.set_attribute(store, node.target.attr, new)
        else:
            self.guard(self.set_item, store, index, new)

    def in_place(self, kind: type[ast.operator], old: Any, value: Any) -> Any:
        """`old <operator>= value`, for what is changed itself and for what is not."""
        if type(old) is list and kind is ast.Add:
            added = list(self.items(value))
            self.budget.charge(len(old) + len(added))
            old.extend(added)
            return old
        if type(old) is list and kind is ast.Mult:
            old[:] = self.guard(binary, kind, old, value, self.budget)
            return old
        if type(old) is set and kind in _IN_PLACE_OF_SETS and type(value) in {set, frozenset, *VIEWS}:
            self.budget.charge(len(old) + len(value))
            getattr(old, _IN_PLACE_OF_SETS[kind])(value)
            return old
        if type(old) is dict and kind is ast.BitOr and type(value) is dict:
            self.budget.charge(len(old) + len(value))
            old.update(value)
            return old
        return self.guard(binary, kind, old, value, self.budget)

    def assign(self, target: ast.AST, value: Any, scope: Scope) -> None:
        """Binds a name, unpacks into several, or changes an attribute or an item."""
        if isinstance(target, ast.Name):
            scope.bind(target.id, value)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.eval(target.value, scope), target.attr, value)
        elif isinstance(target, ast.Subscript):
            container = self.eval(target.value, scope)
            self.guard(self.set_item, container, self.index(target.slice, scope), value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value, scope)
        else:
            raise CannotFollow(construct_name(target), self.line)

    def _unpack(self, targets: list[ast.expr], value: Any, scope: Scope) -> None:
        items = list(self.items(value))
        star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
        fits = len(items) == len(targets) if star is None else len(items) >= len(targets) - 1
        if not fits:
            message = f"{len(items)} values for {len(targets)} names"
            raise PluginRaise(ExceptionValue(ValueError, (message,)), self.line)
        if star is not None:
            end = len(items) - (len(targets) - star - 1)
            items[star:end] = [items[star:end]]
        for target, item in zip(targets, items, strict=True):
            self.assign(target.value if isinstance(target, ast.Starred) else target, item, scope)

    def set_item(self, container: Any, index: Any, value: Any) -> None:
        """`container[index] = value`, unguarded."""
        if type(container) is list and type(index) is slice:
            values = list(self.items(value))
            self.budget.charge(len(container) + len(values))
            container[index] = values
        elif type(container) in {list, dict, DefaultDict, Environment}:
            measure(index)
            container[index] = value
            self.budget.limit(len(container))
        else:
            raise TypeError("item assignment is not supported")

    def _delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                scope.names.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                container = self.eval(target.value, scope)
                self.guard(_delete_item, container, self.index(target.slice, scope))
            elif isinstance(target, ast.Attribute):
                self._delete_attribute(self.eval(target.value, scope), target.attr)
            else:
                raise CannotFollow(f"`del` of {construct_name(target)}", node.lineno)

    def _delete_attribute(self, value: Any, name: str) -> None:
        if not isinstance(value, Instance):
            raise CannotFollow(f"`del` of an attribute of {describe(value)}", self.line)
        if name not in value.attributes:
            raise PluginRaise(ExceptionValue(AttributeError, (name,)), self.line)
        del value.attributes[name]

    def _if(self, node: ast.If, scope: Scope) -> Any:
        try:
            holds = truth(self.eval(node.test, scope))
        except CannotFollow:
            if node.orelse or not only_asks(node.test) or not all(map(only_tells, node.body)):
                raise
            return None  # whether something is printed decides nothing
        return self.run(node.body if holds else node.orelse, scope)

    def _for(self, node: ast.For, scope: Scope) -> Any:
        for value in self.iterate(self.eval(node.iter, scope)):
            self.assign(node.target, value, scope)
            signal = self.run(node.body, scope)
            if signal is BREAK:
                return None
            if signal is not None and signal is not CONTINUE:
                return signal
            self.budget.left -= 1
            if self.budget.left < 0:
                raise self.budget.exhausted()
        return self.run(node.orelse, scope)

    def _while(self, node: ast.While, scope: Scope) -> Any:
        while truth(self.eval(node.test, scope)):
            signal = self.run(node.body, scope)
            if signal is BREAK:
                return None
            if signal is not None and signal is not CONTINUE:
                return signal
        return self.run(node.orelse, scope)

    def _match(self, node: ast.Match, scope: Scope) -> Any:
        from opscan.pyread.patterns import fits

        value = self.eval(node.subject, scope)
        for case in node.cases:
            if fits(self, case.pattern, value, scope) and (case.guard is None or truth(self.eval(case.guard, scope))):
                return self.run(case.body, scope)
        return None

    def _return(self, node: ast.Return, scope: Scope) -> Return:
        return Return(None if node.value is None else self.eval(node.value, scope))

    def _assert(self, node: ast.Assert, scope: Scope) -> None:
        if not truth(self.eval(node.test, scope)):
            raise PluginRaise(ExceptionValue(AssertionError), node.lineno)

    def _global(self, node: ast.Global, scope: Scope) -> None:
        scope.module_names.update(node.names)

    def _nonlocal(self, node: ast.Nonlocal, scope: Scope) -> None:
        scope.outer_names.update(node.names)

    def _import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            if alias.asname is None and "." in alias.name and alias.name != "numpy.random":
                head = alias.name.split(".")[0]
                scope.bind(head, self.package(alias.name) or Poison(f"module {alias.name}", node.lineno))
            else:
                module = import_module(self, alias.name if alias.asname else alias.name.split(".")[0])
                scope.bind(alias.asname or alias.name.split(".")[0], module)

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        path = self.path_of(node, scope)
        for alias in node.names:
            if alias.name == "*":
                for name, value in import_all(self, path).items():
                    scope.bind(name, value)
                continue
            scope.bind(alias.asname or alias.name, import_name(self, path, alias.name))

    # -- exceptions ----------------------------------------------------------------------------------------------------

    def _raise(self, node: ast.Raise, scope: Scope) -> None:
        if node.exc is None:
            holder = scope.holder("<handled>")
            raise PluginRaise(holder.names["<handled>"] if holder else ExceptionValue(RuntimeError), node.lineno)
        value = self.eval(node.exc, scope)
        if isinstance(value, ExceptionType | ClassValue):
            value = self.call(value, [])
        if not isinstance(value, ExceptionValue):
            raise CannotFollow("`raise` of something that is no exception", node.lineno)
        raise PluginRaise(value, node.lineno)

    def _try(self, node: ast.Try, scope: Scope) -> Any:
        try:
            signal = self._try_body(node, scope)
        except PluginRaise:
            ending = self.run(node.finalbody, scope)
            if ending is not None:
                return ending
            raise
        ending = self.run(node.finalbody, scope)
        return signal if ending is None else ending

    def _try_body(self, node: ast.Try, scope: Scope) -> Any:
        missing = module_that_may_miss(node)
        if missing:
            raise CannotFollow(f"a condition on whether `{missing}` is installed", node.lineno)
        try:
            signal = self.run(node.body, scope)
        except PluginRaise as error:
            handler = self.handler(node, error, scope)
            if handler is None:
                raise
            return self.run(handler.body, scope)
        return self.run(node.orelse, scope) if signal is None else signal

    def catches(self, wanted: Any, value: ExceptionValue) -> bool:
        if type(wanted) is tuple:
            return any(self.catches(w, value) for w in wanted)
        if isinstance(wanted, ClassValue) and wanted.exception is not None:
            return value.cls is not None and value.cls.derives_from(wanted)
        if not isinstance(wanted, ExceptionType):
            raise CannotFollow("`except` with that class")
        return issubclass(value.kind, wanted.host)


_STATEMENTS: dict[type, Any] = {
    ast.Expr: Interpreter._expression,
    ast.Assign: Interpreter._assign,
    ast.AnnAssign: Interpreter._annotated,
    ast.AugAssign: Interpreter._augmented,
    ast.Delete: Interpreter._delete,
    ast.If: Interpreter._if,
    ast.For: Interpreter._for,
    ast.While: Interpreter._while,
    ast.Return: Interpreter._return,
    ast.Break: lambda *_: BREAK,
    ast.Continue: lambda *_: CONTINUE,
    ast.Pass: lambda *_: None,
    ast.Assert: Interpreter._assert,
    ast.Global: Interpreter._global,
    ast.Nonlocal: Interpreter._nonlocal,
    ast.Import: Interpreter._import,
    ast.ImportFrom: Interpreter._import_from,
    ast.Raise: Interpreter._raise,
    ast.Try: Interpreter._try,
    ast.With: Interpreter.with_,
    ast.Match: Interpreter._match,
    ast.FunctionDef: Interpreter.define_function,
    ast.ClassDef: Interpreter.define_class,
}


def _delete_item(container: Any, index: Any) -> None:
    if type(container) not in {list, dict, DefaultDict}:
        raise TypeError("item deletion is not supported")
    del container[index]
