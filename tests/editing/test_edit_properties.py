"""Generated specs and case files in every style: only what is named changes, and nothing ever raises."""

from __future__ import annotations

from typing import Any

import pytest
from edit_documents import (
    INPUTS,
    NAMES,
    STANDARDS,
    VALUES,
    broken_case_texts,
    case_texts,
    check_broken_spec,
    check_cases,
    check_rewrite,
    documents,
    mutated,
    spec_of,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opscan.editing import apply_edits
from opscan.editing.meaning import same


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
            for value in VALUES[::3]:
                if not same(spec.acc, value):
                    total += 1
                    done += check_rewrite(spec, value)
    assert done / total > 0.7


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated(), st.sampled_from(VALUES))
def test_broken_specs_never_raise_and_never_change_elsewhere(text: str, value: Any) -> None:
    check_broken_spec(text, value)


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


@settings(max_examples=100, deadline=None)
@given(case_texts(), st.sampled_from(VALUES), st.integers(1, 400))
def test_an_edit_of_cases_changes_their_standard_and_nothing_else(text: str, value: Any, length: int) -> None:
    check_cases(text, value, length)


@settings(max_examples=150, deadline=None)
@given(broken_case_texts(), st.sampled_from(VALUES), st.integers(1, 400))
def test_broken_cases_never_raise_and_never_change_elsewhere(text: str, value: Any, length: int) -> None:
    check_cases(text, value, length)
