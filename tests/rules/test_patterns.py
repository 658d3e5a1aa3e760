"""Patterns of declared rules: the same answers as `re.search`, in linear time, and refusals."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opscan.judging.patterns import PatternError, compile_pattern

ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", r"\s", r"\.", "^", "$", r"\b", "[a-c1]", "-"])


def grouped(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeats = st.sampled_from(["", "*", "+", "?", "{2}", "{1,}", "{0,2}", "+?"])
    return st.one_of(
        st.tuples(parts, parts).map("".join),
        st.tuples(parts, parts).map("|".join),
        st.tuples(parts, repeats).map(lambda two: f"({two[0]}){two[1]}"),
        st.tuples(parts, repeats).map(lambda two: f"(?:{two[0]}){two[1]}"),
    )


@given(st.recursive(ATOMS, grouped, max_leaves=8), st.text("ab1. -c", max_size=12))
def test_answers_are_those_of_re(pattern: str, text: str) -> None:
    try:
        expected = re.search(pattern, text) is not None
    except re.error:
        return
    assert (compile_pattern(pattern).search(text) is not None) == expected


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^torch[.](add|sub)(_backward)?$", "torch.add_backward", True),
        ("^torch[.](add|sub)(_backward)?$", "torch.addmm", False),
        (r"^(\w+\.)*\w+$", "torch.nn.functional.pad", True),
        ("(a+)+$", "a" * 50_000 + "b", False),
        ("^(a|aa)+$", "a" * 50_000 + "b", False),
        ("^(a*)(a*)(a*)(a*)b$", "a" * 50_000, False),
        ("反向", "# torch.where 反向", True),
        ("", "", True),
    ],
)
def test_patterns_that_hang_elsewhere_end_here(pattern: str, text: str, found: bool) -> None:
    assert (compile_pattern(pattern).search(text) is not None) is found


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)", "a(b", "[ab", "a)", "*a", "a{3,2}", "(a{1000}){1000}", r"\q"])
def test_what_is_refused_says_why(pattern: str) -> None:
    with pytest.raises(PatternError, match=r"\w"):
        compile_pattern(pattern)
