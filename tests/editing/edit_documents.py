"""Texts in every style for the property tests, and what must hold of every edit in them; no module of tests."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st
from styled_documents import styled_documents

from opscan.editing import Edited, apply_edits, replace_acc, replace_case_acc
from opscan.editing.meaning import same
from opscan.model import CaseFile, Edit, Source, Spec
from opscan.reading import locate
from opscan.reading.cases import read_cases
from opscan.reading.positions import Lines
from opscan.reading.specs import is_design, read_spec
from opscan.reading.texts import decode
from opscan.reading.values import read_tree

STANDARDS = [
    "",
    "standard:\n",
    "standard: {}\n",
    "standard: # nothing yet\n",
    "standard:\n  acc: equal\n",
    "standard:\n  perf: not_key # p\n",
    "standard:\n    acc: 'equal'   # 与 CPU 逐位一致\n    perf: not_key\n",
    'standard: {"acc": "equal", perf: not_key} # flow\n',
    "standard: { perf: not_key }\n",
    "standard:\n  acc:\n    single_bm:\n      type: high_performance # t\n\n  # perf\n  perf: not_key\n",
    "standard:\n  # above\n  acc:   # behind\n      # below\n      mixed_tolerance_bm:\n         fp32_rtol: 1e-4\n",
    "standard:\n  acc: {mixed_tolerance_bm: {fp32_rtol: 1.0e-4,\n      fp16_rtol: 0.001}} # two lines\n",
    "standard:\n  acc: {single_bm: # why\n     {type: a}}\n",
    "standard:\n  acc: &strict equal\n",
    "standard: &std\n  acc: equal\nother: *std\n",
    "base: &base {acc: default}\nstandard:\n  <<: *base\n  perf: key\n",
    "base: &base\n  acc: default # b\nstandard: *base\n",
    "standard:\n  acc: >-\n    equal\n  perf: key\n",
    "standard:\n  acc: equal\n  acc: default\n",
    "standard:\n  acc:\n  perf: key\n",
    "standard:\n  acc: !!str equal\n",
    "? standard\n: acc: equal\n",
]
WILD_STANDARDS = [
    "standard: {<<: {acc: equal}, perf: [1, 2]}\n",
    "standard:\n  acc:\tequal\n",
    "standard: {perf: key,\tacc: equal}\t# tabs\n",
    "standard:\n  acc: equal\t\n",
    "---\nstandard: {acc: equal}\n---\n",
    "standard:\n  ? acc\n  : equal\n",
]
INPUTS = [
    "inputs:\n  - name: x # 😀\n    type: tensor\n    ranges: {valid: {values: [[1e-8, 1.0]]}}\n",
    "# the inputs\ninputs:\n- {name: x, type: tensor, dtypes: {values: [fp32, bf16]}}\n- name: y\n  type: attr\n",
    "inputs: [{type: scalar, name: 'a # b'}]\n",
    "inputs:\n  - &one\n    type: tensor\n    name: null\n  - *one\n",
]
HEADS = ["", "# 头部注释\n", "---\n", "\n\n# a\n\n"]
TAILS = ["", "outputs: null\n", "# the end\n", "note: |\n  a # b\n  c\n", "...\n"]
NAMES = ["name: torch.where\n", 'name: "torch.where" # op\n', "name: torch.where\nbackward: yes\ndtype_numbers: 1e2\n"]
VALUES: list[Any] = [
    "equal",
    "default",
    "yes",
    None,
    {"mixed_tolerance_bm": {"fp32_rtol": 1e-4, "fp16_rtol": 2.0**-10}},
    {"single_bm": {"type": "a: b"}},
    {"cv_fused_double_benchmark": {}},
]


@st.composite
def documents(draw: st.DrawFn, standards: Sequence[str] = STANDARDS) -> str:
    parts = [draw(st.sampled_from(NAMES)), draw(st.sampled_from(standards)), draw(st.sampled_from(INPUTS))]
    if draw(st.booleans()):
        parts.reverse()
    text = draw(st.sampled_from(HEADS)) + "".join(parts) + draw(st.sampled_from(TAILS))
    if draw(st.booleans()):
        text = text.rstrip("\n")
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n", "\r"])))


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(documents([*STANDARDS, *WILD_STANDARDS]) | styled_documents())
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(text)))
        length = draw(st.integers(0, 6))
        piece = draw(st.text("ab:-#&*!|>'\"{}[],?% \t\n\r\x85\u2028\ufeff😀0e=<~@`", max_size=4))
        text = text[:place] + piece + text[place + length :]
    return text


def spec_of(text: str) -> Spec | None:
    """The spec that a file with this text holds, which may begin with a BOM."""
    source = decode(Path("x.yaml"), text.encode("utf-8"))
    assert isinstance(source, Source)
    tree = read_tree(source)
    return read_spec(source, tree) if not isinstance(tree, tuple) and is_design(tree.value) else None


def comments(text: str) -> list[str]:
    """The comments of a YAML text, told by what PyYAML's scanner leaves between its tokens."""
    outside, last = [], 0
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        if isinstance(token, (yaml.ScalarToken, yaml.AnchorToken, yaml.AliasToken, yaml.TagToken)):
            outside.append(text[last : token.start_mark.index])
            last = token.end_mark.index
            if getattr(token, "style", None) in ("|", ">"):
                outside.append("\n")  # it has taken the line's end
    outside.append(text[last:])
    return re.findall(r"(?:^|(?<=[\s\0]))#[^\r\n\0]*", "\0".join(outside))


def check_rewrite(spec: Spec, value: Any) -> bool:
    text = spec.source.text
    edit = replace_acc(spec, value)
    if isinstance(edit, str):
        assert edit
        return False
    edited = apply_edits(spec.source, [edit])
    if not edited.applied:
        assert edited.text == text
        return False
    assert edited.text == text[: edit.start] + edit.text + text[edit.end :]
    before, after = yaml.safe_load(text), yaml.safe_load(edited.text)
    wanted = copy.copy(before)
    wanted["standard"] = {**(before.get("standard") or {}), "acc": value}
    assert wanted == after
    assert same(after["standard"]["acc"], value)
    assert sorted(comments(text)) == sorted(comments(edited.text))
    again = spec_of(edited.text)
    assert again is not None
    assert isinstance(replace_acc(again, value), str)
    return True


def check_spec(text: str, value: Any) -> None:
    spec = spec_of(text)
    if spec is not None:
        check_rewrite(spec, value)


def check_numbers(text: str) -> None:
    """Numbers that YAML reads as text are mended at once, and once is enough."""
    spec = spec_of(text)
    assert spec is not None
    edits = [fault.edit for fault in spec.faults if fault.edit is not None]
    edited = apply_edits(spec.source, edits)
    assert edited.refused == ()
    again = spec_of(edited.text)
    assert again is not None
    assert [fault for fault in again.faults if fault.edit] == []
    assert "1e-8" not in edited.text


def check_broken_spec(text: str, value: Any) -> None:
    """Of a text that may be anything: no exception, and no change but where an applied edit says so."""
    spec = spec_of(text)
    if spec is None:
        return
    text = spec.source.text
    edit = replace_acc(spec, value)
    edits = [fault.edit for fault in spec.faults if fault.edit] + ([edit] if isinstance(edit, Edit) else [])
    edited = apply_edits(spec.source, edits)
    check_only_there(text, edited)
    if not edited.applied:
        return
    again = spec_of(edited.text)
    assert again is not None
    if isinstance(edit, Edit) and edit in edited.applied:
        assert same(yaml.safe_load(edited.text)["standard"]["acc"], value)
        assert isinstance(replace_acc(again, value), str)


def check_only_there(text: str, edited: Edited) -> None:
    rebuilt, last = [], 0
    for applied in sorted(edited.applied, key=lambda one: (one.start, one.end)):
        rebuilt += [text[last : applied.start], applied.text]
        last = applied.end
    assert edited.text == "".join(rebuilt) + text[last:]


# -- case files ------------------------------------------------------------------------------------------------------

CASE_STANDARDS = [
    None,
    {},
    {"perf": "not_key"},
    {"acc": "equal", "perf": "not_key"},
    {"perf": "not_key", "acc": {"single_bm": {"type": "high_performance"}}},
    {"acc": {"acc": {"standard": 1}}, "备注": '😀 {["acc": 1]}'},
]
MORE_KEYS = [
    {},
    {"standard_note": "standard"},
    {"acl_json": '{"standard": {"acc": 1}}'},
    {"x": {"standard": {"acc": 2}}},
]
PIECES = ['"', "{", "}", "[", "]", ",", ":", "\\", "NaN", "1e999", '"acc":1,', "\0", "\ufeff", ""]
BLANKS = ["", " ", "\n", "\t", "\r\n  ", "\r"]


@st.composite
def case_texts(draw: st.DrawFn) -> str:
    entries = []
    for number in range(draw(st.integers(1, 5))):
        entry = {"id": number, "name": draw(st.sampled_from(["torch.add", "算子 😀"]))}
        standard = draw(st.sampled_from(CASE_STANDARDS))
        pairs = [("inputs", [{"name": "x", "type": "tensor", "shape": [1], "range_values": [-1e-5, 1.50]}])]
        pairs += [("standard", standard)] if standard is not None else []
        pairs += list(draw(st.sampled_from(MORE_KEYS)).items())
        entries.append(entry | dict(draw(st.permutations(pairs))))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]))
    indent = draw(st.sampled_from([None, 0, 1, 4, "\t"]))
    text = json.dumps(entries, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    text = text.replace("1.5", "1.50").replace("\n", draw(st.sampled_from(["\n", "\r\n", "\r"])))
    return draw(st.sampled_from(BLANKS)) + text + draw(st.sampled_from(BLANKS))


@st.composite
def broken_case_texts(draw: st.DrawFn) -> str:
    text = draw(case_texts())
    for _ in range(draw(st.integers(1, 3))):
        place, length = draw(st.integers(0, len(text))), draw(st.integers(0, 5))
        piece = draw(st.sampled_from(PIECES))
        text = text[:place] + piece + text[place + length :]
    return text


def check_cases(text: str, value: Any) -> None:
    """Every second case gets a standard: nothing else changes, and once is enough."""
    read = read_cases(Source(Path("all_x.json"), text))
    if not isinstance(read, CaseFile):
        return
    wanted = [case.index for case in read.cases][::2]
    places = locate(read, wanted)
    lines = Lines(text)
    assert all(place.case == lines.span(place.case.start, place.case.end) for place in places.values())
    found = [replace_case_acc(index, value, places[index]) for index in wanted]
    edits = [edit for edit in found if isinstance(edit, Edit)]
    edited = apply_edits(read.source, edits)
    check_only_there(text, edited)
    if any(fault.rule == "json-syntax" for fault in read.faults):
        assert not edited.applied  # a text that is broken elsewhere cannot be verified as a whole
        return
    if "duplicate-key" not in {fault.rule for fault in read.faults}:
        assert list(edited.applied) == edits
    before, after = json.loads(text), json.loads(edited.text)
    for index in {edit.where[0] for edit in edited.applied}:
        before[index]["standard"] = {**(before[index].get("standard") or {}), "acc": value}
    assert repr(_sorted(before)) == repr(_sorted(after))
    again = read_cases(Source(Path("all_x.json"), edited.text))
    assert isinstance(again, CaseFile)
    for index, place in locate(again, [edit.where[0] for edit in edited.applied]).items():
        assert replace_case_acc(index, value, place) == "the case already says this"


def _sorted(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _sorted(tree[key]) for key in sorted(tree)}
    return [_sorted(item) for item in tree] if isinstance(tree, list) else tree


@dataclass(frozen=True)
class Property:
    """What must hold of every text that `arguments` gives; the suite tries `examples` of them."""

    check: Callable[..., None]
    arguments: tuple[st.SearchStrategy[Any], ...]
    examples: int


VALUE = st.sampled_from(VALUES)
PROPERTIES = {
    "specs in every listed style": Property(check_spec, (documents(), VALUE), 100),
    "specs in any mixture of styles": Property(check_spec, (styled_documents(), VALUE), 100),
    "specs, mutated": Property(check_broken_spec, (mutated(), VALUE), 200),
    "numbers written as text": Property(check_numbers, (documents(),), 100),
    "case files in every style": Property(check_cases, (case_texts(), VALUE), 100),
    "case files, mutated": Property(check_cases, (broken_case_texts(), VALUE), 150),
}
