"""The interpreter against Python itself: the plugins of the tables, executed, give the very same cases.

Both draw from Python's own generator with the same seed, so that every random branch must agree as well.
"""

from __future__ import annotations

import random
import sys
import types
from itertools import chain, repeat
from typing import Any

import pytest
from shapes_builders import Section, attribute, make_plugin, make_spec, read_sections, tensor

from opscan.model import Case, CaseInput, Choices, Spec
from opscan.reading.case_values import case_from
from opscan.running.child import STANDIN
from opscan.running.records import case_fields, plain
from opscan.shapes.draw import count_cases, draw_cases
from opscan.shapes.generator import Followed, Refusal, follow

SECTIONS = read_sections("followed_plugins.txt")
FORMS = read_sections("python_forms.txt")
DRAWS = 40


def execute(section: Section, spec: Spec, drawn: list[Case], seed: int, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The cases that Python makes; None in the place of one for which the plugin raises."""
    numpy = pytest.importorskip("numpy")  # its random numbers come from `random` too
    monkeypatch.setattr(numpy.random, "randint", random.randrange)
    monkeypatch.setattr(numpy.random, "choice", lambda values: random.choices(values)[0])
    monkeypatch.syspath_prepend(STANDIN)
    for name in [name for name in sys.modules if name.split(".")[0] == "atk"]:
        monkeypatch.delitem(sys.modules, name)
    random.seed(seed)
    module = types.ModuleType("plugin")
    monkeypatch.setitem(sys.modules, "plugin", module)  # dataclasses look their module up
    module.__file__ = "plugin.py"
    exec(compile(section.source, "plugin.py", "exec"), module.__dict__)
    atk: Any = __import__("atk._registry", fromlist=["GENERATORS"])
    cases: Any = __import__("atk.configs.case_config", fromlist=["CaseConfig"])
    design: Any = __import__("atk.configs.design_config", fromlist=["design_from"])
    generator = atk.GENERATORS["g"](design.design_from(design_of(spec)))
    type(generator).drawn = (cases.CaseConfig(**case_fields(case, spec, {})) for case in chain(*repeat(drawn, 9)))
    made: list[Any] = []
    for index in range(len(drawn)):
        generator.index = index
        try:
            case = case_from(index, plain(generator.generate(), index))
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RuntimeError):
            case = ""
        made.append(None if isinstance(case, str) else told(case))
    return made


def design_of(spec: Spec) -> dict[str, Any]:
    def choices(given: Choices) -> dict[str, Any]:
        return {"values": list(given.values)}

    return {
        "name": spec.name,
        "generate": spec.generate,
        "dtype_numbers": spec.dtype_numbers,
        "inputs": [
            {
                "name": given.name,
                "type": given.kind,
                "dtypes": choices(given.dtypes),
                "shapes": {"dim_numbers": choices(given.dim_numbers), "dim_values": choices(given.dim_values[0])}
                if given.dim_values
                else {},
            }
            for given in spec.inputs
        ],
    }


def told(case: Case) -> Any:
    def of(given: CaseInput) -> Any:
        if given.members is not None:
            return [of(member) for member in given.members]
        return given.shape, given.dtype, given.values, given.required, given.name

    return [of(given) for given in case.inputs], case.acc or "default", case.name, case.backward


@pytest.mark.parametrize("seed", [1234, 7])
@pytest.mark.parametrize("section", SECTIONS, ids=[s.title for s in SECTIONS])
def test_agrees_with_python(section: Section, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = make_spec(tensor("x"), tensor("y"), generate="g", dtype_numbers=DRAWS // 2)
    drawn = draw_cases(spec, DRAWS, random.Random(seed))
    followed = follow(make_plugin(section.source), spec, drawn, count_cases(spec), seed)
    assert isinstance(followed, Followed), followed
    assert followed.dropped == 0
    counted = len(followed.cases)
    assert counted == (4 if "profiles" in section.title else DRAWS)
    expected = execute(section, spec, drawn[:counted], seed, monkeypatch)
    assert [told(case) for case in followed.cases] == expected


FORM_SPEC = make_spec(
    tensor("x"),
    tensor("y"),
    tensor("l", kind="tensors", tuple_numbers=Choices((2, 3))),
    attribute("a", (1, 2, [0, 4])),
    generate="g",
    dtype_numbers=DRAWS // 2,
)


@pytest.mark.parametrize("section", FORMS, ids=[s.title for s in FORMS])
def test_forms_of_python(section: Section, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = draw_cases(FORM_SPEC, DRAWS, random.Random(3))
    followed = follow(make_plugin(section.source), FORM_SPEC, drawn, count_cases(FORM_SPEC), 3)
    if "unknown" in section.facts:
        assert isinstance(followed, Refusal), followed
        assert section.facts["unknown"] in followed.reason
        return
    assert isinstance(followed, Followed), followed
    expected = [case for case in execute(section, FORM_SPEC, drawn, 3, monkeypatch) if case is not None]
    assert [told(case) for case in followed.cases] == expected
    assert followed.dropped == DRAWS - len(expected)
