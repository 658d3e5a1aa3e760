"""The second device: one that only reorders sums on the CPU, or a real accelerator.

torch_npu is imported here and nowhere else, explicitly: with the autoload of torch a machine without CANN could not
even import torch.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from opscan.judging.devices import Device as Documented
from opscan.judging.devices import find_device
from opscan.validating.missing import DeviceMissing

_NAME = re.compile(r"(npu|cuda)(?::(\d+))?")
_SIMULATED = "simulated:"
_FORMS = "write npu:N, cuda:N or simulated, or simulated:NAME for a documented device"
_INSTEAD = "or use --device simulated, which shows order dependence but not the accuracy of a device"


@dataclass(frozen=True, slots=True)
class Device:
    """`place` copies a CPU tensor onto the device; operators run inside `active(way)`.

    `way`: a simulated device that may add in several ways takes the next for the next number, and the same for the
    same. `peak`: the most bytes that were allocated since it was last asked, None where nobody counts.
    """

    name: str
    place: Callable[[Any], Any]
    active: Callable[[int], AbstractContextManager[Any]]
    peak: Callable[[], int | None] = lambda: None


CPU = Device("cpu", torch.clone, lambda _: contextlib.nullcontext())


def open_device(name: str, hf32: Sequence[str] = (), own: tuple[Path, ...] = ()) -> Device:
    """The device called `name`; `hf32`: what a simulated one runs as HF32; `own`: folders of the
    user's rules. Raises DeviceMissing with what is missing
    and how to use `simulated`."""
    if name == "simulated":
        from opscan.validating.simulated import Simulated

        return Device(name, torch.clone, lambda _: Simulated())
    if name.startswith(_SIMULATED):
        try:
            documented = find_device(name.removeprefix(_SIMULATED), own)
        except ValueError as problem:
            raise DeviceMissing(f"{_FORMS}: {problem}") from None
        return _simulated(documented, hf32)
    match = _NAME.fullmatch(name)
    if match is None:
        raise DeviceMissing(f"there is no device {name!r}: {_FORMS}")
    kind, index = match[1], int(match[2] or 0)
    (_need_npu if kind == "npu" else _need_cuda)(name, index)
    target = torch.device(kind, index)
    memory = getattr(torch, kind)

    def peak() -> int:
        most = int(memory.max_memory_allocated(target))
        memory.reset_peak_memory_stats(target)
        return most

    return Device(name, lambda tensor: tensor.to(target, copy=True), lambda _: target, peak)


def _simulated(documented: Documented, hf32: Sequence[str]) -> Device:
    """A device that does what is documented of another: each way one in which it may add."""
    from opscan.validating.simulated.emulated import ORDERS, Emulated
    from opscan.validating.simulated.profiles import profiles_of

    ways = profiles_of(documented, hf32)

    @contextlib.contextmanager
    def active(way: int) -> Iterator[None]:
        with sdpa_kernel(SDPBackend.MATH), Emulated(way, ORDERS[way % 3], ways[way % len(ways)], fuses=False):
            yield

    return Device(f"{_SIMULATED}{documented.name}", torch.clone, active)


def _need_npu(name: str, index: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import torch_npu  # noqa: F401
        except (ImportError, OSError, RuntimeError) as problem:
            raise DeviceMissing(f"{name} is not there: {_why_not(problem)}, {_INSTEAD}") from None
        npu = getattr(torch, "npu", None)
        try:
            count = npu.device_count() if npu is not None and npu.is_available() else 0
        except (OSError, RuntimeError) as problem:
            raise DeviceMissing(f"{name} is not there: {_why_not(problem)}, {_INSTEAD}") from None
    _need_index(name, index, count, "torch_npu")


def _why_not(problem: Exception) -> str:
    said = (str(problem).strip() or type(problem).__name__).splitlines()[0][:200]
    if isinstance(problem, ModuleNotFoundError) and problem.name == "torch_npu":
        return "torch_npu is not installed; install opscan-ascend[npu] and source CANN's set_env.sh"
    if ".so" in said:
        return f"torch_npu does not load ({said}); install CANN and source its set_env.sh"
    return f"torch_npu does not load ({said}); see that it fits torch {torch.__version__} and that CANN is sourced"


def _need_cuda(name: str, index: int) -> None:
    if not torch.backends.cuda.is_built():
        raise DeviceMissing(
            f"{name} is not there: torch {torch.__version__} is built without CUDA; install one with it, {_INSTEAD}"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    _need_index(name, index, count, "torch")


def _need_index(name: str, index: int, count: int, library: str) -> None:
    if index >= count:
        seen = "no device" if not count else f"{count} device{'s' if count > 1 else ''}"
        raise DeviceMissing(f"{name} is not there: {library} loads but sees {seen}; check the driver and N, {_INSTEAD}")
