"""Passes drawn cases through the hooks of a generator plugin, by following its syntax tree."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import chain, cycle
from pathlib import Path
from typing import Any

from opscan.dataclass import dataclass
from opscan.model import Case, Plugin, Spec
from opscan.pyread.atk_generator import BASE_GENERATOR
from opscan.pyread.interpreter import Interpreter
from opscan.pyread.machine import ERRORS
from opscan.pyread.operations import describe
from opscan.pyread.records import case_record, design_record, frozen_case
from opscan.pyread.scope import Scope
from opscan.pyread.state import fingerprint
from opscan.pyread.stops import STEPS_IN_ALL, STEPS_PER_DRAW, CannotFollow, PluginRaise
from opscan.pyread.values import ClassValue, Instance, Poison, Record

_MODULE_STEPS = 10 * STEPS_PER_DRAW
"""Tables of cases that a module works out at its top take far more than one case."""


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
    """One generator class of a plugin, ready to be run on cases. Raises CannotFollow where there is none to follow.

    `more`: the cases that a plugin gets which takes several for one of its own; `total` is how many ATK would draw.
    """

    def __init__(
        self, plugin: Plugin, spec: Spec, seed: int, more: Sequence[Case], total: int, folders: Sequence[Path]
    ) -> None:
        self.interpreter = Interpreter(random.Random(seed))
        self.interpreter.lies(plugin.source.path, folders)
        self.interpreter.case_numbers = total
        self.interpreter.budget.grant(_MODULE_STEPS)
        self._more = (case_record(case) for case in cycle(more))
        scope = self._scope = self.interpreter.run_module(plugin.tree)
        cls = self.interpreter.registered.get(spec.generate, scope.names.get(spec.generate))
        if not isinstance(cls, ClassValue):
            raise _missing(plugin.tree, scope, spec.generate)
        self.instance = self._create(cls, spec)
        self.index_used = _mentions_index(plugin.tree)

    def _create(self, cls: ClassValue, spec: Spec) -> Instance:
        if not cls.derives_from(BASE_GENERATOR):
            raise CannotFollow(f"class `{cls.name}`, which does not derive from CaseGenerator,")
        self.interpreter.budget.grant(STEPS_PER_DRAW)
        try:
            instance = self.interpreter.call(cls, [design_record(spec)])
        except PluginRaise as error:
            raise CannotFollow(f"an exception ({error.value!r}) in the constructor", error.line) from None
        if not isinstance(instance, Instance):
            raise CannotFollow(f"the class of generator `{spec.generate}`")
        instance.attributes.setdefault("index", 0)
        return instance

    def count_cases(self) -> int:
        """How many cases ATK generates: what `_get_case_numbers` or `self.length` say, where they say it plainly."""
        counted = self.instance.attributes.get("length")
        if type(counted) is not int or counted <= 0:
            self.interpreter.budget.grant(STEPS_PER_DRAW)
            try:
                counted = self.interpreter.call(self.interpreter.attribute(self.instance, "_get_case_numbers"), [])
            except (CannotFollow, PluginRaise):
                counted = 0
        return counted if type(counted) is int and counted > 0 else self.interpreter.case_numbers

    def state(self) -> tuple[Any, ...] | None:
        """What is carried from one case to the next, but for the index; None where that cannot be told."""
        self.instance.attributes["index"] = 0
        return fingerprint(self._scope, self.instance)

    def run(self, drawn: Case, index: int) -> Case:
        """The case after both hooks, as the case with that index (from 0). Raises CannotFollow and PluginRaise."""
        self.interpreter.budget.grant(STEPS_PER_DRAW)
        self.interpreter.drawn = chain((case_record(drawn),), self._more)
        self.instance.attributes["index"] = index
        result = self.interpreter.call(self.interpreter.attribute(self.instance, "generate"), [])
        if not isinstance(result, Record) or result.kind != "CaseConfig":
            raise CannotFollow(f"a case that is {describe(result)}")
        frozen: Case = self.interpreter.guard(frozen_case, result, drawn)
        return frozen


def follow(
    plugin: Plugin, spec: Spec, drawn: Sequence[Case], total: int, seed: int, folders: Sequence[Path] = ()
) -> Followed | Refusal:
    """Runs the hooks of generator `spec.generate` on the drawn cases; `total` is how many ATK would generate.

    Modules that the plugin imports are looked for beside it, then in `folders`. A plugin that goes by `self.index` gets
    indices from all over its range, never beyond it. Never raises.
    """
    generator = None
    try:
        generator = Generator(plugin, spec, seed, drawn, total, folders)
        return _run_all(generator, drawn, seed)
    except CannotFollow as stop:
        line = stop.line or (generator.interpreter.line if generator else 0)
        return Refusal(f"{stop.construct} cannot be followed", line, stop.column)
    except RecursionError:
        return Refusal("deeply nested code cannot be followed")
    except ERRORS as error:
        return Refusal(f"an unexpected {type(error).__name__} stops the reading: that code cannot be followed")


def _run_all(generator: Generator, drawn: Sequence[Case], seed: int) -> Followed | Refusal:
    total = generator.count_cases()
    indices = list(range(len(drawn)))
    if generator.index_used and total > len(drawn):
        indices = sorted(random.Random(seed).sample(range(total), len(drawn)))
    # where cases differ anyway, and all of them are reached, it is all the same whether the plugin carries something on
    matters = total < len(drawn) or all(case.inputs == drawn[0].inputs for case in drawn)
    before, stateful = generator.state() if matters else None, generator.index_used
    cases: list[Case] = []
    dropped, first, spent, done = 0, None, 0, 0
    for index, case in zip(indices, drawn, strict=True):
        if stateful and done >= total:
            break  # what a counter of the plugin's own would say later is never reached
        try:
            cases.append(generator.run(case, index))
        except PluginRaise as error:
            dropped += 1
            error.line = error.line or generator.interpreter.line
            first = first or error
        done += 1
        stateful = stateful or (matters and done == 1 and (before is None or generator.state() != before))
        spent += STEPS_PER_DRAW - generator.interpreter.budget.left
        if spent > STEPS_IN_ALL:
            break
    if first and not cases:
        return Refusal(f"every drawn case ends in an exception: {first.value!r}", first.line)
    raised = f"line {first.line} raises {first.value!r}" if first else ""
    wanted = min(len(indices), total) if stateful else len(indices)
    whole = done >= total if stateful else matters and generator.state() == before
    return Followed(tuple(cases), generator.interpreter.drew or not whole, dropped, raised, wanted - done)


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
