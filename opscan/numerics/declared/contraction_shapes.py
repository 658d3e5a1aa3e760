"""Shapes and orders of matrix products, of chains of them and of Einstein sums, as PyTorch forms them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from opscan.dataclass import dataclass
from opscan.numerics.declared.dtypes import category
from opscan.numerics.declared.shapes import Shape, axis_of, broadcast, sizes
from opscan.numerics.declared.values import Refused, Tensor

__all__ = [
    "chain_order", "cross_product", "einsum_plan", "of_whole", "outer_product", "trilinear_product",
    "vector_product",
]  # fmt: skip


def vector_product(left: Any, right: Any) -> Shape:
    if len(sizes(left)) != 1 or sizes(left) != sizes(right):
        raise Refused("two vectors of one length are needed")
    return ()


def outer_product(left: Any, right: Any) -> Shape:
    if len(sizes(left)) != 1 or len(sizes(right)) != 1:
        raise Refused("two vectors are needed")
    return (*sizes(left), *sizes(right))


def of_whole(value: Any, factors: Sequence[Any], shape: Shape) -> Shape:
    """`shape`; refuses factors that a tensor of whole numbers cannot be multiplied by."""
    dtype = value.dtype if isinstance(value, Tensor) else str(value)
    allowed: tuple[type, ...] = {0: (bool,), 1: (bool, int), 2: (bool, int, float)}.get(category(dtype), (object,))
    if category(dtype) == 0 and all(factor in (0, 1) for factor in factors):
        return shape
    if not all(isinstance(factor, allowed) for factor in factors):
        raise Refused(f"{dtype} is not multiplied by {list(factors)}")
    return shape


def cross_product(left: Any, right: Any, axis: int) -> Shape:
    if len(sizes(left)) != len(sizes(right)):
        raise Refused("both need as many axes")
    shape = broadcast(left, right)
    axis = axis_of(axis, len(shape))
    if not shape or sizes(left)[axis] != 3 or sizes(right)[axis] != 3:
        raise Refused("the axis of a cross product has size 3")
    return shape


def trilinear_product(factors: Sequence[Any], inserted: Sequence[Sequence[int]], summed: Sequence[int]) -> Shape:
    """Each factor gets axes of size 1 at `inserted`; their product loses the axes `summed`."""
    full = []
    for factor, places in zip(factors, inserted, strict=True):
        shape = list(sizes(factor))
        for place in sorted(places):
            shape.insert(place, 1)
        full.append(tuple(shape))
    return tuple(size for axis, size in enumerate(broadcast(*full)) if axis not in summed)


def chain_order(factors: Sequence[Any]) -> Mapping[tuple[int, int], int]:
    """Where the product of the factors `i` to `j` is split so that it takes the fewest multiplications."""
    shapes = [sizes(factor) for factor in factors]
    if any(left[1] != right[0] for left, right in itertools.pairwise(shapes)):
        raise Refused("the factors of a chain do not fit each other")
    edges, count = [shape[0] for shape in shapes] + [shapes[-1][1]], len(shapes)
    cost = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            # of three factors PyTorch takes the left pair where both ways cost the same, of more the first split
            ways = reversed(range(i, j)) if count == 3 else range(i, j)
            price = {k: cost[i, k] + cost[k + 1, j] + edges[i] * edges[k + 1] * edges[j + 1] for k in ways}
            split[i, j] = min(price, key=lambda k: price[k])
            cost[i, j] = price[split[i, j]]
    return split


@dataclass(frozen=True, slots=True)
class EinsumPlan:
    """`labels` of each operand's axes; `order`: those of the common layout, the `kept` ones of the result first.

    `counts`: how many operands are longer than 1 along each axis of the common layout.
    """

    labels: tuple[list[str], ...]
    order: tuple[str, ...]
    kept: int
    counts: Mapping[int, int]


def einsum_plan(equation: str, operands: Sequence[Any]) -> EinsumPlan:
    """Raises Refused where the equation does not fit the operands."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands) or not all(
        re.fullmatch(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*", t) for t in [*terms, output]
    ):
        raise Refused(f"`{equation}` does not fit {len(operands)} operands")
    shapes = [sizes(operand) for operand in operands]
    hidden = max((len(shape) - len(_plain(term)) for term, shape in zip(terms, shapes, strict=True)), default=0)
    labels = tuple(_labelled(term, shape, hidden) for term, shape in zip(terms, shapes, strict=True))
    every = [label for listed in labels for label in listed]
    dots = [f".{place}" for place in range(hidden)] if any("..." in term for term in terms) else []
    if arrow:
        kept = [label for part in re.findall(r"\.\.\.|.", output) for label in (dots if part == "..." else [part])]
        if len(set(kept)) < len(kept) or not set(kept) <= {*every, *dots}:
            raise Refused(f"the result of `{equation}` names a label twice or one that no operand has")
    else:
        kept = dots + sorted(label for label in set(every) if label not in dots and every.count(label) == 1)
    order = (*kept, *sorted(set(every) - set(kept)))
    extents = [_extents(listed, shape) for listed, shape in zip(labels, shapes, strict=True)]
    for label in order:
        if len({extent[label] for extent in extents if extent.get(label, 1) != 1}) > 1:
            raise Refused(f"sizes of `{label}` differ")
    counts = {axis: sum(extent.get(label, 1) != 1 for extent in extents) for axis, label in enumerate(order)}
    return EinsumPlan(labels, order, len(kept), counts)


def _plain(term: str) -> str:
    return term.replace("...", "")


def _labelled(term: str, shape: Shape, hidden: int) -> list[str]:
    """The label of each axis; those that dots stand for are counted from the last one."""
    own = len(shape) - len(_plain(term))
    if own < 0 or (own and "..." not in term):
        raise Refused(f"`{term}` does not fit {list(shape)}")
    before, _, after = term.partition("...")
    return [*before, *(f".{place}" for place in range(hidden - own, hidden)), *after]


def _extents(labels: Sequence[str], shape: Shape) -> dict[str, int]:
    found: dict[str, int] = {}
    for label, size in zip(labels, shape, strict=True):
        if found.setdefault(label, size) != size:
            raise Refused(f"sizes of `{label}` differ")
    return found
