"""Calls that treat the elements along some axes alike: those axes are permuted before the call and put back after.

Where ATen accumulates in float64 inside, no permutation shows in the result; those calls (`moments`) are written
out in single precision instead.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Callable, Sequence
from typing import Any

import torch

from opscan.validating.simulated.aten_call import AtenCall, Redo, rounds
from opscan.validating.simulated.moments import MOMENTS

_SMALL = 4
"""So few elements are reversed: most of their random permutations add up in the same order."""


def permute_addends(call: AtenCall) -> Redo | None:
    """How to redo a call that is symmetric along an axis; None for all others."""
    way = _WAYS.get(call.packet)
    main = call.get("self", call.get("input"))
    if way is None or not rounds(main) or not main.dim():
        return None
    return lambda: way(call)


def _order(count: int) -> Any:
    if count <= _SMALL:
        return torch.arange(count).flip(0)
    return torch.randperm(count, generator=torch.Generator().manual_seed(count))


def _permuted(tensor: Any, axes: Sequence[int]) -> Any:
    for axis in axes:
        tensor = tensor.index_select(axis, _order(tensor.shape[axis]))
    return tensor


def _restored(tensor: Any, axes: Sequence[int]) -> Any:
    for axis in axes:
        tensor = tensor.index_select(axis, _order(tensor.shape[axis]).argsort())
    return tensor


def _reduction(call: AtenCall) -> Any:
    tensor, axes = call.arguments["self"], call.get("dim")
    listed = [axes] if isinstance(axes, int) else list(axes or range(tensor.dim()))
    return call.again(self=_permuted(tensor, listed))


def _softmax(call: AtenCall) -> Any:
    axes = [call.arguments["dim"]]
    return _restored(call.again(self=_permuted(call.arguments["self"], axes)), axes)


def _layer_norm(call: AtenCall) -> Any:
    axes = range(-len(call.arguments["normalized_shape"]), 0)
    given = {name: call.get(name) for name in ("input", "weight", "bias")}
    changed = {name: None if tensor is None else _permuted(tensor, axes) for name, tensor in given.items()}
    output, *statistics = call.again(**changed)
    return (_restored(output, axes), *statistics)


def _group_norm(call: AtenCall) -> Any:
    """The places of a channel, and the channels within their group."""
    tensor, groups = call.arguments["input"], call.arguments["group"]
    channels = torch.arange(tensor.shape[1]).reshape(groups, -1)
    channels = _permuted(channels, [1]).reshape(-1)
    axes = range(2, tensor.dim())
    given = {name: call.get(name) for name in ("weight", "bias")}
    changed = {name: None if each is None else each.index_select(0, channels) for name, each in given.items()}
    output, *statistics = call.again(input=_permuted(tensor, axes).index_select(1, channels), **changed)
    return (_restored(output.index_select(1, channels.argsort()), axes), *statistics)


def _loss(call: AtenCall) -> Any:
    tensors = {name: value for name, value in call.arguments.items() if isinstance(value, torch.Tensor)}
    shape = call.arguments["self"].shape
    if call.get("reduction", 1) == 0 or any(tensor.shape != shape for tensor in tensors.values()):
        return None
    return call.again(**{name: _permuted(tensor.reshape(-1), [0]) for name, tensor in tensors.items()})


def _nll_loss(call: AtenCall) -> Any:
    """Everything but the axis of the classes, which the target has not."""
    scores, target = call.arguments["self"], call.arguments["target"]
    if call.arguments["reduction"] == 0 or scores.dim() == 1:
        return None
    axes = [axis for axis in range(scores.dim()) if axis != 1]
    return call.again(self=_permuted(scores, axes), target=_permuted(target, range(target.dim())))


def _scatter(call: AtenCall) -> Any:
    """`scatter_reduce` along its axis, source and index alike."""
    axis, index, source = (call.arguments[name] for name in ("dim", "index", "src"))
    source = source[tuple(slice(0, size) for size in index.shape)]
    return call.again(index=_permuted(index, [axis]), src=_permuted(source, [axis]))


def _index_reduce(call: AtenCall) -> Any:
    axis, index, source = (call.arguments[name] for name in ("dim", "index", "source"))
    return call.again(index=_permuted(index, [0]), source=_permuted(source, [axis]))


def _scan(join: Callable[[Any, Any], Any]) -> Callable[[AtenCall], Any]:
    """By doubling strides, as parallel scans do."""

    def redo(call: AtenCall) -> Any:
        axis = call.arguments["dim"]
        rows = call.arguments["self"].to(call.get("dtype") or call.arguments["self"].dtype).movedim(axis, 0)
        step = 1
        while step < rows.shape[0]:
            rows = torch.cat((rows[:step], join(rows[step:], rows[:-step])))
            step *= 2
        return rows.movedim(0, axis)

    return redo


_WAYS: dict[str, Callable[[AtenCall], Any]] = {
    **dict.fromkeys(("prod", "linalg_vector_norm", "norm"), _reduction),
    **dict.fromkeys(("_softmax", "_log_softmax", "_safe_softmax"), _softmax),
    "native_layer_norm": _layer_norm,
    **MOMENTS,
    "native_group_norm": _group_norm,
    **dict.fromkeys(
        ("mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "binary_cross_entropy", "dist"), _loss
    ),
    **dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward"), _nll_loss),
    "scatter_reduce": _scatter,
    "index_reduce": _index_reduce,
    "cumprod": _scan(torch.mul),
    "logcumsumexp": _scan(torch.logaddexp),
}
