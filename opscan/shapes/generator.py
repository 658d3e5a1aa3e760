"""Passes drawn cases through the hooks of a generator plugin, by following its syntax tree."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from opscan.dataclass import dataclass
from opscan.model import Case, Plugin, Spec
from opscan.shapes.interpreter import Interpreter
from opscan.shapes.machine import ERRORS
from opscan.shapes.operations import describe
from opscan.shapes.records import case_record, design_record, frozen_case
from opscan.shapes.scope import Scope
from opscan.shapes.stops import STEPS_IN_ALL, STEPS_PER_DRAW, CannotFollow, PluginRaise
from opscan.shapes.values import ClassValue, FunctionValue, Instance, Poison, Record

_MODULE_STEPS = 2 * STEPS_PER_DRAW


@dataclass(frozen=True, slots=True)
class Followed:
    """What the hooks made of the drawn cases. `random`: the plugin draws numbers itself; `dropped`: the cases for which
    it raises an exception, the first of which `raised` describes with its line."""

    cases: tuple[Case, ...]
    random: bool
    dropped: int = 0
    raised: str = ""
    unfinished: int = 0
    """Cases left out because the plugin takes too many steps."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a plugin cannot be followed, with the place in its file (line 0: no single place)."""

    reason: str
    line: int = 0
    column: int = 0


class Generator:
    """One generator class of a plugin, ready to be run on cases. Raises CannotFollow where there is none to follow."""

    def __init__(self, plugin: Plugin, spec: Spec, seed: int) -> None:
        self.interpreter = Interpreter(random.Random(seed))
        self.interpreter.budget.grant(_MODULE_STEPS)
        scope = self.interpreter.run_module(plugin.tree)
        cls = self.interpreter.registered.get(spec.generate, scope.names.get(spec.generate))
        if not isinstance(cls, ClassValue):
            raise _missing(plugin.tree, scope, spec.generate)
        self.instance = self._create(cls, spec)
        self.index_used = _mentions_index(plugin.tree)

    def _create(self, cls: ClassValue, spec: Spec) -> Instance:
        for name in ("generate", "__new__", "__getattribute__", "__getattr__"):
            override = cls.find(name)
            if override is not None:
                line = override.node.lineno if isinstance(override, FunctionValue) else 0
                raise CannotFollow(f"`{name}()`, which replaces ATK's own,", line)
        self.interpreter.budget.grant(STEPS_PER_DRAW)
        try:
            instance = self.interpreter.call(cls, [design_record(spec)])
        except PluginRaise as error:
            raise CannotFollow(f"an exception ({error.value!r}) in the constructor", error.line) from None
        if not isinstance(instance, Instance):
            raise CannotFollow(f"the class of generator `{spec.generate}`")
        instance.attributes.setdefault("index", 0)
        return instance

    def count_cases(self, default: int) -> int:
        """How many cases ATK generates: what `_get_case_numbers` or `self.length` say, where they say it plainly."""
        counter = self.instance.cls.find("_get_case_numbers")
        if isinstance(counter, FunctionValue):
            self.interpreter.budget.grant(STEPS_PER_DRAW)
            try:
                counted = self.interpreter.call(counter, [self.instance])
            except (CannotFollow, PluginRaise):
                return default
            return counted if type(counted) is int and counted > 0 else default
        length = self.instance.attributes.get("length")
        return length if type(length) is int and length > 0 else default

    def run(self, drawn: Case, index: int) -> Case:
        """The case after both hooks, as the case with that index (from 0). Raises CannotFollow and PluginRaise."""
        self.interpreter.budget.grant(STEPS_PER_DRAW)
        record = case_record(drawn)
        attributes = self.instance.attributes
        attributes["index"] = index
        inputs = record.fields["inputs"]
        for position, given in enumerate(inputs):
            changed = self._hook("after_input_config", position, given)
            inputs[position] = given if changed is None else changed
        attributes["index"] = index + 1
        changed = self._hook("after_case_config", record)
        result = record if changed is None else changed
        if not isinstance(result, Record) or result.kind != "case":
            raise CannotFollow(f"`after_case_config` returning {describe(result)}")
        frozen: Case = self.interpreter.guard(frozen_case, result, drawn)
        return frozen

    def _hook(self, name: str, *args: Any) -> Any:
        return self.interpreter.call(self.interpreter.attribute(self.instance, name), list(args))


def follow(plugin: Plugin, spec: Spec, drawn: Sequence[Case], total: int, seed: int) -> Followed | Refusal:
    """Runs the hooks of generator `spec.generate` on the drawn cases; `total` is how many ATK would generate.

    A plugin that goes by `self.index` gets indices from all over its range, never beyond it. Never raises.
    """
    generator = None
    try:
        generator = Generator(plugin, spec, seed)
        return _run_all(generator, drawn, total, seed)
    except CannotFollow as stop:
        line = stop.line or (generator.interpreter.line if generator else 0)
        return Refusal(f"{stop.construct} cannot be followed", line, stop.column)
    except RecursionError:
        return Refusal("deeply nested code cannot be followed")
    except ERRORS as error:
        return Refusal(f"an unexpected {type(error).__name__} stops the reading: that code cannot be followed")


def _run_all(generator: Generator, drawn: Sequence[Case], total: int, seed: int) -> Followed | Refusal:
    indices = list(range(len(drawn)))
    if generator.index_used:
        total = generator.count_cases(total)
        indices = (
            sorted(random.Random(seed).sample(range(total), len(drawn))) if total > len(drawn) else indices[:total]
        )
    cases: list[Case] = []
    dropped, raised, spent = 0, "", 0
    for done, (index, case) in enumerate(zip(indices, drawn, strict=False)):
        try:
            cases.append(generator.run(case, index))
        except PluginRaise as error:
            dropped += 1
            raised = raised or f"line {error.line or generator.interpreter.line} raises {error.value!r}"
        spent += STEPS_PER_DRAW - generator.interpreter.budget.left
        if spent > STEPS_IN_ALL and done + 1 < len(indices):
            break
    if not cases:
        return Refusal(f"every drawn case ends in an exception: {raised}")
    unfinished = len(indices) - len(cases) - dropped
    whole = not generator.index_used or len(indices) == total
    return Followed(tuple(cases), generator.interpreter.drew or not whole, dropped, raised, unfinished)


def _mentions_index(tree: Any) -> bool:
    import ast

    return any(isinstance(n, ast.Attribute) and n.attr == "index" and _is_self(n.value) for n in ast.walk(tree))


def _is_self(node: Any) -> bool:
    return getattr(node, "id", None) == "self"


def _missing(tree: Any, scope: Scope, name: str) -> CannotFollow:
    """Why there is no class for the registered `name`: its definition cannot be followed, or there is none."""
    import ast

    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            constants = [c.value for d in node.decorator_list for c in ast.walk(d) if isinstance(c, ast.Constant)]
            if name in constants or node.name == name:
                found = scope.names.get(node.name)
                return found.stop() if isinstance(found, Poison) else CannotFollow(f"class `{node.name}`", node.lineno)
    return CannotFollow(f"the class of generator `{name}`")
