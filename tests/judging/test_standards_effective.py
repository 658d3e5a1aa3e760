"""What ATK applies: names, defaults, keywords and the dispatch on the dtype, per version."""

from __future__ import annotations

from typing import Any

import pytest

from opscan.judging.effective import effective
from opscan.judging.standards import did_you_mean, known_comparators, registered

DOUBLE = {"fp32_rtol": 1e-4, "fp32_atol": 1e-4, "fp32_required_matched_ratio": 0.9999}


@pytest.mark.parametrize(
    ("acc", "dtype", "version", "name", "known"),
    [
        ("equal", "fp32", "26.8.8", "value-equal", True),
        ("equal", "int8", "26.8.8", "value-equal", True),
        ("md5", "fp32", "older", "bit-equal", True),
        ("md5", "fp32", "26.5.14", "bit-equal", False),
        (None, "fp32", "26.5.14", "single-benchmark", True),
        (None, "fp32", "26.8.8", "mixed-tolerance", True),
        ("default", "fp32", "26.9.7", "mixed-tolerance", True),
        ("default", "fp32", "26.6.1", "single-benchmark", True),
        ("default", "fp32", "26.7.8", "single-benchmark", False),
        ("default", "fp32", "older", "unknown", False),
        ("default", "fp32", "25.1", "unknown", False),
        ("default", "bool", "older", "value-equal", True),
        ("single_bm", "int8", "26.8.8", "quantised", True),
        ("single_bm", "bf16", "26.8.8", "single-benchmark", True),
        ("mixed_tolerance_bm", "fp32", "26.8.8", "mixed-tolerance", True),
        *[("single_bm", d, "26.8.8", "value-equal", True) for d in ("uint8", "int16", "int32", "int64", "uint32")],
        *[("mixed_tolerance_bm", d, "26.8.8", "value-equal", True) for d in ("bool", "fp64", "complex128")],
        ("mixed_tolerance_bm", "complex64", "26.8.8", "mixed-tolerance", True),
        ("single_bm", "complex64", "26.8.8", "value-equal", True),
        ("single_bm", "hf32", "26.8.8", "unknown", False),
        ("mixed_tolerance_bm", "hf32", "26.8.8", "mixed-tolerance", True),
        ("mixed_tolerance_bm", "fp8e4m3", "26.8.8", "mixed-tolerance", True),
        ("cv_fused_double_benchmark", "fp16", "older", "dual-benchmark", True),
        ("cv_fused_double_benchmark", "fp64", "older", "unknown", False),
        ("double_benchmark", "fp16", "older", "dual-benchmark", False),
        ("random_bm", "fp32", "older", "distribution", True),
        ("stand_quantize", "int8", "26.8.8", "unknown", False),
        ({"single_bm": {"type": "high_precision"}}, "fp32", "older", "unknown", False),
        ({"single_bm": {"type": "high_precision"}}, "fp32", "26.5.14", "single-benchmark", True),
        ({"mixed_tolerance_bm": DOUBLE}, "fp32", "26.8.8", "double-ten-thousandth", True),
        ({"mixed_tolerance_bm": DOUBLE}, "complex64", "26.8.8", "double-ten-thousandth", True),
        ({"mixed_tolerance_bm": DOUBLE}, "fp16", "26.8.8", "mixed-tolerance", True),
        ({"mixed_tolerance_bm": DOUBLE}, "int8", "26.8.8", "quantised", True),
        ({"mixed_tolerance_bm": {**DOUBLE, "fp32_atol": 0}}, "fp32", "26.8.8", "double-ten-thousandth-relative", True),
        ({"mixed_tolerance_bm": {**DOUBLE, "fp32_atol": 2e-4}}, "fp32", "26.8.8", "mixed-tolerance", True),
        ({"mixed_tolerance_bm": {"fp32_rtoll": 1.0}}, "fp32", "26.8.8", "unknown", False),
        ({"mixed_tolerance_bm": None}, "fp32", "26.8.8", "mixed-tolerance", True),
        ({}, "fp32", "26.8.8", "unknown", False),
        (["equal"], "fp32", "26.8.8", "unknown", False),
        ({"equal": 3}, "fp32", "26.8.8", "unknown", False),
        ({1: {}}, "fp32", "26.8.8", "unknown", False),
    ],
)
def test_names(acc: Any, dtype: str, version: str, name: str, known: bool) -> None:
    found = effective(acc, dtype, version)
    assert (found.name, found.known) == (name, known)
    assert found.detail or found.name in ("value-equal", "bit-equal", "distribution")


def test_only_the_first_key_counts() -> None:
    found = effective({"single_bm": {}, "equal": {}}, "fp32", "26.8.8")
    assert (found.name, found.ignored) == ("single-benchmark", ("equal",))


def test_keywords_without_effect() -> None:
    acc = {"single_bm": {"fp32_thd": 0.5, "mare_ratio": 20, "type": "x"}}
    found = effective(acc, "fp32", "26.5.14")
    assert found.ignored == ("fp32_thd", "type")
    assert found.rule is not None
    assert found.rule.peak == 20 * 2**-13
    acc = {"cv_fused_double_benchmark": {"max_re_ration": 5, "avg_re_ratio": 3}}
    found = effective(acc, "fp32", "older")
    assert found.ignored == ("max_re_ration",)
    assert "did you mean max_re_ratio?" in found.detail
    assert "max_re_ratio 10, avg_re_ratio 3" in found.detail
    assert effective({"equal": {"rtol": 1}}, "fp32", "26.8.8").ignored == ("rtol",)


@pytest.mark.parametrize(
    ("acc", "dtype", "text", "crash"),
    [
        ({"mixed_tolerance_bm": {"fp32_rtol": "1e-4"}}, "fp32", ("fp32_rtol",), "'1e-4'"),
        # A text threshold of one dtype breaks the cases of every dtype.
        ({"mixed_tolerance_bm": {"fp32_rtol": "1e-4"}}, "bool", ("fp32_rtol",), "'1e-4'"),
        ({"mixed_tolerance_bm": {"fp32_rtoll": 1}}, "fp32", (), "did you mean fp32_rtol?"),
        ({"single_bm": {"mare_ratio": "1e1"}}, "fp32", ("mare_ratio",), "mare_ratio must be a number"),
        ({"cv_fused_double_benchmark": {"avg_re_ratio": "2"}}, "fp32", ("avg_re_ratio",), "must be a number"),
        ("md5", "fp32", (), "KeyError"),
    ],
)
def test_what_fails_at_run_time(acc: Any, dtype: str, text: tuple[str, ...], crash: str) -> None:
    found = effective(acc, dtype, "26.5.14")
    assert found.text_numbers == text
    assert crash in found.detail
    assert found.crash
    assert not found.known


def test_bounds_of_an_element_stay_in_the_rule() -> None:
    found = effective({"mixed_tolerance_bm": DOUBLE}, "fp32", "26.8.8")
    assert found.rule is not None
    assert (found.rule.max_abs, found.rule.max_ulp) == (0.01, 32)


def test_zero_tolerance_is_equality() -> None:
    acc = {"mixed_tolerance_bm": {"fp16_rtol": 0, "fp16_atol": 0, "fp16_required_matched_ratio": 1}}
    assert effective(acc, "fp16", "26.8.8").name == "value-equal"


def test_registration() -> None:
    assert registered("mixed_tolerance_bm", "older") is False
    assert registered("mixed_tolerance_bm", "26.7.8") is None
    assert registered("md5", "26.5.14") is False
    assert registered("stand_quantize", "26.8.8") is None
    assert known_comparators("26.5.14") == ("equal", "default", "single_bm", "mixed_tolerance_bm")
    assert did_you_mean("mixed_tolerence_bm") == "mixed_tolerance_bm"
    assert did_you_mean("single_bm") is None
    assert did_you_mean("stand_quantize") is None


@pytest.mark.parametrize("version", ["latest", "", "26.x"])
def test_a_version_without_numbers_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="is no ATK version"):
        effective("equal", "fp32", version)
