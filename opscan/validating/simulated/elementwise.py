"""Element by element arithmetic as another library would round it: in the next wider dtype, then rounded once.

IEEE operations (add, multiply) come out the same, as on every IEEE device; approximated functions and chains of
roundings do not. A division is a multiplication by the reciprocal, as on many accelerators. Float64 has no wider dtype
and stays as ATen computes it.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from typing import Any

import torch

from opscan.validating.simulated.aten_call import AtenCall, Redo, rounds

WIDER = {
    torch.float32: torch.float64, torch.float16: torch.float64, torch.bfloat16: torch.float64,
    torch.complex64: torch.complex128, torch.complex32: torch.complex128,
}  # fmt: skip
UNTAGGED = frozenset({
    "multiply", "floor_divide", "_prelu_kernel", "_prelu_kernel_backward", "leaky_relu_backward", "addr", "arccos",
    "binary_cross_entropy_backward", "elu_backward", "glu", "glu_backward", "glu_backward_jvp", "glu_jvp",
    "hardsigmoid_backward", "hardswish", "hardswish_backward", "huber_loss_backward", "log_sigmoid_backward",
    "log_sigmoid_forward", "mish_backward", "mse_loss_backward", "polar", "smooth_l1_loss_backward",
    "soft_margin_loss_backward", "softplus_backward", "linalg_cross", "linspace", "logspace",
})  # fmt: skip
"""Elementwise by their documentation, though PyTorch does not tag them so."""
OPAQUE = (
    "linalg_", "_linalg_", "cholesky", "triangular_solve", "ormqr", "geqrf", "_cdist", "_pdist", "_euclidean_dist",
    "_ctc_", "multi_margin_loss", "multilabel_margin_loss", "_embedding_bag", "_scaled_dot_product", "_thnn_fused",
    "_fused_rms_norm",
)  # fmt: skip
"""Kernels that add up many products inside and cannot be taken apart here; another library would round them otherwise.
Names that start so; their backward kernels are linear, and norms are symmetric."""
_OWN_DTYPE = frozenset({"nextafter", "frexp", "nan_to_num", "clone", "copy", "_to_copy", "equal"})
"""Their results are defined by the very dtype of their operands."""


def round_otherwise(call: AtenCall) -> Redo | None:
    """How to redo an elementwise or opaque call; None for all others."""
    draws = torch.Tag.nondeterministic_seeded in call.func.tags and call.get("dropout_p") != 0
    if call.packet in _OWN_DTYPE or draws:
        return None
    if call.packet in ("div", "true_divide") and call.get("rounding_mode") is None and rounds(call.get("self")):
        return lambda: _by_reciprocal(call)
    elementwise = (
        torch.Tag.pointwise in call.func.tags or call.packet in UNTAGGED or call.packet.startswith("_foreach_")
    )
    opaque = call.packet.startswith(OPAQUE) and not call.packet.endswith(("_backward", "_norm"))
    if not elementwise and not opaque:
        return None
    if not any(rounds(value) and value.dtype in WIDER for value in _flat(call.arguments.values())):
        return None
    return lambda: call.again(**{name: _wider(value) for name, value in call.arguments.items() if name != "dtype"})


def _by_reciprocal(call: AtenCall) -> Any:
    dividend, divisor = call.arguments["self"], call.arguments["other"]
    if not isinstance(divisor, torch.Tensor):
        divisor = torch.tensor(divisor, dtype=dividend.dtype)
    dtype = torch.result_type(dividend, divisor)
    return dividend.to(dtype) * divisor.to(dtype).reciprocal()


def _flat(values: Any) -> Any:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def _wider(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_wider(item) for item in value)
    return value.to(WIDER[value.dtype]) if rounds(value) and value.dtype in WIDER else value
