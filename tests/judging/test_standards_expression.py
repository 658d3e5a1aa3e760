"""What to write: it must bring back, through ATK's own steps, the standards that were asked for."""

from __future__ import annotations

from typing import Any

import pytest

from opscan.judging.effective import effective
from opscan.judging.expression import expression
from opscan.judging.pass_rules import Rule
from opscan.judging.standards import load_standards


@pytest.mark.parametrize("version", ["26.5.14", "26.7.8", "26.8.8"])
@pytest.mark.parametrize(
    "recommended",
    [
        {"fp32": "value-equal", "fp16": "value-equal", "int8": "value-equal"},
        {"fp32": "double-ten-thousandth"},
        {"fp32": "double-ten-thousandth", "fp16": "double-thousandth", "bf16": "double-hundredth"},
        {"fp32": "double-hundredth", "int64": "value-equal", "bool": "value-equal"},
        {"fp32": "double-thousandth", "complex64": "double-thousandth"},
        {"fp32": "double-thousandth", "fp16": "value-equal"},
        {"hf32": "double-thousandth", "fp8e4m3": "mixed-tolerance"},
        {"fp32": "mixed-tolerance", "bf16": "mixed-tolerance"},
        {"fp32": "single-benchmark"},
        {"int8": "quantised"},
    ],
)
def test_what_is_written_takes_effect(recommended: dict[str, str], version: str) -> None:
    value, _ = expression(recommended, version)
    assert value is not None
    for dtype, name in recommended.items():
        assert effective(value, dtype, version).name == name


def test_the_written_rule_is_the_canonical_one() -> None:
    for name in ("double-ten-thousandth", "double-thousandth", "double-hundredth"):
        for dtype in ("fp16", "bf16", "fp32", "hf32"):
            value, _ = expression({dtype: name}, "26.8.8")
            rule, canonical = effective(value, dtype, "26.8.8").rule, load_standards().rule(name, dtype)
            assert isinstance(rule, Rule)
            assert isinstance(canonical, Rule)
            assert str(rule) == str(canonical)


def test_the_text_of_the_thresholds() -> None:
    value, reason = expression({"fp32": "double-ten-thousandth"}, "26.8.8")
    assert value == {
        "mixed_tolerance_bm": {
            "fp32_rtol": 0.0001,
            "fp32_atol": 0.0001,
            "fp32_required_matched_ratio": 0.9999,
            "fp32_max_abs_error_limit": 0.01,
            "fp32_max_ulp_multiple": 2048.0,
        }
    }
    assert all(type(number) is float for number in value["mixed_tolerance_bm"].values())
    assert reason == ""


@pytest.mark.parametrize(
    ("recommended", "version", "value", "reason"),
    [
        ({"fp32": "double-ten-thousandth"}, "older", None, "nearest is single_bm"),
        ({"fp64": "double-ten-thousandth"}, "26.8.8", None, "fp64 has no threshold row"),
        ({"fp32": "bit-equal"}, "26.8.8", "equal", "does not tell +0 from -0"),
        ({"fp32": "bit-equal"}, "older", "md5", ""),
        ({"fp32": "run-to-run"}, "26.8.8", None, "accuracy_dc"),
        ({"fp32": "distribution"}, "26.8.8", None, "cannot write distribution"),
        ({"fp32": "dual-benchmark"}, "26.5.14", None, "nearest: single_bm"),
        ({"fp32": "dual-benchmark", "fp16": "double-thousandth"}, "older", None, "split the spec"),
        ({"fp32": "single-benchmark", "fp16": "double-thousandth"}, "26.8.8", None, "split the spec"),
        ({"fp8e4m3": "double-thousandth"}, "26.8.8", None, "no thresholds for fp8e4m3"),
        ({}, "26.8.8", None, "nothing is recommended"),
    ],
)
def test_what_cannot_be_written(recommended: dict[str, str], version: str, value: Any, reason: str) -> None:
    found, said = expression(recommended, version)
    assert found == value
    assert reason in said


def test_what_must_be_said() -> None:
    _, reason = expression({"fp32": "double-thousandth", "int8": "value-equal", "fp64": "double-thousandth"}, "26.7.8")
    assert "int8 has no threshold row and is compared by the quantisation rule" in reason
    assert "fp64 has no threshold row" in reason
    assert "some builds of ATK 26.7.8 lack mixed_tolerance_bm" in reason
    _, reason = expression({"fp32": "double-thousandth", "fp16": "value-equal"}, "26.8.8")
    assert "a golden with NaN or Inf passes unread" in reason


def test_element_bounds_never_refuse_what_the_tolerance_accepts() -> None:
    """The stated rule of the bounds: 100 x atol, and units that reach past rtol |g|; see rules/standards.yaml."""
    from opscan.judging.floating import FORMATS

    for name, standard in load_standards().standards.items():
        if name.startswith("double-"):
            for dtype, rule in standard.rules.items():
                half_epsilon = FORMATS[dtype].epsilon / 2
                assert rule.max_abs == pytest.approx(100 * rule.rtol)
                assert rule.max_ulp * half_epsilon >= rule.rtol
                assert rule.max_ulp == 32 or rule.max_ulp * half_epsilon < 2 * rule.rtol
