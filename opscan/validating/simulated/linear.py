"""Calls that are linear in one tensor: eight cores take a share of its elements each, and their results are added up.

Which core takes an element is drawn once per size. Every element is in one share and zero in the others, so where only
one addend reaches a result it comes out unchanged. Each share is computed in the dtype of the call.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Sequence
from typing import Any

import torch

from opscan.validating.simulated.aten_call import AtenCall, Redo, rounds

CORES = 8
LINEAR = {
    "sum": "self", "nansum": "self", "mean": "self", "trace": "self", "mm": "self", "bmm": "self", "mv": "self",
    "dot": "self", "vdot": "self", "cumsum": "self", "avg_pool1d": "self", "avg_pool2d": "self", "avg_pool3d": "self",
    "_adaptive_avg_pool2d": "self", "_adaptive_avg_pool3d": "self", "upsample_linear1d": "self",
    "upsample_bilinear2d": "self", "upsample_trilinear3d": "self", "upsample_bicubic2d": "self",
    "_upsample_bilinear2d_aa": "self", "_upsample_bicubic2d_aa": "self", "col2im": "self", "_fft_r2c": "self",
    "_fft_c2c": "self", "_fft_c2r": "self", "grid_sampler_2d": "input", "grid_sampler_3d": "input", "_trilinear": "i1",
}  # fmt: skip
AFFINE = {
    "addmm": ("self", "mat1"), "addmv": ("self", "mat"), "baddbmm": ("self", "batch1"), "addbmm": ("self", "batch1"),
    "index_add": ("self", "source"), "scatter_add": ("self", "src"), "put": ("self", "source"),
    "index_put": ("self", "values"), "_unsafe_index_put": ("self", "values"), "_index_put_impl": ("self", "values"),
    "_unsafe_masked_index_put_accumulate": ("self", "values"),
}  # fmt: skip
"""They add the first to something that is linear in the second."""
_UPSTREAM = ("grad_output", "grad", "grad_out", "out_grad", "grad_y", "grad_in")
"""Every backward kernel is linear in its upstream gradient."""


def add_up_in_shares(call: AtenCall) -> Redo | None:
    """How to redo a call that is linear in one of its arguments; None for all others."""
    if call.packet == "convolution":
        return lambda: _convolution(call)
    if call.packet in AFFINE:
        base, source = AFFINE[call.packet]
        accumulates = call.get("accumulate", True) and rounds(call.get(base)) and rounds(call.get(source))
        return (lambda: _affine(call, base, source)) if accumulates else None
    name = LINEAR.get(call.packet)
    if name is None and call.packet.endswith(("_backward", "_backward_data")):
        name = next((each for each in _UPSTREAM if rounds(call.get(each))), None)
    if name is None or not rounds(call.get(name)) or call.get(name).numel() <= 1:
        return None
    return lambda: _add([call.again(**{name: share}) for share in _shares(call.get(name))])


def _affine(call: AtenCall, base: str, source: str) -> Any:
    start, beta = call.get(base), call.get("beta", 1)
    nothing = torch.zeros_like(start)
    shares = [call.again(**{base: nothing, source: share}) for share in _shares(call.get(source))]
    return _add(shares if beta == 0 else [*shares, start if beta == 1 else start * beta])


def _convolution(call: AtenCall) -> Any:
    data, bias = call.get("input"), call.get("bias")
    shares = [call.again(input=share, bias=None) for share in _shares(data)]
    return _add(shares if bias is None else [*shares, bias.reshape([1, -1, *[1] * (data.dim() - 2)])])


def _shares(tensor: Any) -> list[Any]:
    """The parts of `tensor`, in the order in which they are to be added; very few elements are added backwards."""
    count = tensor.numel()
    if count > CORES:
        generator = torch.Generator().manual_seed(count)
        core = torch.randint(0, CORES, tensor.shape, generator=generator, dtype=torch.int8)
    else:
        core = torch.arange(count - 1, -1, -1, dtype=torch.int8).reshape(tensor.shape)
    nothing = torch.zeros((), dtype=tensor.dtype)
    return [torch.where(core == number, tensor, nothing) for number in range(max(min(CORES, count), 1))]


def _add(results: Sequence[Any]) -> Any:
    """The sum of whole results, member by member, from the first to the last."""
    first = results[0]
    if isinstance(first, (tuple, list)):
        return type(first)(_add(members) for members in zip(*results, strict=True))
    if not rounds(first):
        return first
    total = first
    for result in results[1:]:
        total = total + result
    return total
