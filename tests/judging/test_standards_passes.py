"""The evaluator: worked examples of every pass rule, and the NaN and Inf rules."""

from __future__ import annotations

import math

import numpy as np
import pytest

from opscan.judging.deciding import passes
from opscan.judging.pass_rules import Rule, allowed_failures, spacing
from opscan.judging.standards import load_standards

NAN, INF = math.nan, math.inf


def rule(name: str, dtype: str = "fp32") -> Rule:
    found = load_standards().rule(name, dtype)
    assert found is not None
    return found


def judged(name: str, actual: list[float], golden: list[float], dtype: str = "fp32", **options: str) -> bool:
    kinds = {"fp32": np.float32, "fp16": np.float16, "fp64": np.float64, "bf16": np.float32, "int8": np.int8}
    a, g = (np.array(values, dtype=kinds[dtype]) for values in (actual, golden))
    return passes(rule(name, dtype), a, g, **options).passed


@pytest.mark.parametrize(
    ("name", "actual", "golden", "passed"),
    [
        ("value-equal", [1, 2], [1, 2], True),
        ("value-equal", [0.0, 2], [-0.0, 2], True),
        ("value-equal", [NAN, NAN], [NAN, NAN], True),
        ("value-equal", [1, NAN], [1, NAN], False),
        ("value-equal", [NAN, NAN], [1, NAN], False),
        ("value-equal", [INF, 1], [INF, 1], True),
        ("value-equal", [INF, 1], [-INF, 1], False),
        ("bit-equal", [0.0], [-0.0], False),
        ("bit-equal", [NAN, 1], [NAN, 1], True),
        # The golden is looked at first: whatever the output holds then, the case passes.
        ("single-benchmark", [7, 7], [1, NAN], True),
        ("single-benchmark", [NAN, 7], [INF, 1], True),
        ("single-benchmark", [NAN, 1], [1, 1], False),
        ("mixed-tolerance", [7, 7], [1, INF], True),
        ("mixed-tolerance", [INF, 1], [1, 1], False),
        ("double-hundredth", [NAN, NAN], [NAN, NAN], True),
        # 0.0012 relative at its only element: the maximum holds, the mean does not.
        ("single-benchmark", [1.0012], [1.0], False),
        ("single-benchmark", [1.0012] + [1.0] * 15, [1.0] * 16, True),
        ("single-benchmark", [1.0013] + [1.0] * 15, [1.0] * 16, False),
        # 1 of 100 may be out of tolerance, but none by more than 0.01 and 32 units.
        ("mixed-tolerance", [0.005] + [1.0] * 99, [0.0] + [1.0] * 99, True),
        ("mixed-tolerance", [0.005, 0.005] + [1.0] * 98, [0.0, 0.0] + [1.0] * 98, False),
        ("mixed-tolerance", [0.02] + [1.0] * 99, [0.0] + [1.0] * 99, False),
        ("mixed-tolerance", [1e6 + 1.9], [1e6], True),
        ("mixed-tolerance", [1e6 + 3], [1e6], False),
        # 1e-4 + 1e-4 |g|, at most 1 in 10,000.
        ("double-ten-thousandth", [1.00019], [1.0], True),
        ("double-ten-thousandth", [1.00021], [1.0], False),
        ("double-ten-thousandth", [1.005] + [1.0] * 9999, [1.0] * 10000, True),
        ("double-ten-thousandth", [1.005] + [1.0] * 9998, [1.0] * 9999, False),
        ("double-ten-thousandth", [0.00009], [0.0], True),
        ("double-ten-thousandth-relative", [0.00009], [0.0], False),
        ("double-ten-thousandth-relative", [1.00009], [1.0], True),
        ("double-thousandth", [1.0019], [1.0], True),
        ("double-hundredth", [1.019], [1.0], True),
        ("double-hundredth", [1.021], [1.0], False),
    ],
)
def test_worked_examples(name: str, actual: list[float], golden: list[float], passed: bool) -> None:
    assert judged(name, actual, golden) is passed


def test_one_unit_in_the_last_place() -> None:
    assert judged("double-thousandth", [1 + 2**-10], [1.0], "fp16")
    assert not judged("double-thousandth", [1 + 2**-7], [1.0], "bf16")
    assert judged("double-hundredth", [1 + 2**-7], [1.0], "bf16")


def test_both_denominators_of_the_relative_error() -> None:
    golden, actual = [1e-7] + [1.0] * 19, [1e-7 + 2e-10] + [1.0] * 19
    assert judged("single-benchmark", actual, golden)
    assert not judged("single-benchmark", actual, golden, denominator="max")


def test_quantised_outputs_may_be_one_step_off() -> None:
    assert judged("quantised", [1, -128], [2, -127], "int8")
    assert not judged("quantised", [127, 1], [-128, 1], "int8")


def test_what_equal_looks_at_besides_values() -> None:
    ones = np.ones(3, np.float32)
    assert not passes(rule("value-equal"), ones, ones.astype(np.float64)).passed
    assert not passes(rule("value-equal", "bf16"), ones, ones, golden_dtype="fp32").passed
    assert not passes(rule("value-equal"), ones, np.ones(4, np.float32)).passed
    empty = np.zeros(0, np.float32)
    assert all(passes(rule(name), empty, empty).passed for name in ("value-equal", "mixed-tolerance", "bit-equal"))


def test_complex_outputs_are_compared_by_their_parts() -> None:
    golden = np.array([1 + 0j], np.complex64)
    assert passes(rule("double-ten-thousandth", "complex64"), golden + np.complex64(5e-5j), golden).passed
    assert not passes(rule("double-ten-thousandth", "complex64"), golden + np.complex64(2e-4j), golden).passed


def test_a_verdict_says_what_it_saw() -> None:
    verdict = passes(rule("mixed-tolerance"), np.float32([1, 2, 5, 4]), np.float32([1, 2, 3, 4]))
    assert (verdict.passed, verdict.share_failing, verdict.worst) == (False, 0.25, 2.0)
    assert "1 of 4 out of tolerance" in verdict.detail


def test_three_way_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="from an output and its golden alone"):
        passes(rule("dual-benchmark"), np.ones(1, np.float32), np.ones(1, np.float32))


def test_spacing_is_that_of_numpy() -> None:
    values = np.float32([0, 1e-45, 1e-38, 0.3, 1, 1.99, 2, 1e9])
    assert (spacing(values.astype(np.float64), "fp32") == np.spacing(values)).all()
    halves = np.float16([0, 6e-8, 0.3, 1, 1000])
    assert (spacing(halves.astype(np.float64), "fp16") == np.spacing(halves)).all()
    assert spacing(np.array([1.0, 1.5, 2.0]), "bf16").tolist() == [2**-7, 2**-7, 2**-6]


@pytest.mark.parametrize(
    ("share", "count", "allowed"), [(1e-4, 9999, 0), (1e-4, 10000, 1), (1e-3, 3000, 3), (0.01, 700, 7), (0, 99, 0)]
)
def test_allowed_failures_are_not_lost_to_rounding(share: float, count: int, allowed: int) -> None:
    assert allowed_failures(share, count) == allowed
