"""Inside the sandbox: what keeps a golden that is run from getting past the tracer.

`Guard` sees every call and every way around the calls, `Dice` the random numbers that are not torch's, and
`note_backward` has what autograd does within a golden told as backward.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

from opscan.numerics.bits import Level
from opscan.numerics.goldens.limits import MAX_CALLS, current_tracer
from opscan.numerics.operators import NotFollowed
from opscan.numerics.tracer import Tracer

_READERS = ("numpy", "__array__", "tolist", "__dlpack__")
"""Ways from a tensor to its values that are no call of the dispatcher."""
_CONSTANTS = frozenset({"aten::lift_fresh", "aten::lift_fresh_copy", "aten::lift"})
"""Calls by which a tensor that was written as numbers enters a trace."""


class Guard(TorchDispatchMode):  # type: ignore[misc]  # torch is optional, so mypy sees Any
    """Sees every call before the tracer does, and every way around it. An escape counts though the golden goes on."""

    def __init__(self, tracer: Tracer | None) -> None:
        super().__init__()
        self._tracer = tracer
        self._escape = "" if tracer is not None else "no tracer watches"
        self._calls = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._calls += 1
        if self._calls > MAX_CALLS:
            self._stop(f"more than {MAX_CALLS} calls of torch")
        name = func._schema.name
        if name == "aten::_local_scalar_dense" and self._level(args[0]) > Level.CONST:
            self._stop("a value that is read")
        if name not in _CONSTANTS:
            for tensor in _tensors((args, tuple((kwargs or {}).values()))):
                self.expect(tensor)
        return func(*args, **(kwargs or {}))

    def expect(self, tensor: Any) -> None:
        """Refuse a tensor that no traced call has made."""
        if self._tracer is not None and not (isinstance(tensor, FakeTensor) and self._tracer.knows(tensor)):
            self._stop("a tensor that comes from no call of torch")

    @contextmanager
    def refusing_ways_around(self) -> Iterator[None]:
        """Tensors have no values here; code that asks for them must not take a default for an answer. What another
        thread computes no tracer sees."""
        own = [(torch.Tensor, name, self._refusing("a value that is read")) for name in _READERS]
        own += [(threading.Thread, "start", self._refusing("a thread"))]
        own += [(torch.Tensor, "__deepcopy__", _copied)]  # its own would copy what makes the tensor fake
        kept = [(owner, name, getattr(owner, name)) for owner, name, _ in own]
        for owner, name, function in own:
            setattr(owner, name, function)
        try:
            yield
        finally:
            for owner, name, function in kept:
                setattr(owner, name, function)

    def _refusing(self, what: str) -> Callable[..., None]:
        return lambda *_, **__: self._stop(what)

    def raise_escape(self, name: str) -> None:
        if self._escape:
            raise NotFollowed(f"{name}: {self._escape} cannot be traced in a run")

    def _level(self, tensor: Any) -> Level:
        return self._tracer.bits_of(tensor).level if self._tracer is not None else Level.UNKNOWN

    def _stop(self, what: str) -> None:
        self._escape = self._escape or what
        raise NotFollowed(f"{what} cannot be traced in a run")


def _copied(tensor: Any, memo: dict[int, Any]) -> Any:
    if not tensor.is_leaf:
        raise RuntimeError("only tensors that are leaves of the graph can be deep-copied")
    return memo.setdefault(id(tensor), tensor.detach().clone().requires_grad_(tensor.requires_grad))


def _tensors(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


class Dice:
    """Whether Python's or NumPy's random numbers are drawn; to seed them draws none."""

    def __init__(self) -> None:
        self.drew = False
        self._before: Any = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        numpy = sys.modules.get("numpy")
        sources = [random, *([numpy.random] if numpy else [])]
        seeders = [(source, source.seed) for source in sources]
        self._before = self._state()
        for source, seed in seeders:
            vars(source)["seed"] = self._seeding(seed)
        try:
            yield
        finally:
            self._look()
            for source, seed in seeders:
                vars(source)["seed"] = seed

    def _seeding(self, seed: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> None:
            self._look()
            seed(*args, **kwargs)
            self._before = self._state()

        return call

    def _look(self) -> None:
        self.drew = self.drew or self._state() != self._before

    @staticmethod
    def _state() -> Any:
        numpy = sys.modules.get("numpy")
        return random.getstate(), str(numpy.random.get_state(legacy=True)) if numpy else ""


def note_backward() -> None:
    """A golden that runs autograd itself: what happens in it is backward for the tracer too."""
    for owner, name in ((torch.autograd, "grad"), (torch.autograd, "backward"), (torch.Tensor, "backward")):
        setattr(owner, name, _in_backward(getattr(owner, name)))


def _in_backward(function: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        tracer = current_tracer()
        if tracer is None:
            return function(*args, **kwargs)
        before, tracer.phase = tracer.phase, "backward"
        try:
            return function(*args, **kwargs)
        finally:
            tracer.phase = before

    return call
