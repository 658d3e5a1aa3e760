"""Shapes and dtypes of normalisation layers and of attention; each raises Refused where torch would."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opscan.numerics.declared.dtypes import HALVES
from opscan.numerics.declared.shapes import Shape, sizes
from opscan.numerics.declared.values import Dtype, NotDeclared, Refused

__all__ = [
    "attention_sizes", "batch_statistics", "group_statistics", "is_fused", "layer_statistics", "masked",
    "statistics_of", "wide_of",
]  # fmt: skip


def wide_of(dtype: str) -> Dtype:
    """The dtype in which a kernel computes: fp32 for the halves."""
    return Dtype("float32" if dtype in HALVES else dtype)


def statistics_of(source: Any, *parameters: Any) -> Dtype:
    """The dtype of mean and deviation: that of the parameters, which may be wider than halves. Raises Refused."""
    given = {parameter.dtype for parameter in parameters if parameter is not None}
    if len(given) > 1 or (given and given != {source.dtype} and (source.dtype not in HALVES or given != {"float32"})):
        raise Refused(f"{source.dtype} is not normalised with {' and '.join(sorted(given))}")
    return Dtype(next(iter(given), source.dtype))


def masked(values: Sequence[Any], mask: Sequence[bool]) -> list[Shape | None]:
    """The shapes of results, None for one that nobody wants."""
    return [sizes(value) if wanted else None for value, wanted in zip(values, mask, strict=True)]


def layer_statistics(source: Any, normalized: Sequence[int], weight: Any, bias: Any) -> list[Shape]:
    shape, inner = sizes(source), tuple(normalized)
    fits = bool(inner) and shape[-len(inner) :] == inner
    if not fits or any(value is not None and sizes(value) != inner for value in (weight, bias)):
        raise Refused(f"{list(inner)} is not normalised in {list(shape)}")
    kept = shape[: len(shape) - len(inner)] + (1,) * len(inner)
    return [shape, kept, kept]


def group_statistics(
    source: Any, weight: Any, bias: Any, samples: int, channels: int, rest: int, groups: int
) -> list[Shape]:
    if groups <= 0 or channels % groups or math.prod(sizes(source)) != samples * channels * rest:
        raise Refused("channels fall into groups of one size")
    if any(value is not None and sizes(value) != (channels,) for value in (weight, bias)):
        raise Refused("there is one weight for each channel")
    return [sizes(source), (samples, groups), (samples, groups)]


def batch_statistics(source: Any, parameters: Sequence[Any], training: bool) -> list[Shape]:
    """`parameters`: weight, bias, running mean and running variance, each None or one value to a channel."""
    shape = sizes(source)
    if len(shape) < 2:
        raise Refused("samples and channels are needed")
    if not training and (parameters[2] is None or parameters[3] is None):
        raise Refused("without training, running statistics are needed")
    if any(value is not None and math.prod(sizes(value)) != shape[1] for value in parameters):
        raise NotDeclared("torch does not always check that there is one value for each channel")
    kept = shape[1:2] if training else (0,)
    return [shape, kept, kept]


def attention_sizes(query: Any, key: Any, value: Any, grouped: bool) -> None:
    """Raises Refused where these are no queries, keys and values."""
    if not query.dtype == key.dtype == value.dtype or not query.dtype.is_floating_point:
        raise Refused("queries, keys and values have one floating dtype")
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise Refused("queries, keys and values have an axis for places and one for features")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise Refused("queries and keys have as many features, keys and values as many places")
    if grouped and (query.ndim < 3 or not key.shape[-3] or query.shape[-3] % key.shape[-3]):
        raise Refused("the heads of queries fall into groups")


def is_fused(query: Any, key: Any, value: Any, mask: Any, dropout: float, grouped: bool) -> bool:
    """Whether PyTorch's one kernel for CPUs takes this."""
    if dropout or not query.ndim == key.ndim == value.ndim == 4 or (mask is not None and mask.requires_grad):
        return False
    alike = query.shape[0] == key.shape[0] == value.shape[0] and key.shape[1] == value.shape[1]
    heads = grouped or query.shape[1] == key.shape[1]
    features = query.shape[-1] == key.shape[-1] == value.shape[-1]
    return alike and heads and features and _mask_fits(query, key, mask) and 0 not in (query.shape[-2], key.shape[-2])


def _mask_fits(query: Any, key: Any, mask: Any) -> bool:
    if mask is None:
        return True
    full = (*query.shape[:2], query.shape[-2], key.shape[-2])
    return mask.ndim in (2, 4) and all(a in (1, b) for a, b in zip(mask.shape, full[-mask.ndim :], strict=True))
