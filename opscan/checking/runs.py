"""Runs of an operator that the oracles compare: subjects, full-mantissa data, forward and backward in one call."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

WIDER = {
    torch.float32: torch.float64, torch.float16: torch.float64, torch.bfloat16: torch.float64,
    torch.complex64: torch.complex128, torch.complex32: torch.complex128,
}  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """One call: `call(*args, **kwargs)` with the leaves of (args, kwargs) in `leaves`, in the order of `structure`."""

    name: str
    call: Callable[..., Any]
    leaves: tuple[Any, ...]
    structure: Any
    prepare: Callable[[Any], Any] = field(default=lambda result: result)
    """What of the result is differentiated (the operator database's `output_process_fn_grad`)."""
    label: str = ""

    @property
    def tensors(self) -> list[int]:
        return [place for place, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]

    @property
    def wanted(self) -> list[int]:
        return [place for place in self.tensors if self.leaves[place].requires_grad]


@dataclass(frozen=True)
class Run:
    """The compared tensors of one run by name, and the upstream gradients that were used."""

    tensors: dict[str, Any]
    upstream: tuple[torch.Tensor, ...]


def subject(name: str, call: Callable[..., Any], *args: Any, label: str = "", **kwargs: Any) -> Subject:
    leaves, structure = tree_flatten((args, kwargs))
    return Subject(name, call, tuple(leaves), structure, label=label)


def full_mantissa(shape: Sequence[int], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Normal values drawn in float64 and rounded: the usual float32 draws lie on a grid that hides rounding."""
    wide = torch.complex128 if dtype.is_complex else torch.float64
    return torch.randn(tuple(shape), generator=generator, dtype=wide).to(dtype)


def jitter(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """`tensor` a little closer to zero, each element by its own factor: the operator's domain keeps it.

    Signs stay as they are, for a loss may take them as its targets.
    """
    if tensor.layout != torch.strided or not tensor.dtype.is_floating_point or tensor.dtype.itemsize == 1:
        return tensor.detach().clone()
    if tensor.numel() and bool((tensor.detach().double().abs() == 1).all()):
        return tensor.detach().clone()
    factor = 1 - 0.02 * torch.rand(tensor.shape, generator=generator, dtype=torch.float64)
    return (tensor.detach().double() * factor).to(tensor.dtype)


def of_sample(operator: Any, sample: Any, label: str, generator: torch.Generator) -> Subject:
    """The subject for one sample of PyTorch's operator database, its data redrawn with full mantissas."""
    leaves, structure = tree_flatten(((sample.input, *sample.args), sample.kwargs))
    fresh = [
        jitter(leaf, generator).requires_grad_(leaf.requires_grad) if isinstance(leaf, torch.Tensor) else leaf
        for leaf in leaves
    ]
    name = operator.name + (f".{operator.variant_test_name}" if operator.variant_test_name else "")
    return Subject(
        name, operator.op, tuple(fresh), structure, sample.output_process_fn_grad or (lambda out: out), label
    )


def run(
    what: Subject,
    leaves: Sequence[Any] | None = None,
    upstream: Sequence[torch.Tensor] | None = None,
    mode: Any = None,
    keep: Callable[[torch.Tensor], Any] | None = None,
    before_backward: Callable[[Sequence[torch.Tensor]], None] | None = None,
    seed: int = 7,
) -> Run:
    """Forward, and backward to every leaf that requires grad, under `mode`. `keep`: what is kept of a result."""
    given = what.leaves if leaves is None else leaves
    args, kwargs = tree_unflatten(list(given), what.structure)
    torch.manual_seed(seed)
    mode = mode if mode is not None else contextlib.nullcontext()
    with warnings.catch_warnings(), mode:
        warnings.simplefilter("ignore")
        result = what.call(*args, **kwargs)
        outputs = list(_tensors(result))
        roots = [t for t in _tensors(what.prepare(result)) if t.requires_grad]
    tensors = {f"output:{place}": (keep or _held)(tensor) for place, tensor in enumerate(outputs)}
    wanted = [place for place, leaf in enumerate(given) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    drawn: tuple[torch.Tensor, ...] = ()
    if roots and wanted:
        drawn = tuple(upstream) if upstream is not None else upstream_for(roots)
        if before_backward:
            before_backward(drawn)
        with warnings.catch_warnings(), mode:
            warnings.simplefilter("ignore")
            gradients = torch.autograd.grad(roots, [given[place] for place in wanted], drawn, allow_unused=True)
        tensors |= {
            f"grad:{place}": (keep or _held)(gradient)
            for place, gradient in zip(wanted, gradients, strict=True)
            if gradient is not None
        }
    return Run(tensors, drawn)


def upstream_for(roots: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(11)
    return tuple(full_mantissa(root.shape, root.dtype, generator) for root in roots)


def widened(what: Subject, upstream: Sequence[torch.Tensor]) -> tuple[list[Any], list[torch.Tensor]]:
    """The leaves and upstream gradients in float64 (dtypes among the leaves too); the values stay."""

    def wide(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype in WIDER:
            return value.detach().to(WIDER[value.dtype]).requires_grad_(value.requires_grad)
        return WIDER.get(value, value) if isinstance(value, torch.dtype) else value

    return tree_map(wide, list(what.leaves)), [wide(tensor) for tensor in upstream]


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    yield from (leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor))


def _held(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_quantized:
        tensor = tensor.int_repr()
    tensor = tensor.detach()
    return tensor.resolve_conj().resolve_neg().clone()


def parts_of(tensor: torch.Tensor) -> torch.Tensor:
    """Real and imaginary parts side by side."""
    return (
        torch.view_as_real(tensor.to(torch.complex64) if tensor.dtype == torch.complex32 else tensor)
        if (tensor.is_complex())
        else tensor
    )


def differing(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Where two tensors differ in value: NaN equals NaN and -0 equals +0. Every place where the shapes differ."""
    if one.shape != other.shape or one.is_complex() != other.is_complex():
        return torch.ones(max(one.numel(), 1), dtype=torch.bool)
    left, right = parts_of(one), parts_of(other)
    different = left != right
    if left.dtype.is_floating_point and right.dtype.is_floating_point:
        different &= ~(left.isnan() & right.isnan())
    return different.reshape(-1)


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return not bool(differing(one, other).any())
