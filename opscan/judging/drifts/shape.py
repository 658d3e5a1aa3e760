"""What kind of formula it is: one sum, or elements alone."""

from __future__ import annotations

from opscan.numerics.elements.term import Formula

_GROUPED = frozenset({"total", "dot", "mean", "largest", "running", "either"})


def is_pointwise(formula: Formula) -> bool:
    """Whether each element depends on elements of the inputs alone."""
    return all(
        name not in _GROUPED and (name != "elsewhere" or formula[operands[0]][0] in ("input", "upstream", "elsewhere"))
        for name, operands, _, _ in formula
    )
