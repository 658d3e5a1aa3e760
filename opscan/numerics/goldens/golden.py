"""Goldens as operators: a formula of the catalog, or the CPU golden of an executor plugin, followed in its syntax tree.

The result of a call is what the golden computes, with torch's operators called on the given tensors one by one.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from opscan.model import Case, Plugin
from opscan.numerics.binding import NOT_A_PARAMETER
from opscan.numerics.goldens.atk import ACLNN_API, input_record, task_record
from opscan.numerics.goldens.interpreter import GoldenInterpreter
from opscan.numerics.goldens.limits import Watch, current_tracer, preparing
from opscan.numerics.goldens.numbers import Number
from opscan.numerics.goldens.tensors import is_returned, is_tensor
from opscan.numerics.goldens.torch_values import Namespace
from opscan.numerics.operators import NotFollowed, Operator
from opscan.numerics.tracer import Tracer
from opscan.pyread.modules import import_module
from opscan.pyread.operations import describe
from opscan.pyread.scope import Scope
from opscan.pyread.stops import CannotFollow, PluginRaise
from opscan.pyread.values import ClassValue, Poison


@dataclass
class Look:
    """Whether the last run of a golden read a value of an input: what it did then holds for such values."""

    looked: bool = False


@dataclass(frozen=True, slots=True)
class Golden(Operator):
    """An operator whose `call` follows code. It raises NotFollowed, with the place, where that leaves the subset."""

    look: Look = field(default_factory=Look)

    @property
    def looked(self) -> bool:
        return self.look.looked


def formula(text: str, parameters: Sequence[str], *, name: str = "formula") -> Golden:
    """The operator that a formula of the catalog describes: an expression, or statements that return.

    In scope: the parameters (`x`, or `eps=1e-6` with a default; an argument that is not passed is None), `torch`, `F`,
    `nn`, `math`, and the built-in functions of the subset. Raises ValueError, with the line, for what is no Python.
    """
    function = _parse(text, parameters, name)

    def follow(ev: GoldenInterpreter, args: list[Any], kwargs: dict[str, Any]) -> Any:
        scope = Scope()
        scope.names.update(
            torch=Namespace("torch"), F=Namespace("torch.nn.functional"), nn=Namespace("torch.nn"),
            math=import_module(ev, "math"),
        )  # fmt: skip
        made = ev.make_function(function, scope)
        names = [argument.arg for argument in function.args.args]
        defaults = len(names) - len(made.defaults)
        missing = {key: None for key in names[len(args) : defaults] if key not in kwargs}
        return ev.call(made, args, {**missing, **kwargs})

    plain = tuple(argument.arg for argument in function.args.args)
    return _golden(name, name, plain, GoldenInterpreter, follow)


def _parse(text: str, parameters: Sequence[str], name: str) -> ast.FunctionDef:
    text = textwrap.dedent(text).strip("\n")
    try:
        header = ast.parse(f"def golden({', '.join(parameters)}): pass").body[0]
        body = ast.parse(text).body
    except SyntaxError as problem:
        raise ValueError(f"{name}:{problem.lineno}:{problem.offset}: not Python: {problem.msg}") from None
    if not isinstance(header, ast.FunctionDef) or not body:
        raise ValueError(f"{name}: the formula is empty, or its parameters are none")
    if len(body) == 1 and isinstance(body[0], ast.Expr):
        body = [ast.copy_location(ast.Return(body[0].value), body[0])]
    header.body = body
    return header


def golden_of(plugin: Plugin, name: str, case: Case | None = None) -> Golden | str:
    """The golden that the executor `name` of `plugin` computes on the CPU, or why there is none, with the place.

    Each call follows the file anew, so that nothing is carried from one case to the next. `case` gives the name that
    `self.api_name` has, what `self.output` is, and whether the first argument is the receiver of a method.
    """
    path = plugin.source.path.as_posix()
    if name not in plugin.executors:
        return f"{path} registers no executor `{name}`"
    try:
        tree = _tree(plugin.source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        return f"{path}:{getattr(problem, 'lineno', None) or 1}: not Python: {getattr(problem, 'msg', problem)}"
    api_name = case.name if case else None
    outputs = case.outputs if case else None
    method = case is not None and case.tensor_input is not None
    inputs = case.inputs if case else ()
    extra = frozenset(given.name or "" for given in inputs if given.dtype == NOT_A_PARAMETER)

    def follow(ev: GoldenInterpreter, args: list[Any], kwargs: dict[str, Any]) -> Any:
        scope = ev.run_module(tree)
        cls = ev.registered.get(name)
        if not isinstance(cls, ClassValue):
            raise _missing(tree, scope, name)
        if cls.derives_from(ACLNN_API):
            raise CannotFollow(f"executor `{name}`, which runs a kernel of the device,")
        instance = ev.call(cls, [task_record(api_name, outputs)])
        data = input_record(args, kwargs, method=method, backward=case is not None and case.backward, extra=extra)
        given = list(data.fields["args"]), dict(data.fields["kwargs"])
        with preparing():
            ev.call(ev.attribute(instance, "init_by_input_data"), [data])
        _take_replaced(given, data.fields["args"], data.fields["kwargs"], current_tracer())
        function = instance.cls.find("__call__")
        if function is None:
            raise CannotFollow(f"executor `{name}` without `__call__`")
        return ev.call(ev.bind(function, instance), [data], {"with_output": True})

    def prepare() -> GoldenInterpreter:
        return GoldenInterpreter(api_name, plugin.source.path)

    return _golden(f"the golden in {path}", path, (), prepare, follow)


@lru_cache(maxsize=64)
def _tree(text: str) -> ast.Module:
    """A plugin's syntax tree, from its text: a tree is too large to be handed from process to process."""
    return ast.parse(text)


def _golden(
    name: str,
    path: str,
    parameters: tuple[str, ...],
    prepare: Callable[[], GoldenInterpreter],
    follow: Callable[[GoldenInterpreter, list[Any], dict[str, Any]], Any],
) -> Golden:
    look = Look()

    def call(*args: Any, **kwargs: Any) -> Any:
        ev = prepare()
        watch = Watch()
        try:
            with watch:
                result = _compared(follow(ev, list(args), dict(kwargs)))
            if ev.patched:
                raise CannotFollow(ev.patched)
            if ev.drew:
                raise CannotFollow("a random number that Python draws")
        except CannotFollow as stop:
            place = f"{path}:{stop.line or ev.line}"
            raise NotFollowed(f"{place}: {stop.construct} cannot be followed") from None
        except PluginRaise as error:
            raise ValueError(f"{path}:{error.line or ev.line}: {error.value!r}") from None
        except RecursionError:
            raise NotFollowed(f"{path}:{ev.line}: deeply nested code cannot be followed") from None
        finally:
            look.looked = watch.looked
        return result

    return Golden(name, call, parameters, counts=True, look=look)


def _compared(value: Any) -> Any:
    """The tensors of a result in ATK's order; a dict gives its values."""
    if is_tensor(value) or value is None or type(value) in (bool, int, float):
        return value
    if isinstance(value, Number):
        return None  # no tensor that could be compared
    if type(value) in (list, tuple) or is_returned(value):
        return tuple(_compared(item) for item in value)
    if type(value) is dict:
        return tuple(_compared(item) for item in value.values())
    raise CannotFollow(f"returning {describe(value)}")


def _take_replaced(
    given: tuple[list[Any], dict[str, Any]], args: list[Any], kwargs: dict[str, Any], tracer: Tracer | None
) -> None:
    """A tensor that the executor puts in the place of an input is that input from then on, its gradient as well."""
    pairs: list[tuple[Any, Any]] = [(given[0], args), (given[1], kwargs)]
    for before, after in pairs:
        places: Any = range(min(len(before), len(after))) if after is args else [n for n in before if n in after]
        for place in places:
            old, new = before[place], after[place]
            replaced = new is not old and is_tensor(old) and is_tensor(new) and old.requires_grad
            if replaced and tracer is not None and (new.is_floating_point() or new.is_complex()):
                after[place] = new.detach().requires_grad_()
                tracer.replace(old, after[place])


def _missing(tree: ast.Module, scope: Scope, name: str) -> CannotFollow:
    """Why there is no class under the registered name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            words = [c.value for d in node.decorator_list for c in ast.walk(d) if isinstance(c, ast.Constant)]
            found = scope.names.get(node.name)
            if name in words and isinstance(found, Poison):
                return found.stop()
            if name in words:
                return CannotFollow(f"class `{node.name}`", node.lineno)
    return CannotFollow(f"the registration of executor `{name}`")


__all__ = ["Golden", "formula", "golden_of"]
