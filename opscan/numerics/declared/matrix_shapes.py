"""Shapes of factorisations and solutions of matrices, in batches or alone. Each raises Refused where torch would."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opscan.numerics.declared.shapes import Shape, broadcast, sizes
from opscan.numerics.declared.values import Refused, Tensor

__all__ = [
    "batched", "columns", "least", "least_squares", "level", "matrix", "orthogonal", "reflected", "singular",
    "solved", "square", "unpacked",
]  # fmt: skip


def matrix(value: Any) -> Shape:
    shape = sizes(value)
    if len(shape) < 2:
        raise Refused("a matrix has at least two axes")
    return shape


def square(value: Any) -> Shape:
    shape = matrix(value)
    if shape[-1] != shape[-2]:
        raise Refused(f"a matrix of {shape[-2]} rows and {shape[-1]} columns is not square")
    return shape


def least(value: Any) -> int:
    """Rows or columns of a matrix, whichever are fewer."""
    return min(matrix(value)[-2:])


def level(upstream: Sequence[Tensor | None]) -> list[Tensor]:
    """The gradients that are there, without axes: only how their bits came about counts, not their sizes."""
    return [Tensor((given.numel(),), given.dtype, given.bits, given.facts) for given in upstream if given is not None]


def _is_vector(left: Shape, right: Shape) -> bool:
    """Whether the right side of a system is a vector, or a batch of them, for matrices of this shape."""
    return len(right) == 1 or (len(left) - 1 == len(right) and right == left[:-1])


def columns(left: Any, right: Any) -> Tensor:
    """The right side of a system as a matrix of which only the sizes count."""
    shape = sizes(right)
    wide = (*shape, 1) if _is_vector(sizes(left), shape) else shape
    return Tensor(wide, right.dtype, right.bits, right.facts)


def batched(value: Tensor, other: Any) -> Tensor:
    """`value` repeated over the batches of `other`."""
    lead = broadcast(value.shape[:-2], sizes(other)[: max(len(sizes(other)) - 2, 0)])
    return Tensor((*lead, *value.shape[-2:]), value.dtype, value.bits, value.facts)


def solved(left: Any, right: Any, leftwards: bool = True, vectors: bool = True) -> Shape:
    """The solution of a system; `leftwards`: the matrix stands on the left of what is sought."""
    first, second = square(left), sizes(right)
    if vectors and _is_vector(first, second):
        if second[-1] != first[-1] or not leftwards:
            raise Refused(f"{list(first)} and {list(second)} are no system")
        return (*broadcast(first[:-2], second[:-1]), second[-1])
    matrix(second)
    if second[-2 if leftwards else -1] != first[-1]:
        raise Refused(f"{list(first)} and {list(second)} are no system")
    return (*broadcast(first[:-2], second[:-2]), *second[-2:])


def unpacked(value: Any) -> list[Shape]:
    """The permutation and the two triangular factors."""
    *lead, rows, cols = matrix(value)
    inner = min(rows, cols)
    return [(*lead, rows, rows), (*lead, rows, inner), (*lead, inner, cols)]


def orthogonal(value: Any, mode: str) -> list[Shape]:
    *lead, rows, cols = matrix(value)
    if mode not in ("reduced", "complete", "r"):
        raise Refused(f"{mode!r} is no mode of a QR factorisation")
    inner = rows if mode == "complete" else min(rows, cols)
    return [(0,) if mode == "r" else (*lead, rows, inner), (*lead, inner, cols)]


def reflected(value: Any, tau: Any) -> Shape:
    shape, factors = matrix(value), sizes(tau)
    if shape[-2] < shape[-1] or factors[:-1] != shape[:-2] or factors[-1] > shape[-1]:
        raise Refused(f"{list(shape)} and {list(factors)} are no reflectors")
    return shape


def singular(value: Any, full: bool, vectors: bool) -> list[Shape]:
    *lead, rows, cols = matrix(value)
    inner = min(rows, cols)
    if not vectors:
        return [(0,), (*lead, inner), (0,)]
    return [(*lead, rows, rows if full else inner), (*lead, inner), (*lead, cols if full else inner, cols)]


def least_squares(left: Any, right: Any, driver: str | None) -> list[Shape]:
    """Solution, residuals, rank and singular values as the drivers of the CPU give them."""
    shape, given = matrix(left), sizes(right)
    vector = _is_vector(shape, given)
    wide = (*given, 1) if vector else given
    if len(wide) != len(shape) or wide[-2] != shape[-2] or wide[:-2] != shape[:-2]:
        raise Refused(f"{list(shape)} and {list(given)} are no system")
    driver = driver or "gelsy"
    lead, (rows, cols), wanted = shape[:-2], shape[-2:], wide[-1]
    solution = (*lead, cols) if vector else (*lead, cols, wanted)
    residuals = (*lead, wanted) if rows > cols and driver != "gelsy" else (0,)
    rank = lead if driver != "gels" else (0,)
    values = (*lead, min(rows, cols)) if driver in ("gelsd", "gelss") else (0,)
    if math.prod(lead) == 0:
        raise Refused("no system at all")
    return [solution, residuals, rank, values]
