"""Edits are applied where they hold and refused where they do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opscan.editing import apply_edits, splice
from opscan.editing.splicing import _without_overlaps
from opscan.model import Edit, KeyPath, Source

YAML = "name: a\nstandard:\n  acc: equal  # c\n  perf: not_key\ninputs: [{type: tensor}]\n"


def edit_of(text: str, old: str, new: str, where: KeyPath, value: object) -> Edit:
    start = text.index(old)
    return Edit(start, start + len(old), new, where, value)


def source(text: str, name: str = "x.yaml") -> Source:
    return Source(Path(name), text)


@pytest.mark.parametrize(
    ("text", "old", "new", "where", "value"),
    [
        (YAML, "equal", "1e-4", ("standard", "acc"), 1e-4),
        (YAML, "equal", "a: b", ("standard", "acc"), "a: b"),
        (YAML, "equal", "b #", ("standard", "acc"), "b #"),
        (YAML, "equal", "yes", ("standard", "acc"), "yes"),
        (YAML, "equal", "default", ("standard", "acc"), "other"),
        (YAML, "equal", "default", ("standard", "perf"), "default"),
        (YAML, "equal  # c\n  perf", "default\n  perf_", ("standard", "acc"), "default"),
        (YAML, "perf: not_key", "perf: not_key\n  acc: x", ("standard", "acc"), "x"),
        (YAML, "equal", "[", ("standard", "acc"), []),
        (YAML, "equal", "\t- a", ("standard", "acc"), ["a"]),
        (YAML, "equal", "default", ("missing", "acc"), "default"),
        (YAML, "equal", "default", ("inputs", 4, "type"), "default"),
        (YAML, "equal", "'\ud800'", ("standard", "acc"), "\ud800"),
        ("a: &x 1\nb: *x\n", "1", "2", ("a",), 2),
        ("a: {b: 1}\na: {b: 2}\n", "1", "3", ("a", "b"), 3),
        ("a: 1\n", "1", "1.0", ("a",), 1),
        ("a: 1\n", "1", "true", ("a",), 1),
        ("a: {b: 1, c: 2}\n", "b: 1, c: 2", "c: 2, b: 1", ("a", "b"), 1),
    ],
)
def test_an_edit_that_does_not_do_what_it_says_is_refused(
    text: str, old: str, new: str, where: KeyPath, value: object
) -> None:
    edited = apply_edits(source(text), [edit_of(text, old, new, where, value)])
    assert edited.text == text
    assert edited.applied == ()
    assert edited.refused[0].reason


def test_good_edits_survive_bad_ones_and_the_first_of_two_that_overlap_wins() -> None:
    good = edit_of(YAML, "equal", "default", ("standard", "acc"), "default")
    overlapping = edit_of(YAML, "qual", "x", ("standard", "acc"), "ex")
    bad = edit_of(YAML, "not_key", "[", ("standard", "perf"), "[")
    other = edit_of(YAML, "tensor", "scalar", ("inputs", 0, "type"), "scalar")
    outside = Edit(5, 5000, "", ("name",), None)
    edited = apply_edits(source(YAML), [good, overlapping, bad, other, outside, good])
    assert edited.text == YAML.replace("equal", "default").replace("tensor", "scalar")
    assert set(edited.applied) == {good, other}
    assert [refusal.edit for refusal in edited.refused] == [overlapping, outside, bad]
    assert "overlaps" in edited.refused[0].reason


def test_many_edits_with_one_bad_one() -> None:
    text = "".join(f"k{n}: {n}\n" for n in range(60))
    edits = [
        edit_of(text, f"k{n}: {n}\n", f"k{n}: {n + 1}\n", (f"k{n}",), n + (1 if n != 37 else 5)) for n in range(60)
    ]
    edited = apply_edits(source(text), edits)
    assert len(edited.applied) == 59
    assert [refusal.edit for refusal in edited.refused] == [edits[37]]
    assert "k37: 37\nk38: 39\n" in edited.text


def test_nothing_is_applied_to_a_file_that_cannot_be_read() -> None:
    edited = apply_edits(source("a: [\n"), [Edit(3, 4, "1", ("a",), 1)])
    assert edited.text == "a: [\n"
    assert "cannot be read" in edited.refused[0].reason


def test_portability_may_not_get_worse() -> None:
    text = "a: {b: 1}\n"
    edited = apply_edits(source(text), [Edit(4, 8, "b:[1]", ("a", "b"), [1])])
    assert edited.text == text


def test_recursive_and_exploding_aliases_do_not_crash() -> None:
    loop = "a: &a [*a, 1]\nb: 1\n"
    edited = apply_edits(source(loop), [Edit(loop.rindex("1"), loop.rindex("1") + 1, "2", ("b",), 2)])
    assert edited.text.endswith("b: 2\n")
    bomb = "l0: &l0 [x, x]\n" + "".join(f"l{n}: &l{n} [*l{n - 1}, *l{n - 1}]\n" for n in range(1, 40)) + "z: 1\n"
    edited = apply_edits(source(bomb), [Edit(len(bomb) - 2, len(bomb) - 1, "2", ("z",), 2)])
    assert edited.text.endswith("z: 2\n")


def test_json_is_verified_as_json() -> None:
    text = '[{"a": 1, "n": NaN}, {"a": 2}]'
    edited = apply_edits(source(text, "x.json"), [Edit(7, 8, '"x"', (0, "a"), "x")])
    assert edited.text == '[{"a": "x", "n": NaN}, {"a": 2}]'
    refused = apply_edits(source(text, "x.json"), [Edit(7, 8, "x", (0, "a"), "x")])
    assert refused.text == text


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 4)), max_size=8))
def test_the_first_of_overlapping_edits_wins_in_any_order(places: list[tuple[int, int]]) -> None:
    text = '["' + "x" * 22 + '"]'
    edits = [Edit(start + 2, start + 2 + length, f"<{n}>", (0,), "") for n, (start, length) in enumerate(places)]
    kept, refused = _without_overlaps(text, edits)
    assert len(kept) + len(refused) == len(edits)
    for n, edit in enumerate(edits):
        earlier = [other for other in edits[:n] if other in kept]
        touched = set(range(2 * edit.start + 1, 2 * edit.end)) | ({2 * edit.start} if edit.start == edit.end else set())
        clash = any(
            touched & (set(range(2 * o.start + 1, 2 * o.end)) | ({2 * o.start} if o.start == o.end else set()))
            for o in earlier
        )
        assert (edit in kept) == (not clash)
    spliced = splice(text, kept)
    assert all(edit.text in spliced for edit in kept)
