"""What a documented device does in one run, with torch: its order of addition, bounds, subnormals, HF32. EMULATED."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from opscan.judging.devices import Device

_FORMS = {torch.float32: ("fp32", 23), torch.float16: ("fp16", 10), torch.bfloat16: ("bf16", 7)}
_HF32_BITS = 11
"""Where a device documents none."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One of the ways in which a device may run: how repeats are added, by how many cores, and their sums in a chain or
    a tree. `hf32`: the calls (`matmul`, `convolution`) whose float32 factors are shortened."""

    device: Device
    way: str = ""
    cores: int = 1
    over: str = "chain"
    hf32: tuple[str, ...] = ()

    def bound(self, function: str, dtype: Any, widest: float) -> float:
        """The largest error of a function in a dtype, in units in the last place."""
        return self.device.ulp(function, _FORMS[dtype][0], widest) if dtype in _FORMS else widest

    def total(self, rows: Any) -> Any | None:
        """The sums along the last axis in the device's order, in the dtype of `rows`; None where none is documented."""
        order = self.device.order
        if order is None or not self.way:
            return None
        if self.way == "cascade":
            return rows.sum(-1)
        count = rows.shape[-1]
        cores = min(self.cores, -(-count // order.repeat))
        each = -(-count // cores)
        each += -each % order.repeat
        shares = torch.nn.functional.pad(rows, (0, cores * each - count)).unflatten(-1, (cores, each))
        repeats = shares.unflatten(-1, (-1, order.repeat))
        if self.way == "tree":
            sums = in_tree(shares)
        elif self.way == "vectors":
            sums = in_tree(in_turn(repeats.transpose(-1, -2))[..., -1])
        else:
            sums = in_turn(in_tree(repeats))[..., -1]
        return in_tree(sums) if self.over == "tree" else in_turn(sums)[..., -1]

    def flushed(self, function: str, value: Any, dtype: Any) -> Any:
        """An operand or result of a function that computes in `dtype`, subnormal numbers as zeros where the device does
        not keep them."""
        if function not in self.device.flushed or not isinstance(value, torch.Tensor) or dtype not in _FORMS:
            return value
        return torch.where(value.abs() < torch.finfo(dtype).tiny, torch.zeros_like(value), value)

    def shortened(self, kind: str, value: Any) -> Any:
        """A factor of a product as HF32 has it, rounded to nearest, ties to even."""
        if kind not in self.hf32 or value.dtype != torch.float32:
            return value
        dropped = 23 - (self.device.hf32 or _HF32_BITS)
        bits = value.contiguous().view(torch.int32)
        bits = bits + ((1 << (dropped - 1)) - 1) + ((bits >> dropped) & 1)
        return torch.where(torch.isfinite(value), ((bits >> dropped) << dropped).view(torch.float32), value)


def profiles_of(device: Device, hf32: Sequence[str] = ()) -> list[Profile]:
    """The ways in which a device may run, as its documents have them."""
    order, calls = device.order, tuple(hf32)
    if order is None:
        return [Profile(device, hf32=calls)]
    return [
        Profile(device, way, cores, over, calls)
        for cores in order.cores
        for way in order.ways
        for over in (("chain", "tree") if cores > 1 else ("chain",))
    ]


def spacing(value: Any, dtype: Any) -> Any:
    """The distance of the numbers of a dtype around each value, which is kept in a wider one."""
    bits = _FORMS[dtype][1]
    least = int(np.log2(torch.finfo(dtype).tiny))
    exponent = torch.where(value == 0, least, torch.frexp(value).exponent - 1)
    return torch.ldexp(torch.ones_like(value), exponent.clamp(min=least) - bits)


def in_turn(rows: Any) -> Any:
    """Running sums in the very format; torch's own are kept in float64."""
    return torch.from_numpy(np.add.accumulate(rows.contiguous().numpy(), axis=-1))


def in_tree(rows: Any) -> Any:
    """Neighbours by twos, then their sums, and so on."""
    while rows.shape[-1] > 1:
        rows = torch.nn.functional.pad(rows, (0, rows.shape[-1] % 2)).unflatten(-1, (-1, 2))
        rows = rows[..., 0] + rows[..., 1]
    return rows[..., 0]
