"""The error model against emulated sums: predicted and measured failure rates, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pytest
from emulated_sums import drawn, pairs_of_results
from ladder_steps import strictest_adequate
from numpy.typing import NDArray
from scipy.stats import binom

from opscan.judging.adequacy import failure_probability
from opscan.judging.pass_rules import Rule, allowed_failures, spacing
from opscan.judging.standards import load_standards

EXTENTS = (3, 8, 16, 64, 256, 1024, 2048, 4096, 16384, 65536)
RANGES = ((-1, 1), (-5, 5), (0, 1), (-100, 100))
OUTPUTS = (8, 32, 128, 512, 4096, 32768, 100000)
ELEMENTS = 1_500_000
DENSE = {(-5, 4096): 11_000, (-100, 1024): 16_000, (-100, 2048): 8_000, (-100, 4096): 5_000}
"""Outputs where the absolute terms begin to fail: one element in a thousand there, so more of them are needed."""
RULES = {
    "fp32": (
        "double-ten-thousandth",
        "double-thousandth",
        "double-ten-thousandth-relative",
        "double-thousandth-relative",
        "single-benchmark",
        "mixed-tolerance",
    ),
    "fp16": ("double-thousandth", "double-thousandth-relative"),
    "bf16": ("double-thousandth", "double-hundredth"),
}

Counts = tuple[int, int, int]


def broken(rule: Rule, output: NDArray[np.float64], golden: NDArray[np.float64]) -> Counts:
    """Elements out of tolerance, elements beyond the bound of an element, and all elements."""
    gap, size = np.abs(output - golden), np.abs(golden)
    if rule.passes == "mean-and-max-relative":
        return int((gap >= rule.peak * (size + rule.floor)).sum()), 0, gap.size
    beyond = (gap > rule.max_abs) & (gap > rule.max_ulp * spacing(size, rule.dtype))
    return int((gap > rule.atol + rule.rtol * size).sum()), int(beyond.sum()), gap.size


@lru_cache(maxsize=1)
def measured() -> dict[tuple[str, str, tuple[int, int], int], Counts]:
    """The worst pair of orders per dtype, standard, range and extent."""
    rng = np.random.default_rng(20240)
    data = load_standards()
    found = {}
    for dtype, names in RULES.items():
        for low, high in RANGES if dtype == "fp32" else RANGES[1:3]:
            for extent in EXTENTS:
                count = min(100_000, ELEMENTS // extent)
                if dtype == "fp32":
                    count = max(count, DENSE.get((low, extent), 0))
                pairs = pairs_of_results(drawn(rng, (extent, count), (low, high), dtype), dtype, rng)
                for name in names:
                    rule = data.rule(name, dtype)
                    assert rule is not None
                    counts = (broken(rule, output, golden) for _, output, golden in pairs)
                    found[dtype, name, (low, high), extent] = max(counts, key=lambda c: c[0] + c[1])
    return found


def rate(rule: Rule, counts: Counts, outputs: int) -> float:
    """The share of cases of so many outputs that fail, from the measured share of elements (they are independent)."""
    failing, beyond, total = counts
    share = binom.sf(allowed_failures(rule.share, outputs), outputs, failing / total)
    return float(1 - (1 - share) * (1 - beyond / total) ** outputs)


def cells() -> Iterator[tuple[str, float, float]]:
    """(label, measured, predicted) wherever the measured rate is 0.5 % to 50 % and rests on 10 elements or more."""
    data = load_standards()
    for (dtype, name, (low, high), extent), counts in measured().items():
        rule = data.rule(name, dtype)
        assert rule is not None
        if max(counts[:2]) < 10:
            continue
        for outputs in OUTPUTS:
            seen = rate(rule, counts, outputs)
            if 0.005 <= seen <= 0.5:
                predicted = failure_probability(rule, dtype, extent, outputs, low, high)
                yield f"{dtype} {name} [{low}, {high}] n={extent} R={outputs}", seen, predicted


def test_predicted_rates_agree_with_measured_ones() -> None:
    table = list(cells())
    far = [f"{label}: {seen:.3g} predicted {p:.3g}" for label, seen, p in table if not seen / 3 <= p <= seen * 3]
    assert len(table) >= 40
    assert {label.split()[1] for label, _, _ in table} >= {"double-ten-thousandth", "mixed-tolerance"}
    assert len(far) <= len(table) // 10, "\n".join(far)


def test_no_prediction_is_refuted_by_elements_that_never_fail() -> None:
    """Where nothing failed in N elements, one element may not have been predicted to fail far above 1/N."""
    data = load_standards()
    refuted = []
    for (dtype, name, (low, high), extent), (failing, beyond, total) in measured().items():
        rule = data.rule(name, dtype)
        assert rule is not None
        if failing + beyond == 0 and rule.passes == "share-within-tolerance":
            element = failure_probability(rule, dtype, extent, 1, low, high)
            if element * total > 12:
                refuted.append(f"{dtype} {name} [{low}, {high}] n={extent}: {element:.3g} of {total}")
    assert not refuted, "\n".join(refuted)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_correct_kernels_pass_what_is_recommended(dtype: str) -> None:
    """Every order against every golden, in cases of R outputs, under the strictest adequate standard."""
    rng = np.random.default_rng(7)
    data = load_standards()
    for low, high in ((-5, 5), (-1, 1), (0, 1), (-100, 100)):
        for extent in (3, 16, 256, 1024, 4096, 16384):
            count = min(20_000, 1_500_000 // extent)
            pairs = pairs_of_results(drawn(rng, (extent, count), (low, high), dtype), dtype, rng)
            for outputs in (8, 1000, 100_000):
                name, predicted = strictest_adequate(dtype, extent, outputs, low, high)
                assert name != "value-equal"
                assert predicted < 0.01
                rule = data.rule(name, dtype)
                assert rule is not None
                for orders, output, golden in pairs:
                    counts = broken(rule, output, golden)
                    # A handful of failing elements cannot measure a rate: let three of them be chance.
                    fair = (max(counts[0] - 3, 0), max(counts[1] - 3, 0), counts[2])
                    assert rate(rule, fair, outputs) < 0.01, (dtype, low, high, extent, outputs, name, orders, counts)
