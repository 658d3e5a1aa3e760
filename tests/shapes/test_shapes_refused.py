"""Plugins that cannot be followed: each ends with its reason and its line, quickly, and without any side effect."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from shapes_builders import Section, make_plugin, make_spec, read_sections, tensor

from opscan.model import SpecInput
from opscan.shapes import gather_evidence

SECTIONS = read_sections("refused_plugins.txt")


@pytest.mark.parametrize("section", SECTIONS, ids=[s.title for s in SECTIONS])
def test_refused_with_reason_and_place(section: Section, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plugin = make_plugin(section.source)
    evidence = gather_evidence(make_spec(tensor("x"), tensor("y"), generate="g"), case_file=None, plugin=plugin)
    assert (evidence.source, evidence.cases, evidence.certain) == ("none", (), False)
    assert section.facts["because"] in evidence.reason
    assert [(f.rule, f.message) for f in evidence.faults] == [("plugin-unreadable", evidence.reason)]
    assert list(tmp_path.iterdir()) == []
    place = re.match(r"cat/generate_g\.py:(\d+): ", evidence.reason)
    if place is not None:
        assert 1 <= int(place[1]) <= section.source.count("\n")


@pytest.mark.parametrize("title", ["shell command", "with statement", "classes of a tuple"])
def test_the_line_is_the_one_of_the_construct(title: str) -> None:
    section = next(s for s in SECTIONS if s.title == title)
    spec = make_spec(tensor("x"), tensor("y"), generate="g")
    reason = gather_evidence(spec, case_file=None, plugin=make_plugin(section.source)).reason
    line = int(reason.split(":")[1])
    text = section.source.split("\n")[line - 1]
    assert any(word in text for word in ("os.system", "with ", "__class__"))


@pytest.mark.parametrize("inputs", [(), (tensor("x"),), (tensor("x", ranks=(1,), axes=(1,)),)])
def test_declared_shapes_are_not_believed_where_a_generator_is_named(inputs: tuple[SpecInput, ...]) -> None:
    """Not even where the tensors are too few, or too small, to meet in two ways: the generator may say otherwise."""
    section = next(s for s in SECTIONS if s.title == "with statement")
    for plugin in (None, make_plugin(section.source)):
        evidence = gather_evidence(make_spec(*inputs, generate="g"), case_file=None, plugin=plugin)
        assert (evidence.source, evidence.cases) == ("none", ())
        assert ("`.lock`" if plugin else "generator `g` is not in any plugin") in evidence.reason


def test_a_name_that_no_plugin_registers() -> None:
    spec = make_spec(tensor("x"), tensor("y"), generate="other")
    for plugin in (None, make_plugin(SECTIONS[0].source)):
        evidence = gather_evidence(spec, case_file=None, plugin=plugin)
        assert evidence.source == "none"
        assert evidence.reason == "generator `other` is not in any plugin beside the spec"
        assert evidence.faults == ()


def test_a_plugin_without_a_tree() -> None:
    from dataclasses import replace

    plugin = replace(make_plugin(SECTIONS[0].source), tree=None)
    evidence = gather_evidence(make_spec(tensor("x"), tensor("y"), generate="g"), case_file=None, plugin=plugin)
    assert evidence.source == "none"
    assert "no readable Python" in evidence.reason


def test_deeply_nested_expressions_are_refused() -> None:
    source = "def after_case_config(self, c):\n    return " + "-" * 300 + "1"
    from shapes_builders import PRELUDE

    text = PRELUDE + "".join(f"    {line}\n" for line in source.split("\n"))
    spec = make_spec(tensor("x"), tensor("y"), generate="g")
    evidence = gather_evidence(spec, case_file=None, plugin=make_plugin(text))
    assert evidence.source == "none"
