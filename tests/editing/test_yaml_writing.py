"""Whatever is written as YAML reads back exactly."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from opscan.editing import yaml_block, yaml_flow, yaml_scalar
from opscan.editing.meaning import same

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=["Cs"]))
KEYS = st.text("abcdefgh_:#- '\"中", min_size=1, max_size=12)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-4, "1.0e-4"),
        (2.0**-10, "9.765625e-4"),
        (0.001, "0.001"),
        (1e-8, "1.0e-8"),
        (1.5e22, "1.5e+22"),
        (-1e-5, "-1.0e-5"),
        (10.0, "10.0"),
        (10, "10"),
        (math.inf, ".inf"),
        (-math.inf, "-.inf"),
        (True, "true"),
        (None, "null"),
        ("equal", "equal"),
        ("cv_fused_double_benchmark", "cv_fused_double_benchmark"),
        ("yes", '"yes"'),
        ("null", '"null"'),
        ("y", '"y"'),
        ("1e-4", '"1e-4"'),
        ("-inf", '"-inf"'),
        ("nan", '"nan"'),
        ("0644", '"0644"'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ("", '""'),
        ("high performance", "high performance"),
        ("a,b", '"a,b"'),
        ("*a", '"*a"'),
        ("双万", "双万"),
        ("a\nb", '"a\\nb"'),
    ],
)
def test_scalars(value: Any, text: str) -> None:
    assert yaml_scalar(value) == text
    assert same(yaml.safe_load(text), value)


def test_quotes_are_kept() -> None:
    assert yaml_scalar("it's", "'") == "'it''s'"
    assert yaml_scalar("a\tb", "'") == '"a\\tb"'
    assert yaml_scalar("equal", '"') == '"equal"'


def test_flow_and_block() -> None:
    value = {"mixed_tolerance_bm": {"fp32_rtol": 1e-4, "kinds": ["a", 1], "none": {}}}
    assert yaml_flow(value) == "{mixed_tolerance_bm: {fp32_rtol: 1.0e-4, kinds: [a, 1], none: {}}}"
    assert yaml_block(value, 2, "\r\n", 4) == (
        "  mixed_tolerance_bm:\r\n      fp32_rtol: 1.0e-4\r\n      kinds: [a, 1]\r\n      none: {}"
    )


@given(VALUES)
def test_flow_reads_back(value: Any) -> None:
    for loader in (yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        assert same(yaml.load(f"[{yaml_flow(value)}, x]", loader), [value, "x"])


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=3), st.sampled_from(["\n", "\r\n", "\r"]))
def test_block_reads_back(value: dict[str, Any], newline: str) -> None:
    text = f"k:{newline}{yaml_block(value, 3, newline)}{newline}z: 1{newline}"
    assert same(yaml.safe_load(text), {"k": value, "z": 1})
