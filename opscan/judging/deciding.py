"""The one evaluator that applies a pass rule to two arrays.

ATK's comparators are reproduced here so that a claim such as "this kernel fails that standard" can be computed instead
of asserted: adequacy predicts what `passes` decides.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from opscan.judging.pass_rules import Rule, Verdict, allowed_failures, counted, difference, same_bits, spacing
from opscan.judging.tool_rules import decide

if TYPE_CHECKING:
    from numpy.typing import NDArray


def passes(
    rule: Rule,
    actual: NDArray[Any],
    golden: NDArray[Any],
    *,
    benchmark: NDArray[Any] | None = None,
    golden_dtype: str | None = None,
    denominator: str = "sum",
) -> Verdict:
    """Apply `rule` to two arrays of any shape; bf16 comes as float32 arrays with `rule.dtype` "bf16".

    `golden_dtype` names the golden's dtype where the array cannot (bf16). `denominator`: "sum" for |g| + floor, "max"
    for max(|g|, floor); public copies of single_bm disagree. `benchmark`: the output of a second
    implementation. Raises ValueError for a rule that needs one where it is missing.
    """
    if actual.shape != golden.shape:
        return Verdict(False, 1.0, math.inf, f"shapes differ: {actual.shape} and {golden.shape}")
    if rule.passes in ("value-equal", "bit-equal"):
        same_dtype = actual.dtype == golden.dtype and (golden_dtype or rule.dtype) == rule.dtype
        if not same_dtype:
            return Verdict(False, 1.0, math.inf, "dtypes differ")
        return same_bits(actual, golden) if rule.passes == "bit-equal" else _equal_values(actual, golden)
    if rule.passes == "absolute-step":
        return _within_step(rule, actual, golden)
    if rule.passes not in ("mean-and-max-relative", "share-within-tolerance"):
        return decide(rule, actual, golden, benchmark, denominator)
    return _within_tolerance(rule, actual, golden, denominator)


def _equal_values(actual: NDArray[Any], golden: NDArray[Any]) -> Verdict:
    import numpy as np

    if actual.size and actual.dtype.kind in "fc" and bool(np.isnan(actual).all() and np.isnan(golden).all()):
        return Verdict(True, 0.0, 0.0, "both sides are entirely NaN")
    differing = actual != golden
    return counted(differing, difference(actual, golden), "differ in value")


def _within_step(rule: Rule, actual: NDArray[Any], golden: NDArray[Any]) -> Verdict:
    gap = difference(actual, golden)
    return counted(gap > rule.atol, gap, f"differ by more than {rule.atol:g}")


def _within_tolerance(rule: Rule, actual: NDArray[Any], golden: NDArray[Any], denominator: str) -> Verdict:
    import numpy as np

    if not bool(np.isfinite(golden).all()):
        return Verdict(True, 0.0, 0.0, "the golden holds NaN or Inf: passed unread")
    if not bool(np.isfinite(actual).all()):
        return Verdict(False, float(np.mean(~np.isfinite(actual))), math.inf, "the output holds NaN or Inf")
    if golden.dtype.kind == "c":
        actual, golden = (np.stack([a.real, a.imag]) for a in (actual, golden))
    if not golden.size:
        return Verdict(True, 0.0, 0.0, "empty")
    size = np.abs(golden.astype(np.float64))
    gap = difference(actual, golden)
    if rule.passes == "mean-and-max-relative":
        below = size + rule.floor if denominator == "sum" else np.maximum(size, rule.floor)
        relative = gap / below
        mean, peak = float(relative.mean()), float(relative.max())
        detail = f"mean relative error {mean:.3g} (< {rule.mean:g}), maximum {peak:.3g} (< {rule.peak:g})"
        share = float(np.mean(relative >= rule.peak))
        return Verdict(mean < rule.mean and peak < rule.peak, share, float(gap.max()), detail)
    failing = int(np.count_nonzero(gap > rule.atol + rule.rtol * size))
    beyond = (gap > rule.max_abs) & (gap > rule.max_ulp * spacing(size, rule.dtype))
    detail = f"{failing} of {golden.size} out of tolerance, {int(beyond.sum())} beyond the bound of an element"
    passed = failing <= allowed_failures(rule.share, golden.size) and not bool(beyond.any())
    return Verdict(passed, failing / golden.size, float(gap.max()), detail)
