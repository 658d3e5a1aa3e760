"""Adequacy: the facts that a recommendation must respect, and the numbers behind it."""

from __future__ import annotations

import math

import pytest
from ladder_steps import strictest_adequate

from opscan.judging.adequacy import failure_probability
from opscan.judging.pass_rules import Rule
from opscan.judging.standards import load_standards
from opscan.judging.tails import any_of, mixture_tail, more_than


def rule(name: str, dtype: str) -> Rule:
    found = load_standards().rule(name, dtype)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("dtype", "extent", "outputs", "expected"),
    [
        ("fp32", 1, 4096, "value-equal"),
        ("fp32", 2, 4096, "value-equal"),
        ("fp32", 3, 8, "double-ten-thousandth"),
        ("fp32", 64, 100_000, "double-ten-thousandth"),
        ("fp32", 512, 8, "double-ten-thousandth"),
        ("fp32", 512, 8192, "double-ten-thousandth"),
        ("fp32", 1024, 100_000, "double-ten-thousandth"),
        ("fp32", 4096, 8, "double-thousandth"),
        ("fp32", 4096, 100_000, "double-thousandth"),
        ("fp16", 3, 8, "double-thousandth"),
        ("fp16", 65536, 512, "double-thousandth"),
        ("bf16", 3, 8, "double-hundredth"),
        ("bf16", 65536, 100_000, "double-hundredth"),
        ("fp64", 65536, 512, "double-ten-thousandth"),
        ("complex64", 3, 8, "double-ten-thousandth"),
        ("int32", 4096, 8, "value-equal"),
        ("bool", 1, 8, "value-equal"),
    ],
)
def test_the_ladder_at_the_default_range(dtype: str, extent: int, outputs: int, expected: str) -> None:
    name, probability = strictest_adequate(dtype, extent, outputs)
    assert name == expected
    assert probability < 0.01


@pytest.mark.parametrize(("outputs", "least", "most"), [(8, 0.0007, 0.006), (512, 0.05, 0.3), (8192, 0.7, 1.0)])
def test_relative_rules_fail_correct_sums_from_16_addends_on(outputs: int, least: float, most: float) -> None:
    relative = rule("double-ten-thousandth-relative", "fp32")
    assert least < failure_probability(relative, "fp32", 16, outputs, -1, 1) < most


def test_same_sign_addends_never_cancel() -> None:
    relative = rule("double-ten-thousandth-relative", "fp32")
    assert failure_probability(relative, "fp32", 4096, 4096, 0, 1) < 1e-6


def test_more_addends_outputs_or_width_never_help() -> None:
    tolerance = rule("double-ten-thousandth", "fp32")
    by_extent = [max(failure_probability(tolerance, "fp32", n, 8), 1e-12) for n in range(3, 3000, 7)]
    by_width = [failure_probability(tolerance, "fp32", 1024, 8, -w, w) for w in range(1, 200, 3)]
    assert by_extent == sorted(by_extent)
    assert by_width == sorted(by_width)
    single = rule("single-benchmark", "fp32")
    by_outputs = [failure_probability(single, "fp32", 256, r) for r in (8, 64, 512, 4096, 32768)]
    assert by_outputs == sorted(by_outputs)
    assert by_outputs[-1] > 0.5


def test_equal_fails_sums_of_three_but_not_of_two() -> None:
    equal = rule("value-equal", "fp32")
    assert failure_probability(equal, "fp32", 2, 4096) == 0
    assert failure_probability(equal, "fp32", 3, 4096) > 0.99
    assert 0 < failure_probability(rule("value-equal", "fp16"), "fp16", 1024, 64) < 0.5


def test_one_unit_of_bf16_breaks_a_thousandth() -> None:
    """Flips of bf16 are rare with fp32 accumulators, but with few outputs a single one fails the case."""
    flips = failure_probability(rule("double-thousandth", "bf16"), "bf16", 65536, 900)
    assert flips > failure_probability(rule("double-hundredth", "bf16"), "bf16", 65536, 900)
    assert flips > 0.02


def test_a_native_accumulator_needs_more() -> None:
    tolerance = rule("double-thousandth", "fp16")
    assert failure_probability(tolerance, "fp16", 256, 512, accumulator="fp16") > 0.9
    assert failure_probability(tolerance, "fp16", 256, 512) < 1e-6


def test_arithmetic_without_sums() -> None:
    assert strictest_adequate("fp32", 1, 4096, roundings=1)[0] == "value-equal"
    assert strictest_adequate("fp32", 1, 4096, roundings=5)[0] == "double-ten-thousandth"
    assert strictest_adequate("fp16", 1, 4096, roundings=3)[0] == "double-hundredth"
    assert strictest_adequate("fp16", 1, 100_000, roundings=2, cancels=False)[0] == "double-thousandth"
    assert strictest_adequate("fp16", 1, 100_000, roundings=3, cancels=False)[0] == "double-hundredth"
    assert strictest_adequate("bf16", 1, 4096, roundings=2, cancels=False)[0] == "double-hundredth"


def test_products_are_wider_than_copies() -> None:
    tolerance = rule("double-ten-thousandth", "fp32")
    copies = failure_probability(tolerance, "fp32", 1024, 8)
    assert failure_probability(tolerance, "fp32", 1024, 8, products=True) > 3 * copies
    assert strictest_adequate("fp32", 2, 64, products=True)[0] == "double-ten-thousandth"


def test_a_normal_range_counts_as_one_deviation() -> None:
    tolerance = rule("double-ten-thousandth", "fp32")
    normal = failure_probability(tolerance, "fp32", 1024, 512, -1, 1, distribution="normal")
    width = math.sqrt(3)
    assert normal == pytest.approx(failure_probability(tolerance, "fp32", 1024, 512, -width, width), rel=1e-6)


@pytest.mark.parametrize(
    ("low", "high", "dtype", "message"),
    [
        (-math.inf, 1.0, "fp32", "finite bounds"),
        (math.nan, 1.0, "fp32", "finite bounds"),
        (2.0, 1.0, "fp32", "in order"),
        (-1e300, 1e300, "fp64", "too wide"),
        (0.0, 1.0, "fp12", "no error model"),
    ],
)
def test_what_cannot_be_modelled_is_refused(low: float, high: float, dtype: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        failure_probability(rule("value-equal", "fp32"), dtype, 3, 8, low, high)


def test_rules_that_need_another_array_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be predicted"):
        failure_probability(rule("dual-benchmark", "fp32"), "fp32", 16, 8)


@pytest.mark.parametrize("outputs", [1, 8, 999, 1000, 25_000, 2_000_000])
@pytest.mark.parametrize("probability", [1e-7, 1e-5, 3e-4, 1e-3, 2e-3, 0.3])
@pytest.mark.parametrize("share", [0.0, 1e-4, 1e-3, 1e-2])
def test_binomial_tails(outputs: int, probability: float, share: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    allowed = int(share * outputs)
    exact = float(stats.binom.sf(allowed, outputs, probability))
    assert more_than(allowed, outputs, probability) == pytest.approx(exact, rel=0.15, abs=1e-4)
    assert any_of(outputs, probability) == pytest.approx(float(stats.binom.sf(0, outputs, probability)), rel=1e-6)


@pytest.mark.parametrize("shape", [1.0, 1.25, 2.0, 3.7, 8.0, 23.0])
def test_mixture_tail_by_quadrature(shape: float) -> None:
    """The gamma mixture of normal tails, integrated by brute force."""
    stats = pytest.importorskip("scipy.stats")
    integrate = pytest.importorskip("scipy.integrate")
    variance = stats.gamma(shape, scale=1 / shape)
    for ratio in (0.1, 0.7, 2.0, 4.0, 7.0):
        exact = integrate.quad(
            lambda v, r=ratio: variance.pdf(v) * math.erfc(r / math.sqrt(2 * v)), 0, 60, limit=400, points=(0.01, 1, 9)
        )[0]
        assert mixture_tail(ratio, shape) == pytest.approx(exact, rel=0.02 if shape == int(shape) else 0.45)
