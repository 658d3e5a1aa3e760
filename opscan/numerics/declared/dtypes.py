"""Which dtype the results of a call have: torch's promotion of tensors, tensors without axes and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from opscan.numerics.declared.values import Dtype, Refused, Tensor

_ORDER = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "complex32", "complex64", "complex128")  # fmt: skip
HALVES = ("float16", "bfloat16")
_PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_COMPLEX = {"float16": "complex32", "bfloat16": "complex64", "float32": "complex64", "float64": "complex128"}


def category(dtype: str) -> int:
    """0 boolean, 1 whole, 2 floating, 3 complex."""
    if dtype == "bool":
        return 0
    if dtype.startswith("complex"):
        return 3
    return 2 if "float" in dtype else 1


def promote(first: str, second: str) -> str:
    """The dtype that holds the values of both."""
    if first == second:
        return first
    if "bool" in (first, second):
        return second if first == "bool" else first
    low, high = sorted((first, second), key=lambda dtype: (category(dtype), _place(dtype)))
    if category(high) == 3:
        part = _PARTS[high]
        low = _PARTS.get(low, low)
        return high if category(low) < 2 else _COMPLEX[promote(part, low)]
    if category(low) < category(high):
        return high
    if {low, high} == {"float16", "bfloat16"}:
        return "float32"
    if low == "uint8" and high == "int8":
        return "int16"
    if low.startswith("float8"):
        raise Refused(f"{low} and {high} are not promoted")
    return high


def _place(dtype: str) -> int:
    return _ORDER.index(dtype) if dtype in _ORDER else -1


def promoted(values: Iterable[Any]) -> Dtype:
    """The common dtype of tensors and numbers: tensors without axes and numbers count only by their category."""
    levels: list[str | None] = [None, None, None]
    for value in values:
        if isinstance(value, Tensor):
            rank, dtype = (0, str(value.dtype)) if value.shape else (1, str(value.dtype))
        elif isinstance(value, (bool, int, float, complex)):
            rank, dtype = 2, _of_number(value)
        else:
            continue
        held = levels[rank]
        levels[rank] = dtype if held is None else promote(held, dtype)
    result: str | None = None
    for level in levels:
        if level is not None and (result is None or category(level) > category(result)):
            result = level if result is None else _raised(result, level)
    return Dtype(result or "float32")


def _of_number(value: complex) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    return "complex64" if isinstance(value, complex) else "float32"


def _raised(held: str, wanted: str) -> str:
    """`held` brought to the category of `wanted`, which counts for no more than that."""
    return _COMPLEX.get(held, wanted) if category(wanted) == 3 else wanted


def floating(dtype: str) -> Dtype:
    """What a function that rounds makes of a dtype: fp32 of whole numbers."""
    return Dtype(dtype if category(dtype) >= 2 else "float32")


def counted(dtype: str) -> Dtype:
    """What a sum makes of a dtype: int64 of whole numbers."""
    return Dtype(dtype if category(dtype) >= 2 else "int64")


def real(dtype: str) -> Dtype:
    """The dtype of the parts of a complex number."""
    return Dtype(_PARTS.get(dtype, dtype))


def complex_of(dtype: str) -> Dtype:
    """The complex dtype with parts of this dtype."""
    return Dtype(_COMPLEX.get(floating(dtype), dtype))


def flat(values: Iterable[Any]) -> Iterator[Any]:
    """Values and the members of lists of them."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from flat(value)
        else:
            yield value
