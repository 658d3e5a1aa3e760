"""Modules beside a plugin: they are followed too, and what stops them is told with both places."""

from __future__ import annotations

from pathlib import Path

import pytest
from shapes_builders import make_plugin, make_spec, tensor

from opscan.model import Evidence
from opscan.shapes import gather_evidence

PLUGIN = """\
import random
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.case_generator.generator.base_generator import CaseGenerator
{imports}

@GENERATOR_REGISTRY.register("g")
class G({base}):
{body}
"""
HOOK = "    def after_case_config(self, case_config):\n"


def evidence(folder: Path, imports: str, body: str, base: str = "CaseGenerator", *, beside: str = "") -> Evidence:
    source = PLUGIN.format(imports=imports, base=base, body=body)
    plugin = make_plugin(source, path=str(folder / "generate_g.py"))
    spec = make_spec(tensor("x"), tensor("y"), generate="g", path=str(folder / "torch.add.yaml"))
    folders = [folder / beside] if beside else []
    return gather_evidence(spec, case_file=None, plugin=plugin, folders=folders)


def shapes(found: Evidence) -> set[tuple[int, ...] | None]:
    assert found.source == "generator-static", found.reason
    return {case.inputs[1].shape for case in found.cases}


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from relating import narrow", "narrow"),
        ("from relating import narrow as n", "n"),
        ("import relating", "relating.narrow"),
        ("import relating as r", "r.narrow"),
        ("from relating import *", "narrow"),
        ("from package import narrow", "narrow"),
        ("from package.inner import narrow", "narrow"),
    ],
)
def test_functions_of_another_file(tmp_path: Path, imports: str, call: str) -> None:
    text = "ONE = 1\n\n\ndef narrow(shape):\n    return [ONE] * len(shape)\n"
    (tmp_path / "relating.py").write_text(text)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("from package.inner import narrow\n")
    (tmp_path / "package" / "inner.py").write_text(text)
    body = HOOK + f"        case_config.inputs[1].shape = {call}(case_config.inputs[0].shape)"
    assert shapes(evidence(tmp_path, imports, body)) == {(1,), (1, 1), (1, 1, 1)}


def test_a_base_class_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(
        "from atk.case_generator.generator.base_generator import CaseGenerator\n\n\n"
        "class Same(CaseGenerator):\n    SHAPE = [2]\n"
        + HOOK
        + "        case_config.inputs[1].shape = list(self.SHAPE)\n"
        "        return case_config\n"
    )
    assert shapes(evidence(tmp_path, "from base import Same", "    SHAPE = [5, 6]", "Same")) == {(5, 6)}


def test_a_folder_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "sizes.py").write_text("WIDTH = 9\n")
    body = HOOK + "        case_config.inputs[1].shape = [WIDTH]"
    assert shapes(evidence(tmp_path, "from sizes import WIDTH", body, beside="common")) == {(9,)}
    without = evidence(tmp_path, "from sizes import WIDTH", body)
    assert without.source == "none"
    assert "generate_g.py:9: `sizes.WIDTH`" in without.reason


@pytest.mark.parametrize(
    ("helper", "body", "reason"),
    [
        (
            "import socket\n\n\ndef f():\n    return socket.gethostname()\n",
            "f()",
            ":9: `socket.gethostname` in helping.py:5",
        ),
        (
            "def g():\n    import os\n    return os.getcwd()\n\n\ndef f():\n    return g()\n",
            "f()",
            ":9: `os.getcwd` in helping.py:3",
        ),
        ("f = open('x')\n", "f", ":9: `a path relative to the folder in which ATK runs` in helping.py:1"),
        ("def f(:\n", "f()", "no readable Python"),
        ("def f():\n    raise ValueError('no')\n", "f()", ":9: every drawn case ends in an exception: ValueError: no"),
        ("def f():\n    return f()\n", "f()", ":9: more than 40 nested calls in helping.py:2"),
    ],
)
def test_what_stops_it_is_told_with_both_places(tmp_path: Path, helper: str, body: str, reason: str) -> None:
    (tmp_path / "helping.py").write_text(helper)
    found = evidence(tmp_path, "from helping import f", HOOK + f"        case_config.inputs[1].shape = {body}")
    assert found.source == "none"
    assert reason in found.reason


def test_modules_that_import_each_other(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("import two\nA = 3\n\n\ndef f():\n    return [A, two.B]\n")
    (tmp_path / "two.py").write_text("import one\nB = 4\n")
    body = HOOK + "        case_config.inputs[1].shape = f()"
    assert shapes(evidence(tmp_path, "from one import f", body)) == {(3, 4)}


@pytest.mark.parametrize("imports", ["from .helping import f", "from ..helping import f", "import x.y.z"])
def test_what_is_no_module_beside_it(tmp_path: Path, imports: str) -> None:
    (tmp_path / "helping.py").write_text("def f():\n    return [1]\n")
    name = "x.y.z.f" if "x.y.z" in imports else "f"
    body = HOOK + f"        case_config.inputs[1].shape = {name}()"
    assert evidence(tmp_path, imports, body).source == "none"
