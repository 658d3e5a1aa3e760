"""Patterns of declared rules: the same answers as `re.search`, in linear time, and refusals with their position."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opscan.judging.regex import PatternError, compile_pattern

ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", r"\s", r"\.", "^", "$", r"\b", "[a-c1]", "-"])


def grouped(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeats = st.sampled_from(["", "*", "+", "?", "{2}", "{1,}", "{0,2}", "+?"])
    return st.one_of(
        st.tuples(parts, parts).map("".join),
        st.tuples(parts, parts).map("|".join),
        st.tuples(parts, repeats).map(lambda two: f"({two[0]}){two[1]}"),
        st.tuples(parts, repeats).map(lambda two: f"(?:{two[0]}){two[1]}"),
    )


@given(st.recursive(ATOMS, grouped, max_leaves=8), st.text("ab1. -\nc", max_size=12))
def test_answers_are_those_of_re(pattern: str, text: str) -> None:
    try:
        compiled = compile_pattern(pattern)
    except PatternError as refused:
        if "repeat" not in str(refused):
            raise
        return
    assert compiled.search(text) == (re.search(pattern, text) is not None)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^torch\\.(?!x)?", "", None),
        ("^torch[.](add|sub)(_backward)?$", "torch.add_backward", True),
        ("^torch[.](add|sub)(_backward)?$", "torch.addmm", False),
        (r"^(\w+\.)*\w+$", "torch.nn.functional.pad", True),
        ("(a|a)*$", "a" * 5000 + "b", True),
        ("^(a|aa)+$", "a" * 5000 + "b", False),
        ("^(a*)(a*)(a*)(a*)b$", "a" * 5000, False),
        ("反向", "# torch.where 反向", True),
        ("", "", True),
    ],
)
def test_patterns_that_hang_elsewhere_end_here(pattern: str, text: str, found: bool | None) -> None:
    if found is None:
        with pytest.raises(PatternError, match="lookaround"):
            compile_pattern(pattern)
        return
    assert compile_pattern(pattern).search(text) is found


@pytest.mark.parametrize(
    ("pattern", "position", "message"),
    [
        ("(a+)+$", 0, "repeats a repetition"),
        ("x(a*)*", 1, "repeats a repetition"),
        ("(a|b*)*", 0, "repeats a repetition"),
        ("((a+)?)*", 0, "repeats a repetition"),
        ("a++", 0, "repeats a repetition"),
        (r"(a)\1", 3, "backreferences"),
        ("(?=a)", 0, "lookaround"),
        ("a(b", 1, "never closed"),
        ("[ab", 0, "never closed"),
        ("a)", 1, "closes nothing"),
        ("*a", 0, "repeats nothing"),
        ("a{x}", 1, "write a repetition as"),
        ("a{3,2}", 1, "no range of repetitions"),
        ("a{9999}", 1, "no range of repetitions"),
        ("(a{1000}){1000}", 0, "more than 2000 states"),
        ("^*", 0, "cannot be repeated"),
        (r"\q", 0, "not supported"),
        ("[z-a]", 0, "from the lower to the higher"),
        ("(" * 60 + ")" * 60, 50, "nested deeper"),
    ],
)
def test_what_is_refused_says_where(pattern: str, position: int, message: str) -> None:
    with pytest.raises(PatternError, match=re.escape(message)) as refused:
        compile_pattern(pattern)
    assert refused.value.position == position
