"""Axes, sizes and normalisation of Fourier transforms, as torch reads them; each raises Refused where it would."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opscan.numerics.declared.shapes import Shape, axes_of, axis_of, resized_axis, sizes
from opscan.numerics.declared.values import Refused

__all__ = ["borders_to", "half_spectrum", "normalization_of", "transformed_axes"]


def half_spectrum(value: Any, axis: int) -> Shape:
    """A spectrum of real numbers without the half that mirrors the other."""
    return resized_axis(value, axis, sizes(value)[axis_of(axis, len(sizes(value)))] // 2 + 1)


def borders_to(value: Any, shape: Sequence[int]) -> list[int]:
    """The border behind each axis, the last axis first, that fills up to `shape`."""
    widths = [wanted - had for wanted, had in zip(shape, sizes(value), strict=True)]
    return [border for width in reversed(widths) for border in (0, width)]


def normalization_of(norm: str | None, forward: bool) -> int:
    if norm not in (None, "backward", "forward", "ortho"):
        raise Refused(f"no normalisation is called {norm}")
    if norm == "ortho":
        return 1
    return 0 if (norm == "forward") is not forward else 2


def transformed_axes(
    value: Any, wanted: Sequence[int] | None, dim: Sequence[int] | None
) -> tuple[list[int], list[int]]:
    """Axes, counted from the front, and how many elements of each are transformed."""
    shape = sizes(value)
    if dim is not None:
        axes = axes_of(dim, len(shape)) if dim else []
    else:
        axes = list(range(len(shape) - (len(shape) if wanted is None else len(wanted)), len(shape)))
    if wanted is not None and (len(wanted) != len(axes) or any(axis < 0 for axis in axes)):
        raise Refused(f"{len(wanted)} sizes for {len(axes)} axes")
    own = [shape[axis] for axis in axes]
    counts = own if wanted is None else [had if n == -1 else n for n, had in zip(wanted, own, strict=True)]
    if any(count < 1 for count in counts):
        raise Refused("nothing is transformed")
    return axes, counts
