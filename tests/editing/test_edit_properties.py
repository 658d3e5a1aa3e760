"""Generated specs in every style: only what is named changes, and nothing ever raises."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opscan.editing import apply_edits, replace_acc
from opscan.editing.meaning import same
from opscan.model import Edit, Source, Spec
from opscan.reading.specs import is_design, read_spec
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
def documents(draw: st.DrawFn) -> str:
    parts = [draw(st.sampled_from(NAMES)), draw(st.sampled_from(STANDARDS)), draw(st.sampled_from(INPUTS))]
    if draw(st.booleans()):
        parts.reverse()
    text = draw(st.sampled_from(HEADS)) + "".join(parts) + draw(st.sampled_from(TAILS))
    if draw(st.booleans()):
        text = text.rstrip("\n")
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n", "\r"])))


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(documents())
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(text)))
        length = draw(st.integers(0, 6))
        piece = draw(st.text("ab:-#&*!|>'\"{}[],?% \t\n\r\x85\u2028\ufeff😀0e=<~@`", max_size=4))
        text = text[:place] + piece + text[place + length :]
    return text


def spec_of(text: str) -> Spec | None:
    source = Source(Path("x.yaml"), text)
    tree = read_tree(source)
    return read_spec(source, tree) if not isinstance(tree, tuple) and is_design(tree.value) else None


def comments(text: str) -> list[str]:
    return re.findall(r"(?:^|(?<=\s))#[^\r\n]*", text)


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


@settings(max_examples=150, deadline=None)
@given(documents(), st.sampled_from(VALUES))
def test_a_rewrite_changes_the_standard_and_nothing_else(text: str, value: Any) -> None:
    spec = spec_of(text)
    if spec is not None:
        check_rewrite(spec, value)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_nearly_every_style_can_be_rewritten(newline: str) -> None:
    done = total = 0
    for standard in STANDARDS:
        for inputs in INPUTS:
            spec = spec_of((NAMES[0] + standard + inputs).replace("\n", newline))
            assert spec is not None
            for value in VALUES:
                if not same(spec.acc, value):
                    total += 1
                    done += check_rewrite(spec, value)
    assert done / total > 0.7


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated(), st.sampled_from(VALUES))
def test_broken_specs_never_raise_and_never_change_elsewhere(text: str, value: Any) -> None:
    spec = spec_of(text)
    if spec is None:
        return
    edit = replace_acc(spec, value)
    edits = [fault.edit for fault in spec.faults if fault.edit] + ([edit] if isinstance(edit, Edit) else [])
    edited = apply_edits(spec.source, edits)
    rebuilt, last = [], 0
    for applied in sorted(edited.applied, key=lambda one: (one.start, one.end)):
        rebuilt += [text[last : applied.start], applied.text]
        last = applied.end
    assert edited.text == "".join(rebuilt) + text[last:]
    if edited.applied:
        assert not isinstance(read_tree(Source(Path("x.yaml"), edited.text)), tuple)


@settings(max_examples=100, deadline=None)
@given(documents())
def test_number_faults_are_mended_once(text: str) -> None:
    spec = spec_of(text)
    assert spec is not None
    edits = [fault.edit for fault in spec.faults if fault.edit is not None]
    edited = apply_edits(spec.source, edits)
    assert edited.refused == ()
    again = spec_of(edited.text)
    assert again is not None
    assert [fault for fault in again.faults if fault.edit] == []
    assert "1e-8" not in edited.text
