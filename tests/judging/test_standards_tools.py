"""The evaluator on the rules of the tools around ATK: worked examples from the formulas, and the awkward values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from opscan.judging.deciding import passes
from opscan.judging.pass_rules import Rule
from opscan.judging.standards import load_standards

NAN, INF = math.nan, math.inf


def level(name: str, dtype: str = "fp32") -> Rule:
    found = load_standards().at_level("dual-benchmark", dtype, name)
    assert found is not None
    return found


L0, L1, L2 = (level(name) for name in ("L0", "L1", "L2"))
ABSOLUTE = Rule("absolute-threshold", "fp32", rtol=2**-20, small=2**-20, small_error=2**-30)
ULP = Rule("ulp-count", "fp32", max_ulp=32, share=0.05, mean=64)
ULP16 = Rule("ulp-count", "fp16", max_ulp=1, share=0.001, mean=0)
ACCUMULATIVE = Rule("unit-floor", "fp32", rtol=2**-11)
BALANCED = Rule("unit-floor", "fp32", rtol=2**-8, balance=2**-10)
OPTEST = Rule("unit-floor", "fp32", rtol=1e-4, share=1e-4)
NPU = Rule("either-tolerance", "fp32", rtol=1e-4, atol=1e-4, share=1e-4)
THOUSANDTH = Rule("share-within-tolerance", "fp32", rtol=1e-3, share=1e-3)
JULY = Rule("share-within-tolerance", "fp32", rtol=2**-10, atol=2**-16, share=0.01, max_abs=1e-2, max_ulp=32)
ONES = [1.0] * 99


def given(values: Any, dtype: str) -> Any:
    return np.array(values, {"fp16": np.float16, "fp32": np.float32, "bf16": np.float32}[dtype])


EXAMPLES: list[tuple[str, Rule, Any, Any, bool]] = [
    ("AbsoluteThresh: 2^-20 relative", ABSOLUTE, [1 + 2**-21], [1.0], True),
    ("AbsoluteThresh: above it", ABSOLUTE, [1 + 2**-19], [1.0], False),
    ("AbsoluteThresh: small values by 2^-30", ABSOLUTE, [2**-21 + 2**-31], [2**-21], True),
    ("AbsoluteThresh: small values above", ABSOLUTE, [2**-21 + 2**-29], [2**-21], False),
    ("AbsoluteThresh: a NaN on both sides", ABSOLUTE, [NAN, 1.0], [NAN, 1.0], True),
    ("AbsoluteThresh: a NaN on one side", ABSOLUTE, [NAN, 1.0], [1.0, 1.0], False),
    ("AbsoluteThresh: infinities of one sign", ABSOLUTE, [INF], [INF], True),
    ("AbsoluteThresh: infinities of two signs", ABSOLUTE, [INF], [-INF], False),
    ("AbsoluteThresh: signed zeros", ABSOLUTE, [0.0], [-0.0], True),
    ("AbsoluteThresh: subnormals", ABSOLUTE, [1e-45], [0.0], True),
    ("ULP: all 33 units off, mean below 64", ULP, [1 + 33 * 2**-23] * 10, [1.0] * 10, True),
    ("ULP: all 65 units off", ULP, [1 + 65 * 2**-23] * 10, [1.0] * 10, False),
    ("ULP: 1 % far off, share below 5 %", ULP, [2.0, *ONES], [1.0, *ONES], True),
    ("ULP: fp16, one element in 100 by two units", ULP16, [1 + 2**-9, *ONES], [1.0, *ONES], False),
    ("ULP: fp16, all by one unit", ULP16, [1 + 2**-10] * 9, [1.0] * 9, True),
    ("Accumulative: absolute below 1", ACCUMULATIVE, [2**-12], [0.0], True),
    ("Accumulative: relative above 1", ACCUMULATIVE, [1000 + 0.4], [1000.0], True),
    ("Accumulative: above", ACCUMULATIVE, [1000 + 0.6], [1000.0], False),
    ("ATB: in bounds, but all to one side", BALANCED, [1 + 2**-9] * 8, [1.0] * 8, False),
    ("ATB: to both sides", BALANCED, [1 + 2**-9, 1 - 2**-9] * 4, [1.0] * 8, True),
    ("AscendOpTest: one bad point of 100", OPTEST, [1.1, *ONES], [1.0, *ONES], False),
    ("AscendOpTest: below 1 by 1e-4", OPTEST, [0.00009], [0.0], True),
    ("torch_npu: relative far off, absolute fine", NPU, [5e-5], [1e-5], True),
    ("torch_npu: absolute far off, relative fine", NPU, [1e6 + 50], [1e6], True),
    ("torch_npu: both", NPU, [1.1, *ONES], [1.0, *ONES], False),
    ("msprobe thousandth: a zero", THOUSANDTH, [1e-9, *ONES], [0.0, *ONES], False),
    ("ecosystem of July: 1 % of any size below the limit", JULY, [0.009, *ONES], [0.0, *ONES], True),
    ("ecosystem of July: one above the limit", JULY, [0.011, *ONES], [0.0, *ONES], False),
    ("ecosystem of July: large values by 32 units", JULY, [1e6 + 1.9], [1e6], True),
]


@pytest.mark.parametrize(
    ("rule", "actual", "golden", "passed"), [row[1:] for row in EXAMPLES], ids=[r[0] for r in EXAMPLES]
)
def test_worked_examples(rule: Rule, actual: Any, golden: Any, passed: bool) -> None:
    assert passes(rule, given(actual, rule.dtype), given(golden, rule.dtype)).passed is passed


@pytest.mark.parametrize(
    ("rule", "off", "benchmark_off", "passed"),
    [
        # The floor always passes an error of 6.1e-4 at its maximum: ten times 2^-14.
        (L0, [6e-4] + [0.0] * 99, [0.0] * 100, True),
        (L0, [6.5e-4] + [0.0] * 99, [0.0] * 100, False),
        (L0, [1.2e-4] * 100, [0.0] * 100, True),
        (L0, [1.3e-4] * 100, [0.0] * 100, False),
        (L0, [1.9e-3] * 100, [1e-3] * 100, True),
        (L0, [2.1e-3] * 100, [1e-3] * 100, False),
        (L1, [1.9e-3] * 100, [1e-3] * 100, False),
        (L1, [1.4e-3] * 100, [1e-3] * 100, True),
        (L2, [1.4e-3] * 100, [1e-3] * 100, False),
        (L2, [1.1e-3] * 100, [1e-3] * 100, True),
    ],
)
def test_ratios_to_a_benchmark(rule: Rule, off: list[float], benchmark_off: list[float], passed: bool) -> None:
    golden = np.ones(100, np.float32)
    actual, benchmark = ((golden + np.array(one)).astype(np.float32) for one in (off, benchmark_off))
    assert passes(rule, actual, golden, benchmark=benchmark).passed is passed


def test_the_levels_have_the_published_numbers() -> None:
    assert (L0.ratios, L1.ratios, L2.ratios) == ((10, 2, 2), (5, 1.5, 1.5), (2, 1.2, 1.2))
    assert (L0.floor, L0.small, L0.small_error) == (2**-14, 2**-14, 2**-30)
    assert (level("L1", "bf16").floor, level("L1", "bf16").small_error) == (2**-8, 2**-16)
    assert load_standards().at_level("dual-benchmark", "fp64", "L0") is None


def test_small_values_are_counted_apart() -> None:
    golden = np.full(100, 1e-5, np.float32)
    off = golden.copy()
    off[:2] += 1e-8
    assert passes(L0, off, golden, benchmark=golden).passed
    off[2] += 1e-8
    verdict = passes(L0, off, golden, benchmark=golden)
    assert not verdict.passed
    assert "golden and benchmark hold the same values" in verdict.detail


def small(dtype: str = "fp32") -> Rule:
    found = load_standards().rule("small-value-count", dtype)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("wrong", "benchmark_wrong", "passed"),
    [(0, 0, True), (2, 0, True), (3, 0, False), (2, 1, True), (3, 1, False), (10, 5, True), (11, 5, False)],
)
def test_small_values_are_counted_against_those_of_the_benchmark(
    wrong: int, benchmark_wrong: int, passed: bool
) -> None:
    """count(a) / max(count(b), 1) <= 2, an error above 2^-30 in fp32 being one."""
    golden = np.concatenate([np.full(90, 2**-15), np.ones(10)]).astype(np.float32)
    actual, benchmark = golden.copy(), golden.copy()
    actual[:wrong] += np.float32(2**-29)
    benchmark[:benchmark_wrong] -= np.float32(2**-29)
    actual[90:] = 2  # outside the domain, which is not this rule's business
    verdict = passes(small(), actual, golden, benchmark=benchmark)
    assert verdict.passed is passed
    assert f"{wrong} of 90 small values wrong, {benchmark_wrong} in the benchmark" in verdict.detail


@pytest.mark.parametrize(
    ("dtype", "domain", "bound"),
    [
        ("fp16", 2**-11, 2**-16),
        ("bf16", 2**-8, 2**-16),
        ("fp32", 2**-14, 2**-30),
        ("hf32", 2**-12, 2**-28),
        ("fp8e4m3", 2**-4, 2**-6),
        ("fp8e5m2", 2**-3, 2**-5),
    ],
)
def test_the_domain_of_small_values_is_the_published_one(dtype: str, domain: float, bound: float) -> None:
    """Both bounds belong to the good side: a golden at the domain's is small, an error at the other's is none."""
    golden = np.full(4, domain, np.float32)
    for error, passed in ((bound, True), (1.5 * bound, False)):
        assert passes(small(dtype), golden + np.float32(error), golden, benchmark=golden).passed is passed
    beyond = np.full(4, 1.5 * domain, np.float32)
    assert passes(small(dtype), beyond + 1, beyond, benchmark=beyond).passed


def test_small_values_that_are_awkward() -> None:
    rule = small()
    zeros = given([0.0, -0.0, 1e-45, 0.0], "fp32")
    assert passes(rule, -zeros, zeros, benchmark=zeros).passed
    assert not passes(rule, given([NAN, INF, -INF, 0.0], "fp32"), zeros, benchmark=zeros).passed
    assert passes(rule, given([NAN, INF, 0.0, 0.0], "fp32"), zeros, benchmark=zeros).passed
    broken = given([NAN, INF, -INF, 1.0], "fp32")
    assert passes(rule, zeros, broken, benchmark=zeros).passed
    for shape in ((0,), ()):
        assert passes(rule, np.zeros(shape, np.float32), np.zeros(shape, np.float32), benchmark=np.zeros(shape)).passed
    pair = np.full(2, complex(2**-20, 2**-20), np.complex64)
    off = pair + np.complex64(complex(2**-29, 2**-29))
    assert "4 of 4 small values wrong" in passes(rule, off, pair, benchmark=pair).detail
    with pytest.raises(ValueError, match="golden alone"):
        passes(rule, zeros, zeros)


def test_nan_against_a_benchmark() -> None:
    ones, broken = np.ones(4, np.float32), given([1, NAN, 1, 1], "fp32")
    assert passes(L0, ones, ones, benchmark=broken).passed
    assert not passes(L0, broken, ones, benchmark=ones).passed
    with pytest.raises(ValueError, match="golden alone"):
        passes(L0, ones, ones)


def test_distributions() -> None:
    rng = np.random.default_rng(1)
    golden = rng.normal(size=4000).astype(np.float32)
    rule = load_standards().rule("distribution", "fp32")
    assert rule is not None
    assert passes(rule, rng.normal(size=4000).astype(np.float32), golden).passed
    assert not passes(rule, rng.normal(0.2, 1, 4000).astype(np.float32), golden).passed
    assert not passes(rule, np.zeros(4000, np.float32), golden).passed
    assert not passes(rule, np.full(4000, NAN, np.float32), golden).passed
    stats = pytest.importorskip("scipy.stats")
    for shift in (0.0, 0.02, 0.04, 0.06):
        other = rng.normal(shift, 1, 4000).astype(np.float32)
        assert passes(rule, other, golden).passed is bool(stats.ks_2samp(other, golden).pvalue > 0.01)


def test_runs_repeat_bit_by_bit() -> None:
    rule = load_standards().rule("run-to-run", "fp32")
    assert rule is not None
    first = given([1, NAN, -0.0], "fp32")
    assert passes(rule, first, first.copy()).passed
    assert not passes(rule, first, given([1, NAN, 0.0], "fp32")).passed


ALL = [L0, ABSOLUTE, ULP, ACCUMULATIVE, BALANCED, NPU, THOUSANDTH, JULY]


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.passes)
def test_empty_and_scalar_tensors(rule: Rule) -> None:
    for shape in ((), (0,), (3, 0), (1,)):
        ones = np.ones(shape, np.float32)
        assert passes(rule, ones, ones, benchmark=ones).passed
        if ones.size:
            assert not passes(rule, ones * 2, ones, benchmark=ones).passed


@pytest.mark.parametrize(
    "name", ["value-equal", "bit-equal", "single-benchmark", "mixed-tolerance", "double-thousandth"]
)
def test_standards_on_scalars_and_subnormals(name: str) -> None:
    rule = load_standards().rule(name, "fp32")
    assert rule is not None
    assert passes(rule, np.array(1.0, np.float32), np.array(1.0, np.float32)).passed
    assert not passes(rule, np.array(1.5, np.float32), np.array(1.0, np.float32)).passed
    tiny = np.array([1e-45], np.float32)
    assert passes(rule, np.zeros(1, np.float32), tiny).passed is (name not in ("value-equal", "bit-equal"))


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.passes)
def test_complex_tensors_are_judged_by_their_parts(rule: Rule) -> None:
    golden = np.full(200, 1 + 1j, np.complex64)
    assert passes(rule, golden, golden, benchmark=golden).passed
    assert not passes(rule, golden + np.complex64(1j), golden, benchmark=golden).passed


def test_a_golden_of_another_precision() -> None:
    """A float64 golden serves every tolerance; torch.equal refuses it for its dtype alone."""
    actual, golden = np.float32([1.0, 0.1]), np.array([1.0, 0.1])
    for name, passed in (("mixed-tolerance", True), ("single-benchmark", True), ("value-equal", False)):
        rule = load_standards().rule(name, "fp32")
        assert rule is not None
        assert passes(rule, actual, golden).passed is passed


@pytest.mark.parametrize(
    ("actual", "golden", "passed"), [([-128], [127], False), ([5, -5], [6, -6], True), ([0], [2], False)]
)
def test_int8_passes_by_one_step(actual: list[int], golden: list[int], passed: bool) -> None:
    rule = load_standards().rule("quantised", "int8")
    assert rule is not None
    assert passes(rule, np.array(actual, np.int8), np.array(golden, np.int8)).passed is passed
