"""A SIMULATED second device: it accumulates in other orders and rounds elementary functions as another library would.

It is a dispatch mode over plain CPU tensors, so everything it does not redo is as ATen does it. It shows order
dependence; it says nothing about the accuracy of a real device. It does not read opscan's kinds of ATen calls: what it
redoes follows from PyTorch's own tags and from its own lists, so that it can refute them.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from opscan.validating.simulated.aten_call import AtenCall
from opscan.validating.simulated.elementwise import round_otherwise
from opscan.validating.simulated.linear import add_up_in_shares
from opscan.validating.simulated.symmetric import permute_addends

__all__ = ["Simulated"]

_WAYS = (round_otherwise, add_up_in_shares, permute_addends)


class Simulated(TorchDispatchMode):  # type: ignore[misc]  # torch is optional, so mypy sees Any
    """Enter it around forward and backward. `redone` names the ATen calls that were made in another way."""

    def __init__(self) -> None:
        super().__init__()
        self.redone: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        call = AtenCall.of(func, args, kwargs or {})
        redo = next((redo for way in _WAYS if (redo := way(call)) is not None), None)
        if redo is None:
            return func(*args, **(kwargs or {}))
        try:
            other = redo()  # first: an in-place call changes its arguments
        except (RuntimeError, IndexError):  # a dtype or layout that only the call itself knows
            return func(*args, **(kwargs or {}))
        result = func(*args, **(kwargs or {}))
        self.redone.add(call.packet)
        for native, value in zip(tree_leaves(result), tree_leaves(other), strict=False):
            _overwrite(native, value)
        return result


def _overwrite(native: Any, value: Any) -> None:
    """Put the values of `value` into `native`, which keeps the dtype, strides and identity that callers rely on.

    Splitting infinite values makes NaNs that no device would; there the native value stays.
    """
    if not isinstance(native, torch.Tensor) or not isinstance(value, torch.Tensor) or native.shape != value.shape:
        return
    if native.layout == torch.strided and (native.dtype.is_floating_point or native.dtype.is_complex):
        value = value.to(native.dtype)
        native.copy_(torch.where(torch.isnan(value) & ~torch.isnan(native), native, value))
