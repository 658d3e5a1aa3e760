"""The interpreter against Python itself: the plugins of the table, executed, give the very same shapes.

Both draw from Python's own generator with the same seed, so that every random branch must agree as well.
"""

from __future__ import annotations

import random
import sys
import types
from types import SimpleNamespace
from typing import Any

import pytest
from shapes_builders import Section, make_plugin, make_spec, read_sections, tensor

from opscan.model import Case, CaseInput
from opscan.shapes.draw import count_cases, draw_cases
from opscan.shapes.generator import Followed, follow

SECTIONS = read_sections("followed_plugins.txt")
DRAWS = 40


class Input(SimpleNamespace):
    def is_range_null(self) -> bool:
        return "null" in self.range_values if isinstance(self.range_values, list) else self.range_values == "null"


class BaseGenerator:
    def __init__(self, config: Any) -> None:
        self.config = config
        self.index = 0

    def after_input_config(self, index: int, input_case: Any) -> Any:  # noqa: ARG002
        return input_case

    def after_case_config(self, case_config: Any) -> Any:
        return case_config


class Registry:
    def __init__(self) -> None:
        self.classes: dict[str, type] = {}

    def register(self, name: str) -> Any:
        return lambda cls: self.classes.setdefault(name, cls)


def stub_modules(monkeypatch: pytest.MonkeyPatch, registry: Registry) -> None:
    """Modules by ATK's names with the few things plugins import, and a numpy that draws from `random`."""
    names = {
        "GENERATOR_REGISTRY": registry,
        "CaseGenerator": BaseGenerator,
        "DefaultGenerator": BaseGenerator,
        "CaseConfig": SimpleNamespace,
        "InputCaseConfig": Input,
        "StandardConfig": SimpleNamespace,
    }
    for path in (
        "atk",
        "atk.case_generator",
        "atk.case_generator.generator",
        "atk.case_generator.generator.generate_types",
        "atk.case_generator.generator.generate_types.default",
        "atk.case_generator.generator.base_generator",
        "atk.configs",
        "atk.configs.case_config",
        "atk.configs.design_config",
    ):
        module = types.ModuleType(path)
        module.__dict__.update(names)
        monkeypatch.setitem(sys.modules, path, module)
    numpy: Any = types.ModuleType("numpy")
    numpy.prod = __import__("math").prod
    numpy.random = SimpleNamespace(randint=random.randrange, choice=lambda values: random.choices(values)[0])
    monkeypatch.setitem(sys.modules, "numpy", numpy)


def as_object(given: CaseInput) -> Any:
    if given.members is not None:
        return [as_object(m) for m in given.members]
    shape = None if given.shape is None else list(given.shape)
    return Input(
        name=given.name, type=given.kind, dtype=given.dtype, shape=shape, range_values=given.values, required=True
    )


def execute(section: Section, drawn: list[Case], seed: int, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    registry = Registry()
    stub_modules(monkeypatch, registry)
    code = compile(section.source, "plugin.py", "exec")
    random.seed(seed)
    exec(code, {"__name__": "plugin", "__file__": "plugin.py"})
    generator = registry.classes["g"](SimpleNamespace())
    results = []
    for index, case in enumerate(drawn):
        inputs = [as_object(i) for i in case.inputs]
        config = SimpleNamespace(inputs=inputs, name=case.name, standard=SimpleNamespace(acc="default"), id=0)
        generator.index = index
        config.inputs = [generator.after_input_config(i, given) for i, given in enumerate(inputs)]
        generator.index = index + 1
        config = generator.after_case_config(config) or config
        results.append([(tuple(i.shape), i.dtype) for i in config.inputs])
    return results


@pytest.mark.parametrize("seed", [1234, 7])
@pytest.mark.parametrize("section", SECTIONS, ids=[s.title for s in SECTIONS])
def test_agrees_with_python(section: Section, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = make_spec(tensor("x"), tensor("y"), generate="g", dtype_numbers=DRAWS // 2)
    drawn = draw_cases(spec, DRAWS, random.Random(seed))
    followed = follow(make_plugin(section.source), spec, drawn, count_cases(spec), seed)
    assert isinstance(followed, Followed), followed
    assert followed.dropped == 0
    counted = len(followed.cases)
    expected = execute(section, drawn[:counted], seed, monkeypatch)
    if "profiles" in section.title:
        assert counted == 4
    else:
        assert counted == DRAWS
    assert [[(i.shape, i.dtype) for i in c.inputs] for c in followed.cases] == expected
