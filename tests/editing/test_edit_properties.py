"""Generated specs and case files in every style: only what is named changes, and nothing ever raises."""

from __future__ import annotations

from collections import Counter

import pytest
from edit_documents import INPUTS, NAMES, PROPERTIES, STANDARDS, VALUES, check_rewrite, spec_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from styled_documents import FEATURES, styled_documents

from opscan.editing import replace_acc
from opscan.editing.meaning import same
from opscan.model import Edit


@pytest.mark.parametrize("name", PROPERTIES)
def test_it_holds(name: str) -> None:
    one = PROPERTIES[name]

    @settings(max_examples=one.examples, suppress_health_check=list(HealthCheck))
    @given(st.tuples(*one.arguments))
    def trial(arguments: tuple[object, ...]) -> None:
        one.check(*arguments)

    trial()


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


def test_the_generated_specs_have_every_style() -> None:
    """A property that is tried on nothing but plain specs says little."""
    found: Counter[str] = Counter()

    @settings(max_examples=300, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(styled_documents())
    def count(text: str) -> None:
        spec = spec_of(text)
        found["all"] += 1
        if spec is not None:
            found["specs"] += 1
            found.update(name for name, holds in FEATURES.items() if holds(text))
            found["edited"] += isinstance(replace_acc(spec, VALUES[4]), Edit)

    count()
    assert found["specs"] > 0.8 * found["all"]
    assert found["edited"] > 0.5 * found["specs"]
    assert [name for name in FEATURES if not found[name]] == []
