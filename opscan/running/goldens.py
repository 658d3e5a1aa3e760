"""Inside the sandbox: call the CPU golden of an executor on fake tensors, under the tracer.

Fake tensors hold no values: a golden that reads one (`.item()`, NumPy, a condition) cannot be told here, and says so,
and nothing gets past the tracer by way of values. What a golden computes from tensors that no traced call has made is
refused too, and so are random numbers that Python or NumPy draw.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from opscan.model import Case
from opscan.numerics.bits import Bits, Level
from opscan.numerics.classify import classify_golden
from opscan.numerics.goldens.golden import Golden, Look
from opscan.numerics.goldens.limits import current_tracer
from opscan.numerics.operators import NotFollowed
from opscan.numerics.running import needs_data
from opscan.numerics.store import dump
from opscan.running.guards import Dice, Guard, note_backward
from opscan.running.isolation import Watch
from opscan.running.loading import Failed, failure, load
from opscan.running.messages import Tracing, Trouble


def run(job: Tracing, watch: Watch, part: Callable[..., None]) -> dict[str, Any]:
    """One `part` for each case, its classification or why there is none; the answer is what went wrong with it all."""
    trouble = None
    try:
        executor = _find(job, watch)
        note_backward()
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
        guard = Guard(current_tracer())
        dice = Dice()
        try:
            with dice.watched(), guard, guard.refusing_ways_around():
                result = _compared(_execute(executor, case, args, kwargs, look), guard)
        except BaseException as problem:
            guard.raise_escape(name)
            failing = failure(problem, watch, job.bounds)
            place = f"{name}:{failing.trouble.line}:" if failing.trouble.line else f"{name}:"
            if isinstance(problem, Exception) and needs_data(problem):
                raise NotFollowed(f"{place} a value that is read cannot be traced in a run") from None
            raised.append(f"{place} {failing.trouble.message}")
            if not isinstance(problem, Exception) or failing.trouble.rule != "plugin-run-failed":
                ends.append(failing)
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
                if bits.level == Level.RANDOM and not bits.stages:
                    tracer.seed(tensor, Bits())


def _compared(value: Any, guard: Guard) -> Any:
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
