"""The same call with the broadcast removed: what the gradient would be if nothing had to be summed back."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from opscan.model import TensorClass
from opscan.numerics.binding import Binding, TensorArgument
from opscan.validating.running import Call


def without_broadcast(call: Call, tensor: TensorClass, output: tuple[int, ...]) -> Iterator[Call]:
    """Calls in which the input of the gradient `tensor` has all the elements that meet it, the likeliest first.

    First every tensor input takes the shape in which all meet; then only the one in question takes that of the
    `output`. An operator may refuse either.
    """
    label = tensor.name.removeprefix("grad:")
    described = list(call.binding.tensors())
    own = next((argument.shape for argument in described if argument.label == label), None)
    for shapes in ((*(argument.shape for argument in described), output), [argument.shape for argument in described]):
        try:
            common = tuple(torch.broadcast_shapes(*shapes))
        except RuntimeError:
            continue
        if common != own:
            yield replace(call, binding=_reshaped(call.binding, common, lambda _: True))
    if output != own:
        yield replace(call, binding=_reshaped(call.binding, output, lambda argument: argument.label == label))


def _reshaped(binding: Binding, shape: tuple[int, ...], affected: Callable[[TensorArgument], bool]) -> Binding:
    def change(argument: TensorArgument) -> TensorArgument:
        return replace(argument, shape=shape) if affected(argument) else argument

    args, kwargs = binding.fill(change)
    return Binding(tuple(args), kwargs)
