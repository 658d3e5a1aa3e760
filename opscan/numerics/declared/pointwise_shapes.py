"""What entries of element by element operators say of shapes, dtypes and numbers.

Each raises Refused where torch would.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import Any, NoReturn

from opscan.numerics.declared import dtypes
from opscan.numerics.declared.shapes import Shape, axis_of, broadcast, resized_axis
from opscan.numerics.declared.values import Dtype, NotDeclared, Refused, Tensor

__all__ = [
    "bounded", "chance", "channelled", "channels_of", "clamped", "divided", "drawn_dtype", "filled_dtype", "halved",
    "is_dtype", "log_of", "loss_shape", "no_derivative", "not_grown", "overwritable", "picked", "raised",
    "ramp_dtype", "ramp_length", "same_dtype", "same_parts", "scaled", "sized", "spread_dtype", "triangle",
    "written_over",
]  # fmt: skip


def is_dtype(value: Any) -> bool:
    return isinstance(value, Dtype)


def no_derivative(name: str) -> NoReturn:
    """What an entry says for an input that torch differentiates the call without."""
    raise Refused(f"the derivative of {name} is not implemented")


def overwritable(value: Tensor, inplace: bool) -> Tensor:
    """`value`, into which the result is to be written if `inplace`."""
    if inplace and value.requires_grad and value.node is None:
        raise Refused("an input that wants a gradient is not written over")
    return value


def written_over(value: Tensor, other: Any) -> Shape:
    """The shape of `value`, in which a result of both must fit."""
    if broadcast(value, other) != value.shape:
        raise Refused(f"a result of shape {list(broadcast(value, other))} does not fit one of {list(value.shape)}")
    return value.shape


def scaled(dtype: Dtype, factor: Any) -> Dtype:
    """The dtype of a result that a number multiplies on its way."""
    if dtypes.category(dtype) < 2 and not isinstance(factor, int):
        raise Refused(f"{factor} cannot multiply what becomes {dtype}")
    if isinstance(factor, bool) and dtype != "bool":
        raise Refused("only what is bool can be multiplied by True or False")
    if isinstance(factor, complex) and not dtype.is_complex:
        raise Refused(f"{factor} cannot multiply what becomes {dtype}")
    return dtype


def divided(dtype: Dtype, rounding_mode: str | None) -> Dtype:
    """The dtype of a quotient of numbers that have this one together."""
    if rounding_mode is None:
        return dtypes.floating(dtype)
    if rounding_mode not in ("trunc", "floor"):
        raise Refused(f"{rounding_mode} is no rounding mode")
    if dtype.is_complex or dtype == "bool":
        raise Refused(f"a quotient of {dtype} is not rounded to a whole number")
    return dtype


def raised(base: Any, exponent: Any) -> Dtype:
    """The dtype of a power."""
    dtype = dtypes.promoted((base, exponent))
    if isinstance(base, Tensor) and type(exponent) is int and exponent < 0 and not dtype.rounds:
        raise Refused("whole numbers are not raised to powers below 0")
    return dtype


def same_dtype(*values: Any) -> Dtype:
    """The one dtype of all the tensors among these."""
    found = {value.dtype for value in values if isinstance(value, Tensor)}
    if len(found) != 1:
        raise Refused(f"{' and '.join(sorted(found))} are not taken together")
    return found.pop()


def same_parts(*parts: Tensor, half: bool = True) -> Dtype:
    """The dtype of the parts of a complex number."""
    dtype = same_dtype(*parts)
    if dtype not in ("float16", "float32", "float64") or (dtype == "float16" and not half):
        raise Refused(f"{dtype} is no part of a complex number here")
    return dtype


def bounded(value: Tensor, low: Any, high: Any) -> Shape:
    """The shape of what is kept between bounds: both numbers, or both tensors."""
    given = [bound for bound in (low, high) if bound is not None]
    if any(isinstance(bound, Tensor) and not bound.ndim for bound in given) and len(given) == 2:
        raise NotDeclared("a tensor without axes may stand for a number")
    if not given or len({isinstance(bound, Tensor) for bound in given}) > 1:
        raise Refused("a clamp needs one bound at least, and two of one kind")
    return broadcast(value, *given)


def loss_shape(shape: Shape, reduction: int) -> Shape:
    """The shape of a loss, one value unless nothing is reduced. Raises NotDeclared where `reduction` is neither."""
    if reduction not in (0, 1, 2):
        raise NotDeclared(f"reduction {reduction}, which losses take for different things")
    return () if reduction else shape


def not_grown(value: Tensor, *others: Tensor | None) -> Shape:
    """The shape of `value`, into which others are multiplied in place. Raises Refused where one of them is larger."""
    if broadcast(value, *(other for other in others if other is not None)) != value.shape:
        raise Refused("what is multiplied in place is larger than the target")
    return value.shape


def clamped(dtype: Dtype, low: Any, high: Any) -> Dtype:
    """The dtype of what is kept between bounds: booleans have a larger and a smaller one, but no clamp of their own."""
    lone = (low is None) != (high is None) and isinstance(high if low is None else low, Tensor)
    if dtype == "bool" and not lone:
        raise Refused("there is no clamp of bool")
    return dtype


def log_of(base: complex) -> complex:
    """The logarithm of a number."""
    if isinstance(base, complex):
        return cmath.log(base)
    return math.log(base) if base > 0 else math.nan


def sized(size: Sequence[int]) -> Shape:
    """Sizes that a caller names."""
    if any(length < 0 for length in size):
        raise Refused(f"{list(size)} are no sizes")
    return tuple(size)


def filled_dtype(value: Any) -> str:
    """The dtype of a tensor made of one number."""
    return dtypes.promoted([value])


def ramp_dtype(*ends: Any) -> str:
    """The dtype of a range: int64 of whole numbers."""
    return "int64" if all(type(end) is int for end in ends) else "float32"


def spread_dtype(start: Any, end: Any, wanted: Dtype | None) -> str:
    """The dtype of a linspace."""
    found = "complex64" if any(dtypes.promoted([value]).is_complex for value in (start, end)) else "float32"
    if wanted is not None and found == "complex64" and not wanted.is_complex:
        raise Refused(f"complex numbers are no {wanted}")
    return wanted or found


def ramp_length(start: float, end: float, step: float) -> int:
    """How many numbers lie from `start` up to before `end`."""
    if isinstance(start, complex) or not all(map(math.isfinite, (start, end, step))) or step == 0:
        raise Refused(f"there is no range from {start} to {end} in steps of {step}")
    if (end - start) * step < 0:
        raise Refused(f"steps of {step} do not lead from {start} to {end}")
    if all(isinstance(value, int) for value in (start, end, step)):
        return int(-((start - end) // step))
    return math.ceil((end - start) / step)


def triangle(rows: int, columns: int, offset: int, *, lower: bool) -> int:
    """How many elements of a matrix lie on one side of a diagonal, which is counted in."""
    if rows < 0 or columns < 0:
        raise Refused(f"{rows} and {columns} are no sizes")
    if rows * columns > 1 << 20:
        raise NotDeclared("a matrix too large to count")
    below = sum(min(max(row + offset + 1, 0), columns) for row in range(rows))
    above = sum(columns - min(max(row + offset, 0), columns) for row in range(rows))
    return below if lower else above


def drawn_dtype(dtype: Dtype) -> Dtype:
    """The dtype of random numbers."""
    if not dtype.rounds:
        raise Refused(f"random numbers are no {dtype}")
    return dtype


def chance(p: float) -> None:
    """Raises Refused for what is no probability."""
    if not 0 <= p <= 1:
        raise Refused(f"{p} is no probability")


def channels_of(value: Tensor) -> list[int]:
    """The shape with one element for each channel of each example."""
    if value.ndim < 2:
        raise Refused("channels need 2 axes at least")
    return [*value.shape[:2], *[1] * (value.ndim - 2)]


def picked(weights: Tensor, count: int, replacement: bool) -> Shape:
    """The shape of `count` draws from each row of weights."""
    if weights.ndim not in (1, 2) or count <= 0 or weights.shape[-1] == 0:
        raise Refused("draws are made from one or two axes, one at least")
    if not replacement and count > weights.shape[-1]:
        raise Refused(f"{count} draws from {weights.shape[-1]}")
    return (*weights.shape[:-1], count)


def halved(value: Tensor, axis: int) -> Shape:
    """The shape of a gate over one half of an axis."""
    if not value.ndim or value.shape[axis_of(axis, value.ndim)] % 2:
        raise Refused("the axis must have two halves")
    return resized_axis(value, axis, value.shape[axis_of(axis, value.ndim)] // 2)


def channelled(value: Tensor, scale: Tensor, zero_point: Tensor, axis: int) -> list[Shape]:
    """The shapes of what is quantised with one scale for each index of an axis, and of its mask."""
    if not 0 <= axis < value.ndim or scale.shape != (value.shape[axis],) or zero_point.shape != scale.shape:
        raise Refused("one scale and one zero point for each channel are needed")
    return [value.shape, value.shape]
