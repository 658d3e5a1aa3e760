"""Families of formulas, by the kinds of their steps: what a prediction was held against emulation for.

`python -m benchmarks.composed --write` scores each and keeps the figures in `rules/families.yaml`.
"""

from __future__ import annotations

from opscan.judging.drifts.shape import is_pointwise, is_single_sum
from opscan.numerics.elements.term import Formula

_SHORT = ("fp16", "bf16")


def family_of(formula: Formula, dtype: str) -> str:
    """The family of a compared tensor, such as `normalised, fp32`; "" where no formula is known."""
    if not formula:
        return ""
    return f"{_kind(formula)}, {'16 bits' if dtype in _SHORT else 'fp32'}"


def _kind(formula: Formula) -> str:
    names = {name for name, *_ in formula}
    if is_single_sum(formula):
        return "single sums"
    if "running" in names:
        return "scans"
    if "dot" in names:
        return "chained products" if names & {"total", "mean", "largest"} else "products"
    if not names & {"total", "mean"}:
        return "elements" if is_pointwise(formula) else "choices"
    return "normalised" if _meets_its_sum(formula) else "sums of elements"


def _meets_its_sum(formula: Formula) -> bool:
    """Whether a sum is combined with single elements, as in softmax; else it is what is left of them."""
    summed: list[bool] = []
    alone: list[bool] = []
    for name, operands, _, _ in formula:
        sums = name in ("total", "mean", "largest")
        summed.append(sums or any(summed[place] for place in operands))
        single = any(alone[place] for place in operands) if operands else name in ("input", "upstream")
        alone.append(single and not sums)
    return summed[-1] and alone[-1]
