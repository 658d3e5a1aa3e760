"""A dispatch mode under which torch computes as some other correct device might: EMULATED, never a real one.

Composed kernels are taken apart by torch's own decompositions. Of what is left, sums are added in a chosen order, and
each result of another function is moved by a random part of what its documented bound allows.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from opscan.validating.simulated.aten_call import AtenCall
from opscan.validating.simulated.linear import add_up_in_shares
from opscan.validating.simulated.profiles import Profile, in_turn, spacing

ORDERS = ("chain", "tree", "blocks")
WIDE = {torch.float32: torch.float64, torch.float16: torch.float32, torch.bfloat16: torch.float32}
_SHORT = {torch.float16, torch.bfloat16}
EXACT = frozenset(
    {
        "neg", "abs", "sign", "sgn", "relu", "clamp", "clamp_min", "clamp_max", "maximum", "minimum", "where", "clone",
        "copy", "_to_copy", "masked_fill", "floor", "ceil", "round", "trunc", "fmod", "threshold", "threshold_backward",
        "nan_to_num", "hardtanh", "fmax", "fmin", "heaviside", "copysign", "amax", "amin", "expand", "view", "permute",
    }
)  # fmt: skip
IEEE = frozenset({"add", "sub", "rsub", "mul"})
"""Rounded alike by every device, unless it fuses two of them or computes in another order."""
UNITS = {
    "div": 1.0, "sqrt": 1.0, "exp": 1.0, "log": 1.0, "log1p": 1.0, "expm1": 1.0, "reciprocal": 1.0, "log2": 1.0,
    "cbrt": 1.0, "rsqrt": 2.0, "tanh": 2.0, "sigmoid": 2.0, "erf": 2.0, "erfc": 4.0, "sin": 2.0, "cos": 2.0, "tan": 4.0,
    "asin": 2.0, "acos": 2.0, "atan": 2.0, "sinh": 3.0, "cosh": 2.0, "asinh": 3.0, "acosh": 4.0, "atanh": 3.0,
    "atan2": 3.0, "pow": 4.0, "exp2": 2.0, "log10": 2.0, "lgamma": 4.0, "digamma": 4.0, "hypot": 3.0, "erfinv": 2.0,
}  # fmt: skip
"""Documented bounds in units in the last place; of other functions `_OTHERS`."""
_OTHERS = 2.0
_WHOLE = EXACT | IEEE | UNITS.keys() | {"convolution", "cumsum", "convolution_backward"}
"""What is not taken apart."""


class Emulated(TorchDispatchMode):  # type: ignore[misc]  # torch is optional, so mypy sees Any
    """Enter it around forward and backward. `order`: how it adds; every second device rounds sums and products of its
    own, as one does that fuses them. `profile`: what is documented of it; what is not it does as any device may."""

    def __init__(self, seed: int, order: str, profile: Profile | None = None, *, fuses: bool = True) -> None:
        super().__init__()
        self.random = torch.Generator().manual_seed(seed)
        self.order = order
        self.profile = profile
        self._fuses = bool(torch.randint(0, 2, (), generator=self.random)) and fuses

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name.split("::")[1]
        writes = any(each.alias_info is not None and each.alias_info.is_write for each in func._schema.arguments)
        if writes or not any(_rounds(value) for value in tree_leaves((args, kwargs))):
            result = func(*args, **kwargs)
            return self._in_place(result, name.rstrip("_")) if writes else result
        if name in _ORDERED:
            return _ORDERED[name](self, func, args, kwargs)
        if name not in _WHOLE and (parts := _table().get(func)) is not None:
            try:
                with self:
                    return parts(*args, **kwargs)
            except (NotImplementedError, RuntimeError, TypeError):
                pass
        if name == "convolution" and self.profile is not None:
            args = (*[self.profile.shortened("convolution", factor) for factor in args[:2]], *args[2:])
        if (shared := _in_shares(func, args, kwargs)) is not None:
            return shared()
        return self._moved(func, name, args, kwargs)

    def _in_place(self, result: Any, name: str) -> Any:
        if name not in UNITS and name not in IEEE:
            return result
        dtype = result.dtype
        return result.copy_(self._flushed(self._noised(result.to(WIDE.get(dtype, dtype)), name, dtype).to(dtype), name))

    def _flushed(self, value: Any, name: str) -> Any:
        return value if self.profile is None else self.profile.flushed(name, value, value.dtype)

    def _moved(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        if self.profile is not None and name in self.profile.device.flushed:
            common = func(*args, **kwargs).dtype
            args = [self.profile.flushed(name, value, common) for value in args]
        native = func(*args, **kwargs)
        if name in EXACT or torch.Tag.pointwise not in func.tags or not _rounds(native) or native.dtype not in WIDE:
            return native
        wide = WIDE[native.dtype]
        exact = func(*[_widened(value, wide) for value in args], **{k: _widened(v, wide) for k, v in kwargs.items()})
        moved = self._flushed(self._noised(exact.to(wide), name, native.dtype).to(native.dtype), name)
        return torch.where(torch.isfinite(moved), moved, native)

    def _noised(self, value: Any, name: str, dtype: Any) -> Any:
        """`value` moved within the bound of a function, before it is rounded to the dtype of the call."""
        if self.profile is not None and name not in IEEE and value.dtype in WIDE.values() and value.dtype != dtype:
            widest = UNITS.get(name, _OTHERS) if dtype == torch.float32 else 0.5
            room = self.profile.bound(name, dtype, widest) - 0.5
            noise = torch.rand(value.shape, generator=self.random, dtype=torch.float64) * 2 - 1
            return value + (room * noise).to(value.dtype) * spacing(value, dtype) if room else value
        if value.dtype != torch.float64 or (name in IEEE and not self._fuses):
            return value  # a short format: float32 inside, one rounding at the end
        bound = 1.0 if name in IEEE else 2 * (UNITS.get(name, _OTHERS) - 0.5)
        noise = torch.rand(value.shape, generator=self.random, dtype=torch.float64) * 2 - 1
        return value * (1 + 2.0**-24 * bound * noise)

    def total(self, terms: Any, axes: list[int], *, documented: bool = True) -> Any:
        """The sum along axes in the order of this device, in float32 for shorter formats. `documented`: that of a
        vector unit, which a profile may tell."""
        held = terms.float() if terms.dtype in (torch.float16, torch.bfloat16) else terms
        kept = [axis for axis in range(held.dim()) if axis not in axes]
        rows = held.permute([*kept, *axes]).reshape(*[held.shape[axis] for axis in kept], -1)
        if rows.shape[-1] <= 1:
            return rows.sum(-1)
        if documented and self.profile is not None and (documented_sum := self.profile.total(rows)) is not None:
            return documented_sum
        if self.order == "chain":
            return in_turn(torch.stack([in_turn(part)[..., -1] for part in rows.split(4096, -1)], -1))[..., -1]
        rows = rows[..., torch.randperm(rows.shape[-1], generator=self.random)]
        return _folded(rows, 2 if self.order == "tree" else 64)


def _in_shares(func: Any, args: Any, kwargs: Any) -> Callable[[], Any] | None:
    """The call made on parts of one operand that are added up: in float32 where its formats are shorter, as every
    accumulator is."""
    short = {value.dtype for value in tree_leaves((args, kwargs)) if _rounds(value)} & _SHORT
    if len(short) != 1:
        return add_up_in_shares(AtenCall.of(func, args, kwargs))
    wide = tree_map(lambda value: _widened(value, torch.float32), (args, kwargs))
    shared = add_up_in_shares(AtenCall.of(func, *wide))
    if shared is None:
        return None
    (dtype,) = short
    return lambda: tree_map(lambda value: value.to(dtype) if _rounds(value) else value, shared())


def _folded(rows: Any, block: int) -> Any:
    """Neighbours added by blocks, each in turn, then the sums of the blocks."""
    while rows.shape[-1] > 1:
        rows = torch.nn.functional.pad(rows, (0, -rows.shape[-1] % block)).unflatten(-1, (-1, block))
        rows = rows[..., 0] + rows[..., 1] if block == 2 else in_turn(rows)[..., -1]
    return rows[..., 0]


def _sum(device: Emulated, func: Any, args: Any, kwargs: Any) -> Any:
    native, source = func(*args, **kwargs), args[0]
    if not _rounds(native) or not source.numel():
        return native
    axes = _axes(args[1] if len(args) > 1 else kwargs.get("dim"), source.dim())
    if kwargs.get("dtype") is not None:
        source = source.to(kwargs["dtype"])
    total = device.total(source, axes)
    if func._schema.name == "aten::mean":
        total = total / (source.numel() // native.numel())
    return total.reshape(native.shape).to(native.dtype)


_MOST_PRODUCTS = 1 << 22


def _product(device: Emulated, func: Any, args: Any, kwargs: Any) -> Any:
    native = func(*args, **kwargs)
    name = func._schema.name.split("::")[1]
    start, (left, right) = (args[0], args[1:3]) if name in ("addmm", "baddbmm") else (None, args[:2])
    if not _rounds(native) or not native.numel() or not left.shape[-1]:
        return native
    held = torch.float32 if native.dtype in (torch.float16, torch.bfloat16) else native.dtype
    left, right = left.to(held), right.to(held)
    if device.profile is not None:
        left, right = (device.profile.shortened("matmul", factor) for factor in (left, right))
    total = torch.zeros(native.shape, dtype=held)
    rows = max(_MOST_PRODUCTS // max(left.shape[-1] * native.numel() // native.shape[-2], 1), 1)
    for begin in range(0, native.shape[-2], rows):
        terms = left[..., begin : begin + rows, :].unsqueeze(-2) * right.transpose(-1, -2).unsqueeze(-3)
        total[..., begin : begin + rows, :] = device.total(terms, [terms.dim() - 1], documented=False)
    if start is not None:
        total = total * kwargs.get("alpha", 1) + start.to(held) * kwargs.get("beta", 1)
    return total.to(native.dtype)


def _norm(device: Emulated, func: Any, args: Any, kwargs: Any) -> Any:
    native, source = func(*args, **kwargs), args[0]
    order = args[1] if len(args) > 1 else kwargs.get("ord", 2)
    if order != 2 or not _rounds(native) or not source.numel():
        return native
    axes = _axes(args[2] if len(args) > 2 else kwargs.get("dim"), source.dim())
    held = source.float() if source.dtype in (torch.float16, torch.bfloat16) else source
    return device.total(held * held, axes).sqrt().reshape(native.shape).to(native.dtype)


def _scan(device: Emulated, func: Any, args: Any, kwargs: Any) -> Any:
    """Running sums of blocks, each on top of what the blocks before it come to."""
    native, axis = func(*args, **kwargs), args[1]
    if not _rounds(native) or not native.numel() or not native.dim():
        return native
    held = args[0].float() if native.dtype in (torch.float16, torch.bfloat16) else args[0].to(native.dtype)
    parts, before = [], torch.zeros((), dtype=held.dtype)
    for part in held.split(1 << 30 if device.order == "chain" else 16, axis):
        running = in_turn(part.movedim(axis, -1)).movedim(-1, axis)
        parts.append(running + before)
        before = before + running.select(axis, -1).unsqueeze(axis)
    return torch.cat(parts, axis).to(native.dtype)


_ORDERED: dict[str, Callable[[Emulated, Any, Any, Any], Any]] = {
    "sum": _sum, "mean": _sum, "mm": _product, "bmm": _product, "addmm": _product, "baddbmm": _product,
    "linalg_vector_norm": _norm, "cumsum": _scan,
}  # fmt: skip


def _axes(dims: Any, rank: int) -> list[int]:
    if dims is None or dims == []:
        return list(range(rank))
    return [dim % rank for dim in (dims if isinstance(dims, (list, tuple)) else [dims])] if rank else []


@lru_cache(maxsize=1)
def _table() -> Any:
    from torch._decomp import core_aten_decompositions, decomposition_table

    return {**decomposition_table, **core_aten_decompositions()}


def _rounds(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point and value.layout == torch.strided


def _widened(value: Any, wide: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_widened(item, wide) for item in value)
    return value.to(wide) if _rounds(value) and value.dtype != wide else value
