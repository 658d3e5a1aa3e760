"""Inside the sandbox: call the CPU golden of an executor on fake tensors, under the tracer.

Fake tensors hold no values: a golden that reads one (`.item()`, NumPy, a condition) cannot be told here, and says so,
and nothing gets past the tracer by way of values. What a golden computes from tensors that no traced call has made is
refused too, and so are random numbers that Python or NumPy draw.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from opscan.model import Case
from opscan.numerics.bits import Bits, Level
from opscan.numerics.classify import classify_golden
from opscan.numerics.goldens.golden import Golden, Look
from opscan.numerics.goldens.limits import MAX_CALLS, current_tracer
from opscan.numerics.operators import NotFollowed
from opscan.numerics.running import needs_data
from opscan.numerics.store import dump
from opscan.numerics.tracer import Tracer
from opscan.running.isolation import Watch
from opscan.running.loading import Failed, failure, load
from opscan.running.messages import Tracing, Trouble

_READERS = ("numpy", "__array__", "tolist", "__dlpack__")
"""Ways from a tensor to its values that are no call of the dispatcher."""
_CONSTANTS = frozenset({"aten::lift_fresh", "aten::lift_fresh_copy", "aten::lift"})
"""Calls by which a tensor that was written as numbers enters a trace."""


def run(job: Tracing, watch: Watch, part: Callable[..., None]) -> dict[str, Any]:
    """One `part` for each case, its classification or why there is none; the answer is what went wrong with it all."""
    trouble = None
    try:
        executor = _find(job, watch)
        _patch_backward()
        for case in job.cases:
            ends: list[Failed] = []
            known = classify_golden(_golden(executor, job, case, watch, ends), case)
            if ends:
                raise ends[0]
            part(*dump(known))
    except Failed as failed:
        trouble = failed.trouble
    words = [trouble.rule, trouble.message, trouble.file, trouble.line] if trouble else None
    return {"trouble": words, "denials": [[denial.tried, denial.file, denial.line] for denial in watch.denials]}


def _find(job: Tracing, watch: Watch) -> Any:
    load(job.plugin, watch, job.bounds)
    from atk._registry import EXECUTORS
    from atk.tasks.api_execute.aclnn_base_api import AclnnBaseApi

    executor = EXECUTORS.get(job.executor)
    if not isinstance(executor, type):
        message = f"registers no executor `{job.executor}` when it is run"
        raise Failed(Trouble("plugin-run-failed", message, job.plugin))
    if issubclass(executor, AclnnBaseApi):
        message = f"has an executor `{job.executor}` that runs a kernel of the device"
        raise Failed(Trouble("plugin-run-failed", message, job.plugin))
    return executor


def _golden(executor: Any, job: Tracing, case: Case, watch: Watch, ends: list[Failed]) -> Golden:
    """The operator that the executor is. Its call raises NotFollowed, with the place, where it cannot be told.

    `ends`: what ends the whole run comes here, for what watches the call takes every exception for a refusal.
    """
    look = Look()
    name = os.path.basename(job.plugin)
    raised: list[str] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(mode, FakeTensorMode) for mode in _get_current_dispatch_mode_stack()):
            raise NotFollowed(raised[0] if raised else f"{name}: a value that is read cannot be traced in a run")
        guard = _Guard(current_tracer())
        dice = _Dice()
        try:
            with dice.watched(), guard, guard.refusing_readers():
                result = _compared(_execute(executor, case, args, kwargs, look), guard)
        except BaseException as problem:
            guard.raise_escape(name)
            told = failure(problem, watch, job.bounds)
            place = f"{name}:{told.trouble.line}:" if told.trouble.line else f"{name}:"
            if isinstance(problem, Exception) and needs_data(problem):
                raise NotFollowed(f"{place} a value that is read cannot be traced in a run") from None
            raised.append(f"{place} {told.trouble.message}")
            if not isinstance(problem, Exception) or told.trouble.rule != "plugin-run-failed":
                ends.append(told)
                raise NotFollowed(raised[0]) from None
            raise
        guard.raise_escape(name)
        if dice.drew:
            raise NotFollowed(f"{name}: a random number that Python draws cannot be traced in a run")
        return result

    return Golden(f"the golden in {name}", call, (), counts=True, look=look)


def _execute(executor: Any, case: Case, args: tuple[Any, ...], kwargs: dict[str, Any], look: Look) -> Any:
    from atk.configs.case_config import CaseConfig
    from atk.configs.dataset_config import InputDataset
    from atk.configs.results_config import TaskResult

    class Config(CaseConfig):  # type: ignore[misc]  # the stand-in is not typed for the outside
        """The class of a golden must not go by which case it is."""

        def __getattribute__(self, name: str) -> Any:
            if name in ("id", "default_seed"):
                look.looked = True
            return super().__getattribute__(name)

    config = Config(id=case.id if type(case.id) is int else 0, name=case.name, outputs=case.outputs)
    look.looked = False
    api = executor(TaskResult(config))
    method = case.tensor_input is not None
    data = InputDataset(
        args=args[1:] if method else args,
        kwargs=kwargs,
        method_args=args[1:] if method else (),
        method_kwargs=kwargs if method else None,
        tensor_args=args[:1] if method else (),
        require_grad=case.backward,
    )
    api.init_by_input_data(data)
    _accept_drawn(data)
    return api(data, with_output=True)


def _accept_drawn(data: Any) -> None:
    """Inputs that `init_by_input_data` has drawn are inputs like others: both devices are given the same."""
    tracer = current_tracer()
    for value in (*data.args, *data.kwargs.values()):
        for tensor in value if isinstance(value, (list, tuple)) else (value,):
            if tracer is not None and isinstance(tensor, torch.Tensor):
                bits = tracer.bits_of(tensor)
                if bits.level == Level.RANDOM and not bits.causes:
                    tracer.seed(tensor, Bits())


def _compared(value: Any, guard: _Guard) -> Any:
    """The tensors of a result in ATK's order; a dict gives its values."""
    if isinstance(value, torch.Tensor):
        guard.expect(value)
        return value
    if value is None or type(value) in (bool, int, float):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(_compared(item, guard) for item in value)
    if isinstance(value, dict):
        return tuple(_compared(item, guard) for item in value.values())
    raise NotFollowed(f"the golden returns a {type(value).__name__}")


class _Guard(TorchDispatchMode):  # type: ignore[misc]  # torch is optional, so mypy sees Any
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
    def refusing_readers(self) -> Iterator[None]:
        """Tensors have no values here; code that asks for them must not take a default for an answer."""
        kept = {name: getattr(torch.Tensor, name) for name in (*_READERS, "__deepcopy__")}

        def refuse(*_: Any, **__: Any) -> None:
            self._stop("a value that is read")

        for name in _READERS:
            setattr(torch.Tensor, name, refuse)
        torch.Tensor.__deepcopy__ = _copied  # its own would copy what makes the tensor fake
        try:
            yield
        finally:
            for name, method in kept.items():
                setattr(torch.Tensor, name, method)

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


class _Dice:
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


def _patch_backward() -> None:
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
