"""Means, variances and logarithms of sums, written out in single precision."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Callable
from typing import Any

import torch

from opscan.validating.simulated.aten_call import AtenCall


def _single(tensor: Any) -> Any:
    """Half precision is accumulated in float32 on every device that is worth simulating."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _axes(call: AtenCall) -> list[int]:
    axes = call.get("dim")
    listed = [axes] if isinstance(axes, int) else list(axes or range(call.arguments["self"].dim()))
    return [axis % call.arguments["self"].dim() for axis in listed]


def _spread(call: AtenCall) -> Any:
    """`var` and `std`, with or without their mean. The old overload without axes says `unbiased`."""
    tensor, axes = _single(call.arguments["self"]), _axes(call)
    count = 1
    for axis in axes:
        count *= tensor.shape[axis]
    correction = call.get("correction")
    if correction is None:
        correction = 1 if call.get("unbiased", True) else 0
    keep = bool(call.get("keepdim", False))
    mean = tensor.mean(axes, keepdim=True)
    variance = _squares(tensor - mean, axes, keep) / max(count - correction, 0)
    spread = variance.sqrt() if call.packet.startswith("std") else variance
    return (spread, mean if keep else mean.squeeze(axes)) if call.packet.endswith("_mean") else spread


def _squares(deviation: Any, axes: list[int], keep: bool) -> Any:
    return (deviation * deviation).flip(axes).sum(axes, keepdim=keep)


def _batch_norm(call: AtenCall) -> Any:
    """Statistics over all axes but that of the channels, or the running ones."""
    tensor = _single(call.arguments["input"])
    axes = [axis for axis in range(tensor.dim()) if axis != 1]
    shape = [1, -1, *[1] * (tensor.dim() - 2)]

    def channel(name: str) -> Any:
        return None if call.get(name) is None else _single(call.arguments[name]).reshape(shape)

    if call.get("training", "no_training" not in call.packet):
        mean = tensor.flip(axes).mean(axes, keepdim=True)
        variance = _squares(tensor - mean, axes, True) / (tensor.numel() // tensor.shape[1])
    else:
        mean, variance = channel("running_mean"), channel("running_var")
    inverse = (variance + call.arguments["eps"]).rsqrt()
    output = (tensor - mean) * inverse
    if (weight := channel("weight")) is not None:
        output = output * weight
    if (bias := channel("bias")) is not None:
        output = output + bias
    return output, mean.reshape(-1), inverse.reshape(-1)


def _log_sum_exp(call: AtenCall) -> Any:
    tensor, axes, keep = _single(call.arguments["self"]), _axes(call), bool(call.get("keepdim", False))
    largest = tensor.amax(axes, keepdim=True)
    total = (tensor - largest).exp().flip(axes).sum(axes, keepdim=True).log() + largest
    return total if keep else total.squeeze(axes)


MOMENTS: dict[str, Callable[[AtenCall], Any]] = {
    **dict.fromkeys(("var", "std", "var_mean", "std_mean"), _spread),
    **dict.fromkeys(
        (
            "native_batch_norm",
            "_native_batch_norm_legit",
            "_native_batch_norm_legit_no_training",
            "_batch_norm_with_update",
        ),
        _batch_norm,
    ),
    "logsumexp": _log_sum_exp,
}
