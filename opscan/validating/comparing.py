"""Bit by bit: whether two results differ in value, and by how many units in the last place."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from dataclasses import dataclass
from typing import Any

import torch

_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True, slots=True)
class Difference:
    """`worst_ulp` counts the numbers of the dtype that lie between; for integers it is the plain difference."""

    differs: bool
    worst_ulp: float = 0.0
    reason: str = ""


def compare(reference: Any, other: Any) -> Difference:
    """Both on the CPU. NaN equals NaN, -0 equals +0. Another shape or dtype is a difference with a reason."""
    if reference.layout != torch.strided or other.layout != torch.strided:
        reference, other = reference.to_dense(), other.to_dense()
    if reference.shape != other.shape or reference.dtype != other.dtype:
        texts = [f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}" for tensor in (reference, other)]
        return Difference(True, reason=f"the device answers {texts[1]}, the CPU {texts[0]}")
    if reference.dtype.is_complex:
        reference, other = (torch.view_as_real(tensor.resolve_conj()) for tensor in (reference, other))
    reference, other = (tensor.detach().resolve_neg().contiguous() for tensor in (reference, other))
    if not reference.dtype.is_floating_point:
        different = reference != other
        if not bool(different.any()):
            return Difference(False)
        return Difference(True, float((reference.double() - other.double()).abs().max()))
    first, second = _ordinals(reference), _ordinals(other)
    apart = torch.where(
        (first < 0) == (second < 0), (first - second).abs().double(), first.abs().double() + second.abs().double()
    )
    worst = float(apart.max()) if apart.numel() else 0.0
    return Difference(worst > 0, worst)


def _ordinals(tensor: Any) -> Any:
    """The place of every number in the order of its dtype: both zeros at 0, all NaNs at one place beyond infinity."""
    width = tensor.element_size()
    bits = tensor.view(_BITS[width]).long()
    sign = torch.iinfo(_BITS[width]).min
    places = torch.where(bits < 0, sign - bits, bits)
    beyond = torch.tensor(torch.iinfo(_BITS[width]).max)
    return torch.where(torch.isnan(tensor if width > 1 else tensor.float()), beyond, places)
