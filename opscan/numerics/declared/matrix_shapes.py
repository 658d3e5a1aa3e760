"""Shapes of factorisations and of solutions of linear equations; each raises Refused where torch would."""

from __future__ import annotations

from typing import Any

from opscan.numerics.declared.shapes import Shape, broadcast, sizes
from opscan.numerics.declared.values import NotDeclared, Refused

__all__ = [
    "equation_shape", "least_squares", "lu_shapes", "matrix", "qr_shapes", "solved_shape", "square_matrix",
    "svd_shapes", "unpacked_shapes",
]  # fmt: skip


def matrix(value: Any) -> Shape:
    shape = sizes(value)
    if len(shape) < 2:
        raise Refused("a matrix has two axes")
    return shape


def square_matrix(value: Any) -> Shape:
    shape = matrix(value)
    if shape[-1] != shape[-2]:
        raise Refused(f"{list(shape)} are no square matrices")
    return shape


def solved_shape(coefficients: Any, right: Any, left: bool = True) -> Shape:
    """Of X in AX = B, or in XA = B where the coefficients stand on the right; batches are broadcast."""
    first, second = square_matrix(coefficients), matrix(right)
    if first[-1] != second[-2 if left else -1]:
        raise Refused(f"{list(first)} does not fit {list(second)}")
    return (*broadcast(first[:-2], second[:-2]), *second[-2:])


def equation_shape(coefficients: Any, right: Any, left: bool) -> Shape:
    """As `solved_shape`; `right` may hold vectors, of the same batch as the matrices."""
    first, second = square_matrix(coefficients), sizes(right)
    if len(second) == 1 or (len(second) == len(first) - 1 and second == first[:-1]):
        if not left:
            raise Refused("vectors stand on the right only")
        return solved_shape(coefficients, (*second, 1))[:-1]
    return solved_shape(coefficients, right, left)


def least_squares(coefficients: Any, right: Any, driver: str | None) -> list[Shape]:
    """The solution, the residuals, the rank and the singular values; what a driver does not compute is empty."""
    first, second = matrix(coefficients), sizes(right)
    vector = len(second) == len(first) - 1
    columns = (*second, 1) if vector else second
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss") or len(columns) < 2 or columns[-2] != first[-2]:
        raise Refused(f"{list(first)} does not fit {list(second)}")
    batch = broadcast(first[:-2], columns[:-2])
    solution = (*batch, first[-1], *(() if vector else second[-1:]))
    rest = driver not in (None, "gelsy") and first[-2] > first[-1]
    if rest and vector:
        raise NotDeclared("the residuals of vectors")
    rank = (0,) if driver == "gels" else batch
    values = (*batch, min(first[-2:])) if driver in ("gelsd", "gelss") else (0,)
    return [solution, (*batch, second[-1]) if rest else (0,), rank, values]


def lu_shapes(value: Any, pivot: bool) -> list[Shape]:
    *batch, rows, columns = matrix(value)
    least = min(rows, columns)
    return [(*batch, rows, rows) if pivot else (0,), (*batch, rows, least), (*batch, least, columns)]


def unpacked_shapes(packed: Any, pivots: Any, data: bool, order: bool) -> list[Shape]:
    """Permutation and factors; (0,) for what is not wanted."""
    *batch, rows, columns = matrix(packed)
    if sizes(pivots) != (*batch, min(rows, columns)):
        raise NotDeclared("torch does not check how many pivots there are")
    permutation, lower, upper = lu_shapes(packed, True)
    return [permutation if order else (0,), lower if data else (0,), upper if data else (0,)]


def qr_shapes(value: Any, mode: str) -> list[Shape]:
    *batch, rows, columns = matrix(value)
    if mode not in ("reduced", "complete", "r"):
        raise Refused(f"there is no mode {mode}")
    inner = rows if mode == "complete" else min(rows, columns)
    return [(0,) if mode == "r" else (*batch, rows, inner), (*batch, inner, columns)]


def svd_shapes(value: Any, whole: bool, vectors: bool) -> list[Shape]:
    *batch, rows, columns = matrix(value)
    least = min(rows, columns)
    if not vectors:
        return [(0,), (*batch, least), (0,)]
    left, right = (rows, columns) if whole else (least, least)
    return [(*batch, rows, left), (*batch, least), (*batch, right, columns)]
