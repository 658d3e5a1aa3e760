"""What kind of formula it is: one sum, or elements alone."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from opscan.judging.floating import SHORT
from opscan.numerics.elements.term import Formula

_GROUPED = frozenset({"total", "dot", "mean", "largest", "running", "either"})
_LINEAR = frozenset({"input", "upstream", "number", "ratio", "elsewhere", "cast", "neg", "total", "dot", "mean"})
"""Steps of a single sum; products of two inputs are among them where they are added up."""
_CHOOSING = frozenset({"where", "less", "equal", "maximum", "minimum", "either"})
"""Steps that choose among elements: what a mask leaves is still one sum."""
_LEAVES = frozenset({"input", "upstream", "elsewhere"})


@lru_cache(maxsize=65536)
def is_pointwise(formula: Formula) -> bool:
    """Whether each element depends on elements of the inputs alone."""
    return all(
        name not in _GROUPED and (name != "elsewhere" or formula[operands[0]][0] in ("input", "upstream", "elsewhere"))
        for name, operands, _, _ in formula
    )


@lru_cache(maxsize=65536)
def is_single_sum(formula: Formula) -> bool:
    """Whether one sum of inputs, of those that a mask lets through, or of products of two is all there is."""
    sums = products = 0
    for name, operands, _, dtype in formula:
        given = [formula[place][0] for place in operands]
        if name in ("total", "dot", "mean"):
            sums += 1
        elif name in ("mul", "div") and any(map(_scales, (formula[place] for place in operands))):
            continue
        elif name == "mul" and dtype not in SHORT and all(one in _LEAVES for one in given):
            products += 1
        elif name not in _LINEAR and name not in _CHOOSING:
            return False
    return sums == 1 and products <= 1


def _scales(step: tuple[str, tuple[int, ...], tuple[Any, ...], str]) -> bool:
    """Whether a step is a number that only moves the exponent."""
    return step[0] == "number" and abs(math.frexp(step[2][0])[0]) in (0.0, 0.5)


@lru_cache(maxsize=65536)
def chooses(formula: Formula) -> bool:
    """Whether some step chooses among elements."""
    return any(name in _CHOOSING for name, *_ in formula)
