"""The pass rules that no ATK comparator of today has: ratios to a benchmark, and the rules of the tools around ATK.

They are here so that one evaluator answers for every published standard. a: output under test, g: golden, b: benchmark
(a second implementation). Where two public copies of a rule disagree, `denominator` chooses (see `pass_rules.passes`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from opscan.judging.pass_rules import Rule, Verdict, allowed_failures, difference, same_bits, spacing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KOLMOGOROV = 0.01
"""The p value that a distribution must exceed."""
_NPU_MINIMUM = {"fp16": 6e-8}


def decide(
    rule: Rule, actual: NDArray[Any], golden: NDArray[Any], benchmark: NDArray[Any] | None, denominator: str
) -> Verdict:
    """Apply one of the rules of this module. Raises ValueError for a benchmark rule without a benchmark."""
    if rule.passes == "repeat-bitwise":
        return same_bits(actual, golden)
    if rule.passes == "ks-test":
        return _same_distribution(rule, actual, golden)
    actual, golden = _in_parts(actual), _in_parts(golden)
    if rule.passes in ("ratio-to-benchmark", "small-value-count"):
        if benchmark is None:
            raise ValueError(f"{rule.passes} cannot be decided from an output and its golden alone")
        if rule.passes == "small-value-count":
            return _by_small_values(rule, actual, golden, _in_parts(benchmark))
        return _against_benchmark(rule, actual, golden, _in_parts(benchmark), denominator)
    return _against_golden(rule, actual, golden)


def _in_parts(values: NDArray[Any]) -> NDArray[Any]:
    """The real and the imaginary part of complex values, one beside the other; other values as they are."""
    import numpy as np

    return np.stack([values.real, values.imag]) if values.dtype.kind == "c" else values


def _against_golden(rule: Rule, actual: NDArray[Any], golden: NDArray[Any]) -> Verdict:
    """Rules of one output and one golden; NaN must meet NaN, and infinity an infinity of its sign."""
    import numpy as np

    if not golden.size:
        return Verdict(True, 0.0, 0.0, "empty")
    finite = np.isfinite(golden)
    with np.errstate(invalid="ignore"):
        alike = (actual == golden) | (np.isnan(actual) & np.isnan(golden)) | (finite & np.isfinite(actual))
    if not bool(alike.all()):
        return Verdict(False, float(np.mean(~alike)), math.inf, "NaN or Inf where the golden has none, or the reverse")
    actual, golden = actual[finite], golden[finite]
    gap, size = difference(actual, golden), np.abs(golden.astype(np.float64))
    if rule.passes == "ulp-count":
        return _by_units(rule, gap, size)
    if rule.passes == "either-tolerance":
        return _either(rule, gap, np.maximum(size, np.abs(actual.astype(np.float64))))
    if rule.passes == "absolute-threshold":
        bound = np.where(size < rule.small, rule.small_error, rule.rtol * size)
    else:
        bound = rule.rtol * np.maximum(size, 1.0)
    failing = int(np.count_nonzero(gap > bound))
    signed = (actual.astype(np.float64) - golden.astype(np.float64)) / np.maximum(size, 1.0)
    balance = abs(float(signed.mean())) if gap.size else 0.0
    passed = failing <= allowed_failures(rule.share, gap.size) and balance <= rule.balance
    return _counted(passed, failing, gap, f"{failing} of {gap.size} out of tolerance, balance {balance:.3g}")


def _by_units(rule: Rule, gap: NDArray[np.float64], size: NDArray[np.float64]) -> Verdict:
    units = gap / spacing(size, rule.dtype)
    mean, failing = float(units.mean()) if gap.size else 0.0, int((units > rule.max_ulp).sum())
    share = failing / max(gap.size, 1)
    detail = f"mean {mean:.3g} ULP (< {rule.mean:g}), {share:.3g} of the elements above {rule.max_ulp:g} ULP"
    return _counted(mean < rule.mean or share < rule.share, failing, gap, detail)


def _either(rule: Rule, gap: NDArray[np.float64], size: NDArray[np.float64]) -> Verdict:
    """Fails only if too many elements break the absolute bound and too many, perhaps others, the relative one."""
    relative = int((gap > rule.rtol * (size + _NPU_MINIMUM.get(rule.dtype, 1e-9))).sum())
    absolute = int((gap > rule.atol).sum())
    allowed = rule.share * gap.size
    passed = not (absolute and relative and absolute > allowed and relative > allowed)
    return _counted(
        passed, min(relative, absolute), gap, f"{relative} above the relative, {absolute} the absolute bound"
    )


def _against_benchmark(
    rule: Rule, actual: NDArray[Any], golden: NDArray[Any], benchmark: NDArray[Any], denominator: str
) -> Verdict:
    """Errors of the output over errors of the benchmark: maximum and mean relative, root mean square, small values."""
    import numpy as np

    if not bool(np.isfinite(benchmark).all()):
        return Verdict(True, 0.0, 0.0, "the benchmark holds NaN or Inf: passed unread")
    if not bool(np.isfinite(actual).all()):
        return Verdict(False, float(np.mean(~np.isfinite(actual))), math.inf, "the output holds NaN or Inf")
    if not golden.size:
        return Verdict(True, 0.0, 0.0, "empty")
    size = np.abs(golden.astype(np.float64))
    large = size > rule.small
    below = (size + 1e-7 if denominator == "sum" else np.maximum(size, 1e-7))[large]
    gaps = [difference(side, golden) for side in (actual, benchmark)]
    errors = []
    for gap in gaps:
        relative = gap[large] / below
        empty = not relative.size
        errors.append(
            (
                0.0 if empty else float(relative.max()),
                0.0 if empty else float(relative.mean()),
                0.0 if empty else math.sqrt(float((gap[large] ** 2).mean())),
            )
        )
    ratios = [error / max(usual, rule.floor) for error, usual in zip(*errors, strict=True)]
    mine, other = (int((gap[~large] > rule.small_error).sum()) for gap in gaps)
    small = mine / max(other, 1)
    passed = all(ratio <= limit for ratio, limit in zip(ratios, rule.ratios, strict=True)) and small <= rule.small_ratio
    shown = ", ".join(f"{ratio:.3g} (<= {limit:g})" for ratio, limit in zip(ratios, rule.ratios, strict=True))
    same = "; golden and benchmark hold the same values" if not gaps[1].any() else ""
    return _counted(
        passed,
        int((gaps[0] > 0).sum()),
        gaps[0],
        f"ratios {shown}; small values {small:.3g} (<= {rule.small_ratio:g}){same}",
    )


def _by_small_values(rule: Rule, actual: NDArray[Any], golden: NDArray[Any], benchmark: NDArray[Any]) -> Verdict:
    """Wrong values of the output where the golden is small, over those of the benchmark, which count as one at least.

    A golden up to `small` is small, zeros and subnormals included; an error above `small_error` is wrong, and so is
    NaN or Inf. Larger values, and a golden of NaN or Inf, are none of this rule's business.
    """
    import numpy as np

    with np.errstate(invalid="ignore"):
        inside = np.abs(golden.astype(np.float64)) <= rule.small
    gaps = [difference(side, golden)[inside] for side in (actual, benchmark)]
    mine, other = (int((gap > rule.small_error).sum()) for gap in gaps)
    ratio = mine / max(other, 1)
    counts = f"{mine} of {int(inside.sum())} small values wrong, {other} in the benchmark"
    return _counted(ratio <= rule.small_ratio, mine, gaps[0], f"{counts}: {ratio:.3g} (<= {rule.small_ratio:g})")


def _same_distribution(rule: Rule, actual: NDArray[Any], golden: NDArray[Any]) -> Verdict:
    """The two-sample Kolmogorov-Smirnov test, by its asymptotic distribution."""
    import numpy as np

    left, right = np.sort(actual, axis=None), np.sort(golden, axis=None)
    if not left.size or not right.size:
        return Verdict(left.size == right.size, 0.0, 0.0, "empty")
    if bool(np.isnan(left).any() or np.isnan(right).any()):
        return Verdict(False, 1.0, math.inf, "a sample holds NaN")
    places = np.concatenate([left, right])
    shares = [np.searchsorted(one, places, side="right") / one.size for one in (left, right)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    root = math.sqrt(left.size * right.size / (left.size + right.size))
    reach = (root + 0.12 + 0.11 / root) * distance
    p = 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * reach) ** 2) for k in range(1, 101)) if reach > 0.2 else 1.0
    level = rule.share or _KOLMOGOROV
    return Verdict(
        p > level, distance, distance, f"KS distance {distance:.3g}, p {min(max(p, 0.0), 1.0):.3g} (> {level:g})"
    )


def _counted(passed: bool, failing: int, gap: NDArray[np.float64], detail: str) -> Verdict:
    worst = float(gap.max()) if gap.size else 0.0
    return Verdict(passed, failing / max(gap.size, 1), worst, detail)
