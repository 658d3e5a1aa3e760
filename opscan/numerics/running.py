"""Run one operator forward and backward under the tracer, on fake tensors or on small real ones."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import contextlib
import logging
import math
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from opscan.numerics.binding import Binding, TensorArgument
from opscan.numerics.bits import Bits
from opscan.numerics.operators import Operator
from opscan.numerics.tracer import Tracer

_LARGEST_TOTAL = 1 << 22
"""Bound for the sum of an integer input that is drawn: counts and repeats become output elements."""

Traced = tuple[str, str, "TensorArgument | None", Any, Bits]
"""(name of the compared tensor, role, the argument it belongs to, the tensor, its bits)."""

_NEEDS_DATA = tuple(
    getattr(fake_tensor, name)
    for name in (
        "DynamicOutputShapeException", "DataDependentOutputException", "UnsupportedFakeTensorException",
        "UnsupportedOperatorException",
    )
    if hasattr(fake_tensor, name)
)  # fmt: skip


class NeedsData(Exception):
    """The operator looks at values, so fake tensors do not do."""


class Refused(Exception):
    """The operator raises on these inputs; the message is the first line of its own."""


@lru_cache(maxsize=1)
def _fake_mode() -> FakeTensorMode:
    logging.getLogger("torch._subclasses").setLevel(logging.CRITICAL)  # it logs every refusal with a traceback
    return FakeTensorMode(allow_non_fake_inputs=False)


def trace(operator: Operator, binding: Binding, mutated: int | None, *, real: bool) -> list[Traced]:
    """Every compared tensor with its bits. `mutated`: the argument that is compared instead of the return value.

    Raises NeedsData where fake tensors (`real=False`) cannot answer, Refused where the operator raises.
    """
    mode: Any = contextlib.nullcontext() if real else _fake_mode()
    with mode, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _run(operator, binding, mutated, real)
        except (NeedsData, Refused):
            raise
        except _NEEDS_DATA as problem:
            raise NeedsData(f"{operator.name} looks at values: {_first_line(problem)}") from None
        except NotImplementedError as problem:
            raise (Refused if real else NeedsData)(_first_line(problem)) from None
        except Exception as problem:
            if "DataDependent" in type(problem).__name__ or "can't allocate memory" in str(problem):
                raise NeedsData(_first_line(problem)) from None
            raise Refused(_first_line(problem)) from None


def _first_line(problem: Exception) -> str:
    text = str(problem).strip() or type(problem).__name__
    return text.splitlines()[0][:300]


def _run(operator: Operator, binding: Binding, mutated: int | None, real: bool) -> list[Traced]:
    leaves: list[tuple[TensorArgument, Any]] = []
    generator = torch.Generator().manual_seed(0) if real else None

    def make(argument: TensorArgument) -> Any:
        tensor = _make(argument, generator)
        leaves.append((argument, tensor))
        return tensor

    args, kwargs = binding.fill(make)
    tracer = Tracer()
    for _, tensor in leaves:
        tracer.seed(tensor, Bits())
    with tracer:
        if operator.in_place or mutated is not None:
            args, kwargs = _without_leaves(args, kwargs)
        result = operator.call(*args, **kwargs)
    outputs = _outputs(operator, result, args, kwargs, mutated, binding)
    compared: list[Traced] = [(name, "output", None, tensor, tracer.bits_of(tensor)) for name, tensor in outputs]
    compared += _backward(tracer, [tensor for _, tensor in outputs], leaves, real)
    return compared


def _without_leaves(args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """A leaf that requires grad cannot be written; its copy can."""

    def copy(value: Any) -> Any:
        return value.clone() if isinstance(value, torch.Tensor) and value.requires_grad else value

    return [copy(value) for value in args], {name: copy(value) for name, value in kwargs.items()}


def _outputs(
    operator: Operator, result: Any, args: list[Any], kwargs: dict[str, Any], mutated: int | None, binding: Binding
) -> list[tuple[str, Any]]:
    everything, described = [*args, *kwargs.values()], [*binding.args, *binding.kwargs.values()]
    if mutated is not None and mutated < len(everything) and isinstance(everything[mutated], torch.Tensor):
        label = described[mutated].label if isinstance(described[mutated], TensorArgument) else f"#{mutated}"
        return [(f"output:0({label})", everything[mutated])]
    if operator.in_place and described:
        changed = list(zip(_tensors(described[:1], TensorArgument), _tensors(everything[:1]), strict=True))
        return [(f"output:{position}({given.label})", tensor) for position, (given, tensor) in enumerate(changed)]
    return [(f"output:{position}", tensor) for position, tensor in enumerate(_tensors(result))]


def _tensors(value: Any, kind: type = torch.Tensor) -> Iterator[Any]:
    if isinstance(value, kind):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item, kind)


def _backward(tracer: Tracer, outputs: list[Any], leaves: list[tuple[TensorArgument, Any]], real: bool) -> list[Traced]:
    wanted = [(argument, tensor) for argument, tensor in leaves if tensor.requires_grad]
    roots = [tensor for tensor in outputs if tensor.requires_grad]
    if not wanted or not roots:
        return []
    tracer.phase = "backward"
    upstream = [torch.randn_like(root) if real else torch.empty_like(root) for root in roots]
    for tensor in upstream:
        tracer.seed(tensor, Bits())
    with tracer:
        gradients = torch.autograd.grad(roots, [tensor for _, tensor in wanted], upstream, allow_unused=True)
    return [
        (f"grad:{argument.label}", "gradient", argument, gradient, tracer.bits_of(gradient))
        for (argument, _), gradient in zip(wanted, gradients, strict=True)
        if gradient is not None
    ]


def _make(argument: TensorArgument, generator: Any) -> Any:
    dtype = getattr(torch, argument.dtype)
    if generator is None:
        return torch.empty(argument.shape, dtype=dtype, requires_grad=argument.requires_grad)
    if dtype.is_floating_point or dtype.is_complex:
        values = torch.randn(argument.shape, generator=generator, dtype=torch.float64).to(dtype)
        return values.requires_grad_(argument.requires_grad)
    if dtype == torch.bool:
        return torch.rand(argument.shape, generator=generator) > 0.5
    low, high = _whole_range(argument.values)
    high = max(low, min(high, low + max(_LARGEST_TOTAL // max(math.prod(argument.shape), 1), 16)))
    return torch.randint(low, high + 1, argument.shape, generator=generator).to(dtype)


def _whole_range(values: Any) -> tuple[int, int]:
    """The declared range of an integer input; small whole numbers where none is declared."""
    if isinstance(values, tuple) and len(values) == 2 and all(type(end) in (int, float) for end in values):
        low, high = int(min(values)), int(max(values))
        return max(low, -(1 << 31)), min(high, 1 << 31)
    return 0, 1
