"""The data of a run: seeded, within the declared ranges, with full significands.

Values are drawn in float64 and rounded to their dtype: float32 draws of torch lie on a grid of 2^-24 on which many sums
are exact, so they would hide every order dependence.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from opscan.numerics.binding import Binding, TensorArgument

DEFAULT_RANGE = (-5.0, 5.0)
"""What ATK draws from where a spec leaves the range out (for half of the cases)."""
_DEFAULT_WHOLE = (0, 8)
_SIZED_BY_VALUES = frozenset({"bincount", "one_hot", "repeat_interleave"})
_UNCHECKED = re.compile(r".*_backward(_data)?|_unsafe_.*|_?embedding_bag(_.*)?|_?segment_reduce(_.*)?|_?ctc_loss")
"""Kernels that trust the operators in front of them to check indices and offsets."""
_LARGEST_COUNT = 1000
"""Operators whose results grow with the values of an integer input get none larger than this."""


def draw_inputs(binding: Binding, operator: str, seed: int, below: int | None = None) -> list[Any]:
    """A CPU tensor for every described tensor of `binding`, in its order. `below`: integers lie in [0, below)."""
    generator = torch.Generator().manual_seed(seed)
    if below is None and operator.rsplit(".", 1)[-1] in _SIZED_BY_VALUES:
        below = _LARGEST_COUNT
    return [_draw(argument, generator, below) for argument in binding.tensors()]


def draw_upstream(roots: Sequence[Any], limits: tuple[float, float], seed: int) -> list[Any]:
    """Upstream gradients of the shapes and dtypes of `roots`, on the CPU; the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    return [_floats(tuple(root.shape), root.dtype, limits, generator) for root in roots]


def index_bounds(binding: Binding, operator: str) -> Iterator[int | None]:
    """What to draw integers below, in turn, until an operator accepts them: as declared, then by the sizes of axes.

    A kernel that does not check its indices would write outside of its memory; it gets zeros only.
    """
    tensors = list(binding.tensors())
    whole = any(argument.dtype.startswith(("int", "uint")) for argument in tensors)
    if whole and any(_UNCHECKED.fullmatch(part) for part in operator.split(".")):
        yield 1
        return
    yield None
    if whole:
        sizes = {size for argument in tensors for size in argument.shape if size > 0}
        yield from sorted(sizes, reverse=True)[:6]
        yield 1


def _draw(argument: TensorArgument, generator: Any, below: int | None) -> Any:
    dtype = getattr(torch, argument.dtype)
    if dtype.is_floating_point or dtype.is_complex:
        return _floats(argument.shape, dtype, argument.values, generator)
    if dtype == torch.bool:
        return torch.randint(0, 2, argument.shape, generator=generator).bool()
    low, high = _whole_limits(argument.values, dtype)
    if below is not None:
        low, high = min(max(low, 0), below - 1), min(high, below - 1)
    return torch.randint(low, max(high, low) + 1, argument.shape, generator=generator).to(dtype)


def _whole_limits(values: Any, dtype: Any) -> tuple[int, int]:
    info = torch.iinfo(torch.int64 if dtype in (torch.uint64, torch.int64) else dtype)
    least, most = max(info.min, -(2**62)), min(info.max, 2**62)
    if dtype == torch.uint64:
        least = 0
    if (normal := _normal(values)) is not None:
        (_, mean), (_, deviation) = normal
        limits: tuple[float, float] | None = (mean - 3 * deviation, mean + 3 * deviation)
    else:
        limits = _limits(values)
    low, high = limits if limits is not None else _DEFAULT_WHOLE
    low, high = (end if math.isfinite(end) else math.copysign(2.0**62, end) for end in (low, high))
    return min(max(math.ceil(low), least), most), max(min(math.floor(high), most), least)


def _floats(shape: tuple[int, ...], dtype: Any, values: Any, generator: Any) -> Any:
    if dtype.is_complex:
        part = {torch.complex32: torch.float16, torch.complex64: torch.float32}.get(dtype, torch.float64)
        return torch.complex(*(_floats(shape, part, values, generator).double() for _ in range(2))).to(dtype)
    largest = torch.finfo(dtype).max
    if values in ("nan", "inf", "-inf"):
        return torch.full(shape, float(values)).to(dtype)
    if (normal := _normal(values)) is not None:
        (low, high), (least, most) = normal
        mean, deviation = torch.rand(2, generator=generator, dtype=torch.float64).tolist()
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
        drawn = drawn * (least + (most - least) * deviation) + (low + (high - low) * mean)
    else:
        low, high = _limits(values) or DEFAULT_RANGE
        low, high = (max(-largest, min(largest, end)) for end in (low, high))
        share = torch.rand(shape, generator=generator, dtype=torch.float64)
        drawn = low * (1 - share) + high * share
    return drawn.clamp(-largest, largest).to(dtype)


def _limits(values: Any) -> tuple[float, float] | None:
    """A declared range as numbers, ends in order; None where none is declared. A number alone is drawn as itself."""
    given = values if isinstance(values, tuple) else (values, values)
    if len(given) == 1:
        given = given * 2
    try:
        ends = [float(end) for end in given]
    except (TypeError, ValueError):
        return None
    return (min(ends), max(ends)) if ends and not any(map(math.isnan, ends)) else None


def _normal(values: Any) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """The ranges of mean and deviation of ATK's `{"name": "nd", ...}`, which a binding holds as pairs."""
    if not isinstance(values, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in values):
        return None
    named = {pair[0]: pair[1] for pair in values if isinstance(pair[0], str)}
    mean, deviation = _limits(named.get("mean")), _limits(named.get("std"))
    return (mean, deviation) if mean is not None and deviation is not None else None
