"""Redo the order-dependent ATen calls of a run in another order, in the dtype of the run.

It knows nothing of the kinds table. Two principles stand behind it:

- Where a call is linear in one tensor, that tensor is split into parts (each element in one part, zeros elsewhere), the
  call is made once per part and the results are added up in a chosen order. Elements that never meet are not disturbed.
- Where a call is symmetric along an axis, that axis is permuted before the call and, where it survives, put back after.
- Two products have one order, but whoever fuses a multiplication with the addition rounds one of them not at all. Not
  every CPU does, so it is done here.

`Order.GIVEN` redoes the same arithmetic in the natural order: only runs of this module are compared with each other, so
that a difference is one of order and not of algorithm.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

PARTS = 12
"""Parts a linear call is split into; three addends of one element fall into three parts nearly always."""


@dataclass(frozen=True)
class Order:
    """How to add up: `shuffle` draws the parts and their order, else they are contiguous; `backwards` reverses them."""

    name: str
    shuffle: int | None = None
    backwards: bool = False


GIVEN = Order("given")
FUSED = Order("reversed", backwards=True)
"""Where two products meet, the later one is not rounded before."""
ORDERS = (FUSED, Order("shuffled", shuffle=1), Order("blocked", shuffle=2, backwards=True))


def split(tensor: torch.Tensor, order: Order) -> list[torch.Tensor]:
    """Parts of `tensor` that add up to it, in the order in which they are to be added."""
    count = tensor.numel()
    places = torch.arange(count)
    if order.shuffle is not None:
        places = places[torch.randperm(count, generator=torch.Generator().manual_seed(order.shuffle + count))]
    groups = list(places.tensor_split(min(PARTS, max(count, 1))))
    if order.backwards:
        groups.reverse()
    parts = []
    for group in groups:
        mask = torch.zeros(count, dtype=torch.bool)
        mask[group] = True
        parts.append(torch.where(mask.reshape(tensor.shape), tensor, torch.zeros((), dtype=tensor.dtype)))
    return parts


def add_up(addends: Sequence[Any]) -> Any:
    """The sum of whole results, member by member, from the first to the last."""
    first = addends[0]
    if isinstance(first, (tuple, list)):
        return type(first)(add_up(members) for members in zip(*addends, strict=True))
    if not isinstance(first, torch.Tensor) or not (first.dtype.is_floating_point or first.dtype.is_complex):
        return first
    total = first
    for addend in addends[1:]:
        total = total + addend
    return total


def permutation(count: int, order: Order) -> torch.Tensor:
    if order.shuffle is None or count <= 4:
        places = torch.arange(count)
        return places.flip(0) if order.backwards or order.shuffle is not None else places
    return torch.randperm(count, generator=torch.Generator().manual_seed(order.shuffle))


LINEAR = {
    "sum": "self", "nansum": "self", "mean": "self", "trace": "self", "mm": "self", "bmm": "self", "mv": "self",
    "dot": "self", "vdot": "self", "cumsum": "self", "avg_pool2d": "self", "avg_pool3d": "self", "avg_pool1d": "self",
    "_adaptive_avg_pool2d": "self", "_adaptive_avg_pool3d": "self", "upsample_bilinear2d": "self",
    "upsample_linear1d": "self", "upsample_trilinear3d": "self", "upsample_bicubic2d": "self",
    "_upsample_bilinear2d_aa": "input", "_upsample_bicubic2d_aa": "input", "col2im": "self",
    "unfold_backward": "grad_in",
    "_fft_r2c": "self", "_fft_c2c": "self", "_fft_c2r": "self", "grid_sampler_2d": "input", "grid_sampler_3d": "input",
    "nll_loss_forward": "self", "nll_loss2d_forward": "self", "_trilinear": "i1", "_embedding_bag": "weight",
}  # fmt: skip
"""Calls that are linear in one argument; every `*_backward` is linear in its upstream gradient as well."""
UPSTREAM = ("grad_output", "grad", "grad_out", "out_grad", "grad_y", "grad_in")
AFFINE = {
    "addmm": ("self", "mat1"), "addmv": ("self", "mat"), "baddbmm": ("self", "batch1"), "addbmm": ("self", "batch1"),
    "index_add": ("self", "source"), "scatter_add": ("self", "src"), "put": ("self", "source"),
    "index_put": ("self", "values"), "_unsafe_index_put": ("self", "values"), "_index_put_impl": ("self", "values"),
    "convolution": ("bias", "input"),
}  # fmt: skip
"""Calls that add one argument to something that is linear in another one."""
SYMMETRIC = frozenset({"prod", "linalg_vector_norm", "norm", "logsumexp"})
MOMENTS = frozenset({"var", "std", "var_mean", "std_mean"})
EQUIVARIANT = frozenset({"_softmax", "_log_softmax", "_safe_softmax"})
PAIRED = frozenset({
    "mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "dist",
})  # fmt: skip


TWO_PRODUCTS = frozenset({"linalg_cross", "upsample_linear1d"})
NARROW = (torch.float32, torch.float16, torch.bfloat16)
"""Dtypes of which float64 holds every product."""


class Reordered(TorchDispatchMode):  # type: ignore[misc]
    """Enter it around a run; `redone` counts the calls that were made in another way."""

    def __init__(self, order: Order) -> None:
        super().__init__()
        self.order = order
        self.redone = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        arguments = _named(func, args, kwargs or {})
        packet = func._schema.name.split("::")[1]
        plain = packet.rstrip("_")
        fused = plain in TWO_PRODUCTS and arguments["self"].dtype in NARROW and self.order in (GIVEN, FUSED)
        redo = self._two_products(plain, arguments) if fused else self._way(plain, arguments)
        if redo is None or "out" in arguments:
            return func(*args, **(kwargs or {}))
        self.redone += 1
        result = redo(lambda **changes: _call(func, {**arguments, **changes}))
        if packet.endswith("_") and not packet.endswith("__"):
            return arguments["self"].copy_(result)
        return result

    def _way(self, packet: str, arguments: dict[str, Any]) -> Callable[[Callable[..., Any]], Any] | None:
        linear = LINEAR.get(packet)
        if linear is None and packet.endswith(("_backward", "_backward_data", "_data")):
            linear = next((name for name in UPSTREAM if _rounds(arguments.get(name))), None)
        if packet == "_embedding_bag" and arguments["mode"] == 2:
            return None
        dtype = arguments.get("dtype")
        if isinstance(dtype, torch.dtype) and not (dtype.is_floating_point or dtype.is_complex):
            return None
        if packet == "scatter_reduce" and arguments["reduce"] == "sum" and arguments["include_self"]:
            return self._affine("self", "src", arguments)
        if linear and _rounds(arguments.get(linear)):
            weighed = packet in ("nll_loss_forward", "nll_loss2d_forward")
            return lambda call: self._of_parts(call, linear, arguments[linear], first=weighed)
        if packet in AFFINE and arguments.get("accumulate", True):
            return self._affine(*AFFINE[packet], arguments)
        if packet in SYMMETRIC and _rounds(arguments.get("self")) and arguments["self"].dim():
            return self._symmetric(arguments)
        if packet in MOMENTS and _rounds(arguments["self"]) and not arguments["self"].is_complex():
            return self._moments(packet, arguments)
        if packet in EQUIVARIANT and arguments["self"].dim():
            return self._equivariant(arguments)
        if packet == "native_layer_norm":
            return self._layer_norm(arguments)
        if packet in PAIRED:
            return self._paired(arguments)
        if packet in ("cumprod", "logcumsumexp"):
            return self._scan(packet, arguments)
        return None

    def _two_products(self, packet: str, arguments: dict[str, Any]) -> Callable[[Callable[..., Any]], Any]:
        tensor = arguments["self"]

        def held(product: torch.Tensor) -> torch.Tensor:
            return product if self.order == FUSED else product.to(tensor.dtype).double()

        def cross(_: Callable[..., Any]) -> torch.Tensor:
            one, other = (t.double() for t in torch.broadcast_tensors(tensor, arguments["other"]))
            axis = arguments.get("dim", -1)
            second = (one.roll(-2, axis) * other.roll(-1, axis)).to(tensor.dtype)
            return (held(one.roll(-1, axis) * other.roll(-2, axis)) - second).to(tensor.dtype)

        def linear(call: Callable[..., Any]) -> torch.Tensor:
            first, *others = [held(call(self=part.double())) for part in split(tensor, self.order)]
            total = first.to(tensor.dtype)
            for product in others:
                total = (total + product).to(tensor.dtype)
            return total

        return cross if packet == "linalg_cross" else linear

    def _affine(self, base: str, factor: str, arguments: dict[str, Any]) -> Callable[[Callable[..., Any]], Any] | None:
        start, source = arguments.get(base), arguments[factor]
        if not _rounds(source) or (base == "self" and not _rounds(start)):
            return None
        if base == "bias":
            axes = [-1 if axis == 1 else 1 for axis in range(source.dim())]
            whole = [] if start is None else [start.reshape(axes)]
            none: Any = None
        else:
            beta = arguments.get("beta", 1)
            whole = [start if beta == 1 else start * beta] if beta != 0 else []
            none = torch.zeros_like(start)

        def redo(call: Callable[..., Any]) -> Any:
            parts = [call(**{base: none, factor: part}) for part in split(source, self.order)]
            return add_up([*parts, *whole] if self.order.backwards else [*whole, *parts])

        return redo

    def _symmetric(self, arguments: dict[str, Any]) -> Callable[[Callable[..., Any]], Any]:
        tensor, axes = arguments["self"], arguments.get("dim")
        listed = [axes] if isinstance(axes, int) else list(axes or range(tensor.dim()))
        for axis in listed:
            tensor = tensor.index_select(axis, permutation(tensor.shape[axis], self.order))
        return lambda call: call(self=tensor)

    def _of_parts(self, call: Callable[..., Any], linear: str, tensor: torch.Tensor, *, first: bool) -> Any:
        """The sum of what the parts make; of the `first` result alone where the others do not come from the tensor."""
        summed = add_up([call(**{linear: part}) for part in split(tensor, self.order)])
        return (summed[0], *call()[1:]) if first else summed

    def _moments(self, packet: str, arguments: dict[str, Any]) -> Callable[[Callable[..., Any]], Any] | None:
        """Two passes in the dtype of the data; the kernel itself accumulates in float64."""
        tensor, axes = arguments["self"], arguments.get("dim")
        listed = [axes] if isinstance(axes, int) else list(axes or range(tensor.dim()))
        if not tensor.dim() or not tensor.numel():
            return None
        kept = [axis for axis in range(tensor.dim()) if axis not in [a % tensor.dim() for a in listed]]
        rows = tensor.permute(*kept, *listed).reshape(*(tensor.shape[axis] for axis in kept), -1)
        rows = rows.index_select(-1, permutation(rows.shape[-1], self.order))
        correction = arguments.get("correction", 1)

        def redo(call: Callable[..., Any]) -> Any:
            result = call()
            count = rows.shape[-1]
            mean = add_up(rows.unbind(-1)) / count
            spread = add_up(((rows - mean.unsqueeze(-1)) ** 2).unbind(-1))
            spread = spread / max(count - (1 if correction is None else correction), 0)
            spread = spread.sqrt() if packet.startswith("std") else spread
            if isinstance(result, torch.Tensor):
                return spread.reshape(result.shape)
            return (spread.reshape(result[0].shape), mean.reshape(result[1].shape))

        return redo

    def _equivariant(self, arguments: dict[str, Any]) -> Callable[[Callable[..., Any]], Any]:
        tensor, axis = arguments["self"], arguments["dim"]
        places = permutation(tensor.shape[axis], self.order)
        return lambda call: call(self=tensor.index_select(axis, places)).index_select(axis, places.argsort())

    def _layer_norm(self, arguments: dict[str, Any]) -> Callable[[Callable[..., Any]], Any]:
        tensor, axes = arguments["input"], len(arguments["normalized_shape"])
        changed = {"input": tensor, "weight": arguments.get("weight"), "bias": arguments.get("bias")}
        back = []
        for axis in range(-axes, 0):
            places = permutation(tensor.shape[axis], self.order)
            changed = {name: None if t is None else t.index_select(axis, places) for name, t in changed.items()}
            back.append((axis, places.argsort()))

        def redo(call: Callable[..., Any]) -> Any:
            output, *statistics = call(**changed)
            for axis, places in back:
                output = output.index_select(axis, places)
            return (output, *statistics)

        return redo

    def _paired(self, arguments: dict[str, Any]) -> Callable[[Callable[..., Any]], Any] | None:
        tensors = {name: value for name, value in arguments.items() if isinstance(value, torch.Tensor)}
        shape = arguments["self"].shape
        if arguments.get("reduction", 1) == 0 or any(tensor.shape != shape for tensor in tensors.values()):
            return None
        places = permutation(arguments["self"].numel(), self.order)
        changed = {name: tensor.reshape(-1)[places] for name, tensor in tensors.items()}
        return lambda call: call(**changed)

    def _scan(self, packet: str, arguments: dict[str, Any]) -> Callable[[Callable[..., Any]], Any] | None:
        """One element after the other, or by doubling strides as parallel scans do."""
        tensor, axis = arguments["self"], arguments["dim"]
        if not tensor.dim() or not _rounds(tensor):
            return None
        join = torch.mul if packet == "cumprod" else torch.logaddexp
        length = tensor.shape[axis]

        def redo(call: Callable[..., Any]) -> Any:  # noqa: ARG001 - the call itself is not made
            rows = list(tensor.unbind(axis))
            step = 1
            if self.order == GIVEN:
                for place in range(1, length):
                    rows[place] = join(rows[place - 1], rows[place])
            else:
                while step < length:
                    rows = [rows[p] if p < step else join(rows[p - step], rows[p]) for p in range(length)]
                    step *= 2
            return torch.stack(rows, axis) if rows else tensor.clone()

        return redo


def _rounds(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and (value.dtype.is_floating_point or value.dtype.is_complex)
    )


def _named(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    names = [argument.name for argument in func._schema.arguments]
    defaults = {
        argument.name: argument.default_value for argument in func._schema.arguments if argument.has_default_value()
    }
    return {**defaults, **dict(zip(names, args, strict=False)), **kwargs}


def _call(func: Any, arguments: dict[str, Any]) -> Any:
    """`func`, out of place also where it writes its first argument."""
    positional = [arguments[a.name] for a in func._schema.arguments if not a.kwarg_only and a.name in arguments]
    named = {a.name: arguments[a.name] for a in func._schema.arguments if a.kwarg_only and a.name in arguments}
    name = func._schema.name.split("::")[1]
    if name.endswith("_") and not name.endswith("__"):
        positional[0] = positional[0].clone()
    return func(*positional, **named)
