"""Follows the code of a golden: the Python subset of generator plugins, with tensors, torch and `with` added.

Nothing of the golden is compiled, executed or imported; torch's operators are called on its tensors one by one.
"""

from __future__ import annotations

import ast
import random
from pathlib import Path
from typing import Any

from opscan.numerics.goldens import numbers
from opscan.numerics.goldens.imports import BUILTINS, bind_import, bind_import_from
from opscan.numerics.goldens.limits import guarding
from opscan.numerics.goldens.numbers import Number, holds_numbers, is_number, plain_number
from opscan.numerics.goldens.tensors import BINARY, COMPARE, IN_PLACE, UNARY, is_returned, is_tensor, tensor_attribute
from opscan.numerics.goldens.torch_calls import call_torch, set_tensor_attribute, torch_value_attribute
from opscan.numerics.goldens.torch_values import (
    GradMode,
    Module,
    ModuleType,
    Namespace,
    TensorMethod,
    TensorType,
    TorchFunction,
)
from opscan.numerics.running import needs_data
from opscan.pyread.interpreter import Interpreter
from opscan.pyread.operations import describe, truth
from opscan.pyread.scope import Scope
from opscan.pyread.stops import CannotFollow
from opscan.pyread.suspending import Exit
from opscan.pyread.values import FunctionValue, HostFunction, Instance, SuperValue, TypeValue

_CALLABLE = (TorchFunction, TensorMethod, ModuleType, Module, TensorType)
MAX_ROWS = 4096
"""Rows of a tensor that a loop runs over."""
OWN_STEPS = 20_000
"""Steps that a golden is granted, its module included; each call of torch costs more than a step."""


class GoldenInterpreter(Interpreter):
    """An Interpreter whose values may be tensors. `api_name`: the operator that `eval(self.api_name)` means."""

    def __init__(self, api_name: str | None = None, file: Path | None = None) -> None:
        super().__init__(random.Random(0))
        if file is not None:
            self.lies(file)
        self._caught = 0
        """How many `try` around the statement at hand have handlers."""
        self.budget.grant(OWN_STEPS)
        self.api_name = api_name
        self.patched = ""
        """What of torch the code replaces, if it does: then nothing that follows is what it seems."""
        self._expressions[ast.Constant] = self._any_constant

    def _any_constant(self, node: ast.Constant, scope: Scope) -> Any:
        return ... if node.value is ... else self._constant(node, scope)

    def look_up(self, name: str, scope: Scope) -> Any:
        if name in BUILTINS and scope.holder(name) is None:
            return BUILTINS[name]
        return super().look_up(name, scope)

    # -- attributes and calls ------------------------------------------------------------------------------------------

    def attribute(self, value: Any, name: str) -> Any:
        if name == "__call__" and isinstance(value, SuperValue):
            return self._of_super(value, name)
        if name.startswith("__"):
            return super().attribute(value, name)
        if is_tensor(value):
            return tensor_attribute(value, name)
        if is_returned(value) and name in getattr(type(value), "__match_args__", ()):
            return getattr(value, name)
        if name.startswith("set_default_") and isinstance(value, Namespace):
            self.patched = self.patched or f"`{value.name}.{name}`"
        found = torch_value_attribute(value, name)
        return super().attribute(value, name) if found is None else found[0]

    def has_attribute(self, value: Any, name: str) -> bool:
        if type(name) is str and not name.startswith("__") and (is_tensor(value) or is_returned(value)):
            try:
                self.attribute(value, name)
            except CannotFollow:
                raise CannotFollow(f"`hasattr` of {describe(value)}") from None
            return True
        return super().has_attribute(value, name)

    def set_attribute(self, value: Any, name: str, new: Any) -> None:
        if is_tensor(value):
            set_tensor_attribute(value, name, new)
            return
        if torch_value_attribute(value, "shape", probe=True) is not None:
            self.patched = self.patched or f"`.{name} =` on a part of torch"
        super().set_attribute(value, name, new)

    def call(self, function: Any, args: list[Any], named: dict[str, Any] | None = None) -> Any:
        if isinstance(function, _CALLABLE):
            return call_torch(self, function, args, named or {})
        if isinstance(function, HostFunction | TypeValue) and holds_numbers([*args, *(named or {}).values()]):
            return self.guard(numbers.call, self, function, args, named or {})
        if isinstance(function, GradMode):
            return self._under(function, args)
        if isinstance(function, Instance) and function.cls.has("__call__"):
            return self.call(self.bind(function.cls.find("__call__"), function), args, named)
        if isinstance(function, TypeValue) and len(args) == 1 and is_tensor(args[0]):
            if function.host in (bool, int, float):
                return self.guard(numbers.converted, function.host, args[0])
            return self.guard(function.construct, self, args[0])
        return super().call(function, args, named)

    def call_plain(self, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """A function of Python, on values that it can take."""
        return super().call(function, args, named)

    def call_torch(self, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        return call_torch(self, function, args, named)

    def type_of(self, value: Any) -> Any:
        return numbers.type_of(value) if isinstance(value, Number) else super().type_of(value)

    def _under(self, mode: GradMode, args: list[Any]) -> HostFunction:
        """`@torch.no_grad()`: the decorated function, which then runs in that mode."""
        import torch

        if len(args) != 1 or not isinstance(args[0], FunctionValue):
            raise CannotFollow("a call of `torch.no_grad()`")

        def call(ev: GoldenInterpreter, *values: Any, **named: Any) -> Any:
            with torch.set_grad_enabled(mode.enabled):
                return ev.call(args[0], list(values), named)

        return HostFunction(args[0].name, call, method=True)

    # -- operators -----------------------------------------------------------------------------------------------------

    def operate(self, kind: type[ast.AST], left: Any, right: Any) -> Any:
        if is_tensor(left) or is_tensor(right):
            return call_torch(self, BINARY[kind], [left, right], {})
        if isinstance(left, Number) or isinstance(right, Number):
            if is_number(left) and is_number(right):
                return numbers.operate(self, kind, BINARY[kind], left, right)
            left, right = plain_number(left), plain_number(right)
        return super().operate(kind, left, right)

    def sign(self, kind: type[ast.AST], value: Any) -> Any:
        if isinstance(value, Number):
            return Number(call_torch(self, UNARY[kind], [value.tensor], {}))
        return call_torch(self, UNARY[kind], [value], {}) if is_tensor(value) else super().sign(kind, value)

    def compared(self, kind: type[ast.AST], left: Any, right: Any) -> Any:
        if not is_tensor(left) and not is_tensor(right):
            if kind in (ast.In, ast.NotIn) and type(right) in (list, tuple) and any(map(is_tensor, right)):
                raise CannotFollow("`in` on a list of tensors")
            if isinstance(left, Number) or isinstance(right, Number):
                return self._compared_number(kind, left, right)
            return super().compared(kind, left, right)
        if kind in COMPARE:
            return call_torch(self, COMPARE[kind], [left, right], {})
        if kind in (ast.In, ast.NotIn):
            if type(right) is dict:
                return super().compared(kind, left, right)
            raise CannotFollow("`in` with a tensor")
        return (left is right) == (kind is ast.Is)

    def _compared_number(self, kind: type[ast.AST], left: Any, right: Any) -> Any:
        if kind in (ast.Is, ast.IsNot):
            return (left is right) == (kind is ast.Is)
        if kind in COMPARE and is_number(left) and is_number(right):
            return numbers.compare(self, COMPARE[kind], left, right)
        return super().compared(kind, plain_number(left), plain_number(right))

    def in_place(self, kind: type[ast.operator], old: Any, value: Any) -> Any:
        if is_tensor(old):
            return call_torch(self, IN_PLACE[kind], [old, value], {})
        if is_tensor(value) or isinstance(old, Number) or isinstance(value, Number):
            return self.operate(kind, old, value)
        return super().in_place(kind, old, value)

    def item(self, container: Any, index: Any) -> Any:
        index = _read_index(index)
        if is_tensor(container):
            return call_torch(self, _get_item, [container, index], {})
        if is_returned(container):
            return self.guard(tuple.__getitem__, container, index)
        return super().item(container, index)

    def set_item(self, container: Any, index: Any, value: Any) -> None:
        index = _read_index(index)
        if is_tensor(container):
            call_torch(self, _set_item, [container, index, value], {})
        else:
            super().set_item(container, index, value)

    def index(self, node: ast.AST, scope: Scope) -> Any:
        if isinstance(node, ast.Tuple) and any(isinstance(part, ast.Slice) for part in node.elts):
            return tuple(self.index(part, scope) for part in node.elts)
        return super().index(node, scope)

    def items(self, value: Any) -> list[Any]:
        if is_returned(value):
            return list(value)
        if is_tensor(value):
            if value.dim() and value.shape[0] > MAX_ROWS:
                raise CannotFollow(f"a loop over more than {MAX_ROWS} rows of a tensor")
            return list(call_torch(self, _rows, [value], {}))
        return super().items(value)

    # -- statements ----------------------------------------------------------------------------------------------------

    def execute(self, node: ast.stmt, scope: Scope) -> Any:
        if isinstance(node, ast.Import):
            return bind_import(self, node, scope)
        if isinstance(node, ast.ImportFrom):
            return bind_import_from(self, node, scope)
        if isinstance(node, ast.Try):
            return self._catching(node, scope)
        if not self._caught and (test := guard_of(node)) is not None:
            self.at = node
            return super().execute(node, scope) if self._fails(test, scope) else None
        return super().execute(node, scope)

    def _catching(self, node: ast.Try, scope: Scope) -> Any:
        self._caught += bool(node.handlers)
        try:
            return super().execute(node, scope)
        finally:
            self._caught -= bool(node.handlers)

    def _fails(self, test: ast.expr, scope: Scope) -> bool:
        """Whether a guard raises whatever the values are: where it goes by these, only cases that pass are compared."""
        with guarding() as watch:
            try:
                passes = truth(self.eval(test, scope))
            except Exception as problem:
                if needs_data(problem):
                    return False
                raise
        return not passes and not watch.read

    def enter(self, manager: Any) -> tuple[Any, Exit]:
        if not isinstance(manager, GradMode):
            return super().enter(manager)
        import torch

        mode = torch.set_grad_enabled(manager.enabled)
        return manager, lambda _: bool(mode.__exit__(None, None, None))


def guard_of(node: ast.stmt) -> ast.expr | None:
    """What must hold for the golden not to raise, where that is all that a statement does with it."""
    if isinstance(node, ast.Assert):
        test: ast.expr = node.test
    elif isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ast.Raise):
        if not all(isinstance(one, ast.Expr) for one in node.body[:-1]):
            return None
        test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
    else:
        return None
    return None if any(isinstance(part, ast.NamedExpr) for part in ast.walk(test)) else test


def _read_index(index: Any) -> Any:
    """An index with the values of the Numbers in it: which element is meant, Python must know."""
    if type(index) is tuple:
        return tuple(map(_read_index, index))
    if type(index) is slice:
        return slice(plain_number(index.start), plain_number(index.stop), plain_number(index.step))
    return plain_number(index)


def _get_item(container: Any, index: Any) -> Any:
    return container[index]


def _set_item(container: Any, index: Any, value: Any) -> None:
    container[index] = value


def _rows(tensor: Any) -> Any:
    return tensor.unbind(0)
