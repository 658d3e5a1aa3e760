"""The tree holds what PyYAML's pure safe loader reads, with spans that hit the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from opscan.model import Fault, Source
from opscan.reading.values import Tree, read_tree

DOCUMENTS = [
    "a: 1\nb: [x, {c: 1.5}]\n",
    "a: &x {b: 1, c: [1, 2]}\nd: *x\ne: {<<: *x, b: 3}\nf:\n  <<: [*x, {z: 1}]\n  g: *x\n",
    "? a\n: 1\n? [b]\n",
    "on: yes\n0644: 12:30:45\n1.5: 2024-01-01\n~: null\n",
    "a: |\n  text\n  more\n\nb: >-\n  x\n  y\nc: 'it''s'\nd: \"\\u4e2d\"\n",
    "- 1\n- - 2\n  - 3\n-\n- {}\n- []\n",
    "# 中文\nname: 中😀 # 注释\nx: 😀\n",
    "k: !!str 1\nj: !!float 1\nl: !!binary aGk=\n",
    "a: 1\na: 2\nb: {c: 1, c: {d: 1}, c: 3}\n",
    "{a: [1,2], b: 'x', ? c : d}\n",
    "plain text\n",
    "=: 1\n",
    "a: =\n",
    "&k name: *k\n",
]


def tree_of(text: str) -> Tree | tuple[Fault, ...]:
    return read_tree(Source(Path("x.yaml"), text))


def must_tree(text: str) -> Tree:
    tree = tree_of(text)
    assert isinstance(tree, Tree), tree
    return tree


def agrees_with_safe_load(text: str) -> None:
    tree = tree_of(text)
    try:
        wanted = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError, KeyError, TypeError, OverflowError, IndexError, AttributeError):
        faults = tree if isinstance(tree, tuple) else tree.faults
        assert any(fault.rule in ("yaml-syntax", "multiple-documents", "yaml-trap") for fault in faults), text
        return
    assert isinstance(tree, Tree), tree
    if any(fault.rule == "yaml-trap" or "the tag" in fault.message for fault in tree.faults):
        return
    assert repr(tree.value) == repr(wanted)


def spans_hit_the_text(text: str, tree: Tree) -> None:
    for path, span in [*tree.spans.items(), *tree.key_spans.items()]:
        assert 0 <= span.start <= span.end <= len(text)
        before = text[: span.start].replace("\r\n", "\n").replace("\r", "\n")
        assert span.line == before.count("\n") + 1, path
        assert span.column == len(before) - (before.rfind("\n") + 1) + 1, path
    for path, leaf in tree.leaves.items():
        span = tree.spans[path]
        piece = text[span.start : span.end]
        if not leaf.style and len(piece.splitlines()) < 2 and not piece.startswith(("&", "!")):
            assert piece == leaf.value


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("text", DOCUMENTS)
def test_values_and_spans(text: str, newline: str) -> None:
    text = text.replace("\n", newline)
    agrees_with_safe_load(text)
    tree = tree_of(text)
    if isinstance(tree, Tree):
        spans_hit_the_text(text, tree)


@settings(max_examples=300)
@given(
    st.sampled_from(DOCUMENTS),
    st.lists(
        st.tuples(
            st.integers(0, 80), st.integers(0, 3), st.text("ab:-#&*!|>'\"{}[],?% \t\n\r\x85\u2028=<1.e", max_size=3)
        )
    ),
)
def test_mutated_documents_agree_with_safe_load(text: str, mutations: list[tuple[int, int, str]]) -> None:
    for place, length, piece in mutations:
        text = text[:place] + piece + text[place + length :]
    agrees_with_safe_load(text)
    tree = tree_of(text)
    if isinstance(tree, Tree):
        spans_hit_the_text(text, tree)


def test_spans_of_keys_values_and_blocks() -> None:
    text = "standard:\n  acc:\n    bm: # c\n      t: 1e-4   # tail\n\n# comment\ninputs: []\n"
    tree = must_tree(text)
    span = tree.spans[("standard", "acc")]
    assert text[span.start : span.end] == "bm: # c\n      t: 1e-4"
    assert (span.line, span.column, span.end_line, span.end_column) == (3, 5, 4, 14)
    key = tree.key_spans[("standard", "acc")]
    assert text[key.start : key.end] == "acc"
    assert tree.span(("standard", "acc", "missing", 3)) == span


def test_an_alias_is_placed_at_the_alias() -> None:
    text = "a: &x {b: [1, 2]}\nc: *x\nd:\n  <<: *x\n  e: 1\n"
    tree = must_tree(text)
    for path in (("c",), ("c", "b"), ("c", "b", 1), ("d", "b"), ("d", "b", 0)):
        span = tree.spans[path]
        assert text[span.start : span.end] == "*x"
        assert path in tree.indirect
    assert tree.spans[("c",)].line == 2
    assert tree.spans[("d", "b")].line == 4
    assert ("a", "b") not in tree.indirect


@pytest.mark.parametrize(
    ("text", "rule", "line", "column", "words"),
    [
        ("a: [1\nb: 2\n", "yaml-syntax", 2, 2, ""),
        ("a: b: c\n", "yaml-syntax", 1, 5, "not allowed here"),
        ("a:\n\tb: 1\n", "yaml-syntax", 2, 1, "tab"),
        ("a:\tb\n", "yaml-syntax", 1, 3, "other YAML readers accept"),
        ("a: *nope\n", "yaml-syntax", 1, 4, "*nope has no anchor"),
        ("a: 1\n---\nb: 2\n", "multiple-documents", 2, 1, "one document"),
        ("a: \x07\n", "yaml-syntax", 1, 4, "U+0007"),
        ("中: {😀: }}\n", "yaml-syntax", 1, 9, ""),
        ("a: 'x\nb: 1\n", "yaml-syntax", 3, 1, "never closed"),
    ],
)
def test_syntax_faults(text: str, rule: str, line: int, column: int, words: str) -> None:
    faults = tree_of(text)
    assert isinstance(faults, tuple)
    fault = faults[0]
    assert fault.span is not None
    assert (fault.rule, fault.span.line, fault.span.column) == (rule, line, column)
    assert words in fault.message


@pytest.mark.parametrize(
    ("text", "rule", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "duplicate-key", "line 1"),
        ("a: {values:[fp32]}\n", "yaml-portability", "some YAML readers"),
        ("a: &a [*a]\n", "yaml-trap", "inside the very value"),
        ("a: !custom 1\n", "yaml-syntax", "!custom"),
        ("a: !!int x\n", "yaml-syntax", "int"),
        ("? [a]\n: 1\n", "yaml-syntax", "cannot be a key"),
        ("a:\n  <<: [{b: 1}, {b: 2}]\n", "yaml-trap", "version of PyYAML"),
        ("a:\n  <<: 1\n", "yaml-syntax", "merge"),
        ("a: 2024-13-45\n", "yaml-syntax", "timestamp"),
        ("a: 1\nb: c\x85d: e\n", None, ""),
    ],
)
def test_faults_that_leave_a_tree(text: str, rule: str | None, words: str) -> None:
    tree = tree_of(text)
    faults = tree.faults if isinstance(tree, Tree) else tree
    if rule is not None:
        assert [fault.rule for fault in faults] == [rule]
        assert words in faults[0].message


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "[{a: "])
@pytest.mark.parametrize("depth", [150, 10_000])
def test_deep_nesting_is_a_fault(opening: str, depth: int) -> None:
    closing = {"[": "]", "{a: ": "}", "[{a: ": "}]"}.get(opening, "")
    faults = tree_of(opening * depth + closing * depth)
    assert isinstance(faults, tuple)
    assert faults[0].rule == "yaml-syntax"


def test_aliases_of_aliases_do_not_explode() -> None:
    text = "l0: &l0 [x, x]\n" + "".join(f"l{n}: &l{n} [*l{n - 1}, *l{n - 1}]\n" for n in range(1, 60))
    tree = must_tree(text)
    assert len(tree.spans) < 30_000
    value: Any = tree.value["l59"]
    for _ in range(60):
        value = value[0]
    assert value == "x"


def test_lines_break_where_editors_break_them() -> None:
    text = "a: 'x\u2028y\x85z'\r\nb: 1\rc: 2\nd: 3\n"
    tree = must_tree(text)
    assert [tree.spans[(key,)].line for key in "abcd"] == [1, 2, 3, 4]
    assert tree.spans[("d",)].column == 4
