"""What entries of reductions, scans and losses ask of sizes, dtypes and attributes.

Each raises Refused where torch would refuse them.
"""

from __future__ import annotations

import math
from typing import Any

from opscan.numerics.declared.dtypes import HALVES, category, promote, real
from opscan.numerics.declared.shapes import axes_of, axis_of, broadcast, reduced, sizes
from opscan.numerics.declared.values import Dtype, Refused

__all__ = [
    "accumulating", "along", "along_axis", "cdist_shape", "ctc_shapes", "lifted", "moment_arguments",
    "multilabel_shapes", "nll_shapes", "norm_dtype", "norm_shape", "not_half", "quotient", "reduction_number",
    "rounding_dtype",
]  # fmt: skip

_REDUCTIONS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def along(value: Any, axes: Any = None) -> int:
    """How many elements are reduced to one."""
    shape = sizes(value)
    return math.prod(shape[axis] for axis in axes_of(axes, len(shape))) if shape else 1


def lifted(value: Any, axes: Any, rank: int) -> tuple[int, ...]:
    """The sizes of a reduced tensor with 1 in place of the axes that are gone."""
    shape = list(sizes(value))
    if len(shape) < rank:
        for axis in sorted(axes_of(axes, rank)):
            shape.insert(axis, 1)
    return tuple(shape)


def quotient(number: float, divisor: float) -> float:
    """IEEE division of numbers."""
    if divisor:
        return number / divisor
    return math.nan if not number or math.isnan(number) else math.copysign(math.inf, number)


def reduction_number(word: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    """0 none, 1 mean, 2 sum, from the word or from the two flags that it has replaced."""
    if size_average is not None or reduce is not None:
        if reduce is False:
            return 0
        return 2 if size_average is False else 1
    if word not in _REDUCTIONS:
        raise Refused(f"{word} is not a valid value for reduction")
    return _REDUCTIONS[word]


def rounding_dtype(dtype: str) -> Dtype:
    """The dtype, where it is floating or complex. Raises Refused."""
    if category(dtype) < 2:
        raise Refused(f"a mean needs a floating point or complex dtype, not {dtype}")
    return Dtype(dtype)


def norm_dtype(source: str, wanted: str | None) -> Dtype:
    """The real dtype of a norm that is computed in `wanted`. Raises Refused."""
    dtype = wanted or source
    narrows = wanted is not None and promote(source, wanted) != wanted
    if category(source) < 2 or category(dtype) < category(source) or narrows:
        raise Refused(f"a norm of {source} is not computed in {dtype}")
    return real(dtype)


def norm_shape(value: Any, order: float | None, axes: Any, keepdim: bool) -> tuple[int, ...]:
    """A largest or smallest element needs one; so does a negative power."""
    shape = sizes(value)
    order = 2 if order is None else order
    if isinstance(order, complex):
        raise Refused("the order of a norm is no complex number")
    if (order < 0 or order == math.inf) and along(shape, axes) == 0 and 0 not in reduced(shape, axes, False):
        raise Refused(f"the norm of order {order} of nothing")
    return reduced(shape, axes, keepdim)


def moment_arguments(axes: Any, unbiased: bool | None, keepdim: bool, correction: Any) -> dict[str, Any]:
    """The arguments of var.correction from those of its older overloads, whose first may be `unbiased`."""
    if correction is not None and (unbiased is not None or isinstance(axes, bool)):
        raise Refused("`unbiased` and `correction` are two names of one thing")
    if isinstance(axes, bool):
        axes, unbiased = None, axes
    chosen = int(unbiased is not False) if correction is None else correction
    return {"dim": axes, "correction": chosen, "keepdim": keepdim}


def accumulating(dtype: str) -> Dtype:
    """The dtype in which the CPU adds up."""
    wide = {"float16": "float32", "bfloat16": "float32", "float32": "float64", "complex64": "complex128"}
    return Dtype(wide.get(dtype, dtype))


def along_axis(value: Any, axis: int) -> tuple[int, ...]:
    """The shape, where it has this axis. Raises Refused."""
    shape = sizes(value)
    axis_of(axis, len(shape))
    return shape


def cdist_shape(first: Any, second: Any) -> tuple[int, ...]:
    """Of the distances between the rows of two matrices, or of batches of them. Raises Refused."""
    left, right = sizes(first), sizes(second)
    if len(left) < 2 or len(right) < 2 or left[-1] != right[-1]:
        raise Refused(f"there are no distances between the rows of {list(left)} and {list(right)}")
    return (*broadcast(left[:-2], right[:-2]), left[-2], right[-2])


def nll_shapes(value: Any, target: Any, weight: Any, reduction: int) -> list[tuple[int, ...]]:
    """Of the loss and of the total weight; the classes are axis 1, or the only one. Raises Refused."""
    shape, wanted = sizes(value), sizes(target)
    axis = 0 if len(shape) == 1 else 1
    samples = () if axis == 0 else (shape[0], *shape[2:])
    if wanted != samples and not (axis == 0 and math.prod(wanted) == 1 and len(wanted) == 1):
        raise Refused(f"targets of {list(wanted)} do not fit {list(shape)}")
    if weight is not None and sizes(weight) != (shape[axis],):
        raise Refused("a weight for each class is needed")
    return [() if reduction else wanted, ()]


def not_half(tensor: Any, shape: Any) -> Any:
    """`shape`, where a kernel of the CPU exists. Raises Refused for fp16 and bf16."""
    if tensor.dtype in HALVES:
        raise Refused(f"there is no CPU kernel for {tensor.dtype}")
    return shape


def multilabel_shapes(value: Any, target: Any, reduction: int) -> list[tuple[int, ...]]:
    """Of the losses and of the marks of the targets. Raises Refused."""
    if not_half(value, sizes(value)) != sizes(target) and sizes(target):
        raise Refused("the targets have the shape of the input")
    return [() if reduction or value.ndim < 2 else sizes(value)[:1], sizes(target)]


def ctc_shapes(logs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> list[tuple[int, ...]]:
    """Of the losses and of the alignments: a blank around each place of the longest target. Raises Refused."""
    steps, batch = logs.shape[:2]
    given = [
        list(lengths) if isinstance(lengths, (list, tuple)) else [None] * sizes(lengths)[0]
        for lengths in (input_lengths, target_lengths)
    ]
    if any(len(lengths) != batch for lengths in given):
        raise Refused("there must be as many lengths as samples")
    if any(length is not None and not 0 <= length <= steps for length in given[0]):
        raise Refused("an input is longer than there are steps")
    wanted = [length for length in given[1] if length is not None]
    if targets.ndim == 2 and (targets.shape[0] != batch or max(wanted, default=0) > targets.shape[1]):
        raise Refused("a target is longer than the targets have places")
    if targets.ndim == 1 and wanted and sum(wanted) != targets.shape[0]:
        raise Refused("the targets are not as long as their lengths say")
    longest = max(wanted) if wanted else targets.shape[-1]
    return [(batch,), (batch, steps, 2 * longest + 1)]
