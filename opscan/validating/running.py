"""One call, forward and backward, on one device: the compared tensors by the names that numerics gives them."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from opscan.model import Case, Plugin
from opscan.numerics.binding import Binding, TensorArgument, Unbindable, bind, readings
from opscan.numerics.names import basis_of
from opscan.numerics.operators import Operator, resolve
from opscan.validating.devices import Device
from opscan.validating.drawing import draw_upstream


class Refused(Exception):
    """The operator raises; the message is the first line of its own."""


@dataclass(frozen=True, slots=True)
class Call:
    """`mutated`: the argument that is compared instead of the return value."""

    operator: Operator
    binding: Binding
    mutated: int | None


def calls_of(case: Case, golden: Plugin | str | None = None) -> list[Call]:
    """The ways to pass the case to its operator, the likeliest first. Raises Refused if there is none.

    `golden`: the plugin whose executor computes it, followed in its text and never run; why there is none that can be.
    """
    if isinstance(golden, str):
        raise Refused(golden)
    if golden is not None:
        return [_call_of_golden(case, golden)]
    operator = resolve(case.name or "", method=case.tensor_input is not None)
    if isinstance(operator, str):
        raise Refused(operator)
    try:
        bindings = readings(case, operator.parameters, basis_of(case))
    except Unbindable as problem:
        raise Refused(str(problem)) from None
    return [Call(operator, each, case.outputs) for each in bindings]


def _call_of_golden(case: Case, golden: Plugin) -> Call:
    from opscan.numerics.goldens import golden_of

    operator = golden_of(golden, case.api_type, case)
    if isinstance(operator, str):
        raise Refused(operator)
    try:
        return Call(operator, bind(case, (), executor=True), None)
    except Unbindable as problem:
        raise Refused(str(problem)) from None


def run(
    call: Call, inputs: Sequence[Any], upstream: tuple[tuple[float, float], int], device: Device, way: int = 0
) -> Mapping[str, Any]:
    """Every compared tensor, back on the CPU. `inputs` are CPU tensors in the order of `call.binding.tensors()`;
    `upstream` is range and seed of the upstream gradient; `way`: see `Device`. Raises Refused where the operator or the
    device does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return {name: tensor.detach().cpu() for name, tensor in _run(call, inputs, upstream, device, way)}
        except Exception as problem:  # an operator may raise anything
            text = str(problem).strip() or type(problem).__name__
            raise Refused(text.splitlines()[0][:200]) from None


def _run(
    call: Call, inputs: Sequence[Any], upstream: tuple[tuple[float, float], int], device: Device, way: int
) -> list[tuple[str, Any]]:
    waiting = iter(inputs)
    leaves: list[tuple[TensorArgument, Any]] = []

    def make(argument: TensorArgument) -> Any:
        tensor = device.place(next(waiting)).requires_grad_(argument.requires_grad)
        leaves.append((argument, tensor))
        return tensor

    args, kwargs = call.binding.fill(make)
    writes = call.operator.in_place or call.mutated is not None
    with device.active(way):
        if writes:
            args, kwargs = [_writable(value) for value in args], {key: _writable(kwargs[key]) for key in kwargs}
        result = call.operator.call(*args, **kwargs)
        outputs = list(_outputs(call, result, args))
        gradients = _gradients([tensor for _, tensor in outputs], leaves, upstream, device)
    return [*outputs, *gradients]


def _writable(value: Any) -> Any:
    """A leaf that requires grad cannot be written; its copy can."""
    return value.clone() if isinstance(value, torch.Tensor) and value.requires_grad else value


def _outputs(call: Call, result: Any, args: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    position = call.mutated
    if position is not None and position < len(args) and isinstance(args[position], torch.Tensor):
        given = call.binding.args[position]
        yield f"output:0({given.label if isinstance(given, TensorArgument) else f'#{position}'})", args[position]
    elif call.operator.in_place and call.binding.args:
        described = _flat(call.binding.args[0], TensorArgument)
        for place, (given, tensor) in enumerate(zip(described, _flat(args[0], torch.Tensor), strict=True)):
            yield f"output:{place}({given.label})", tensor
    else:
        for place, tensor in enumerate(_flat(result, torch.Tensor)):
            yield f"output:{place}", tensor


def _flat(value: Any, kind: type) -> Iterator[Any]:
    if isinstance(value, kind):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item, kind)


def _gradients(
    outputs: Sequence[Any],
    leaves: Sequence[tuple[TensorArgument, Any]],
    upstream: tuple[tuple[float, float], int],
    device: Device,
) -> list[tuple[str, Any]]:
    wanted = [(argument, tensor) for argument, tensor in leaves if tensor.requires_grad]
    roots = [tensor for tensor in outputs if tensor.requires_grad]
    if not wanted or not roots:
        return []
    given = [device.place(tensor) for tensor in draw_upstream(roots, *upstream)]
    gradients = torch.autograd.grad(roots, [tensor for _, tensor in wanted], given, allow_unused=True)
    return [
        (f"grad:{argument.label}", gradient)
        for (argument, _), gradient in zip(wanted, gradients, strict=True)
        if gradient is not None
    ]
