"""Bounds for what a followed golden makes torch do, and what it looks at."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from opscan.numerics.bits import Level
from opscan.numerics.tracer import Tracer, generator_key
from opscan.pyread.stops import CannotFollow

MAX_CALLS = 20_000
"""ATen calls of one golden, its own backward included."""
MAX_ELEMENTS = 1 << 26
"""Elements of all the results of one golden that runs on real data: the tracer keeps them alive."""


def current_tracer() -> Tracer | None:
    """The tracer that watches the run, if one does."""
    modes = [mode for mode in _get_current_dispatch_mode_stack() if isinstance(mode, Tracer)]
    return modes[-1] if modes else None


@contextmanager
def preparing() -> Iterator[None]:
    """What is made meanwhile is an input like others, and what is drawn: every device is given the same."""
    tracer = current_tracer()
    if tracer:
        tracer.prepares = True
    try:
        with torch.no_grad():
            yield
    finally:
        if tracer:
            tracer.prepares = False


@contextmanager
def guarding() -> Iterator[Watch]:
    """What is read meanwhile only decides whether the golden raises; gives the watch, whose `read` tells of it."""
    modes = [mode for mode in _get_current_dispatch_mode_stack() if isinstance(mode, (Tracer, Watch))]
    watch = next(mode for mode in reversed(modes) if isinstance(mode, Watch))
    watch.read = False
    for mode in modes:
        mode.guards = True
    try:
        yield watch
    finally:
        for mode in modes:
            mode.guards = False


def seed(generator: torch.Generator | None, level: Level) -> None:
    """Tell the tracer what the numbers of a generator (None: torch's own) are from now on."""
    tracer = current_tracer()
    if tracer is not None:
        tracer.keep(generator)
        tracer.seeded[generator_key(generator)] = level


class Watch(TorchDispatchMode):  # type: ignore[misc]  # torch is optional, so mypy sees Any
    """Counts calls and real elements. `looked`: a value that comes from an input decided what the golden did next."""

    def __init__(self) -> None:
        super().__init__()
        self.looked = False
        self.guards = False
        """What is read now decides nothing that is compared."""
        self.read = False
        """Whether a value has been read since that was last set to False, in a guard or outside."""
        self._tracer = current_tracer()
        self._calls = 0
        self._elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._calls += 1
        if self._calls > MAX_CALLS:
            raise CannotFollow(f"more than {MAX_CALLS} calls of torch")
        name = func._schema.name
        if name == "aten::_local_scalar_dense":
            if self._tracer is not None and self._tracer.is_drawn(args[0]):
                raise CannotFollow("a decision by a number that is drawn")
            self._note(self._tracer is None or self._tracer.bits_of(args[0]).level > Level.CONST)
        else:
            self._check(args, kwargs or {})
        if _sizes_by_value(func, args):
            self._note(True)
        result = func(*args, **(kwargs or {}))
        self._count(result)
        return result

    def _note(self, looked: bool) -> None:
        self.read = self.read or looked
        self.looked = self.looked or (looked and not self.guards)

    def _check(self, args: Any, kwargs: Any) -> None:
        """Refuse a result that would be far too large before it is made; fake tensors cost nothing."""
        tensors = [value for value in _flat((args, tuple(kwargs.values()))) if isinstance(value, torch.Tensor)]
        if any(isinstance(tensor, FakeTensor) for tensor in tensors):
            return
        try:
            largest = math.prod(torch.broadcast_shapes(*(tuple(tensor.shape) for tensor in tensors)))
        except RuntimeError:
            largest = 0
        sizes = [_bound(value) for value in (*args, *kwargs.values())]
        if max(largest, *sizes, 0) > MAX_ELEMENTS:
            raise CannotFollow(f"a tensor of more than {MAX_ELEMENTS} elements")

    def _count(self, result: Any) -> None:
        for value in _flat((result,)):
            if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor):
                self._elements += value.numel()
        if self._elements > MAX_ELEMENTS:
            raise CannotFollow(f"tensors of more than {MAX_ELEMENTS} elements in all")


def _sizes_by_value(func: Any, args: Any) -> bool:
    """Whether the shape of the result depends on values: of `nonzero`, or of an index by a mask."""
    if func._schema.name == "aten::index":
        return any(isinstance(one, torch.Tensor) and one.dtype in (torch.bool, torch.uint8) for one in _flat(args[1]))
    return torch.Tag.dynamic_output_shape in func.tags


@contextmanager
def _backward_phase() -> Iterator[None]:
    """A golden that runs autograd itself: what happens in it is backward for the tracer too."""
    tracer = current_tracer()
    before = tracer.phase if tracer else ""
    if tracer:
        tracer.phase = "backward"
    try:
        yield
    finally:
        if tracer:
            tracer.phase = before


def backward(tensor: Any, *args: Any, **named: Any) -> None:
    """`tensor.backward(...)`."""
    with _backward_phase():
        tensor.backward(*args, **named)


def gradients(*args: Any, **named: Any) -> Any:
    """`torch.autograd.grad(...)`."""
    with _backward_phase():
        return torch.autograd.grad(*args, **named)


def _bound(value: Any) -> int:
    """The elements that sizes or repeats among the arguments can ask for."""
    if isinstance(value, (list, tuple)) and all(type(item) is int for item in value):
        return math.prod(max(abs(item), 1) for item in value)
    return 0


def _flat(values: Any) -> Any:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value
