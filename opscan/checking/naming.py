"""The operators that are checked, and under which names a spec can have them."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import contextlib
import itertools
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from opscan.checking.calls import FreshCall, Inexpressible, call_of
from opscan.numerics.operators import Operator, resolve

_SAMPLES = 48
_PER_OVERLOAD = 6
_DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)


@lru_cache(maxsize=1)
def database() -> dict[str, list[Any]]:
    """The entries of PyTorch's operator database by name."""
    from torch.testing._internal.common_methods_invocations import op_db

    known: dict[str, list[Any]] = {}
    for entry in op_db:
        known.setdefault(entry.name, []).append(entry)
    return known


@lru_cache(maxsize=1024)
def spellings(base: str) -> tuple[str, ...]:
    """The names that a spec can use for an entry of the database: functions, methods, ATen, in place."""
    stem = base.rpartition(".")[2]
    aliases = [alias.name for entry in database()[base] for alias in entry.aliases]
    candidates = [
        *(f"torch.{name}" for name in (base, *aliases)),
        *([f"torch.{stem}"] if base.startswith("nn.functional.") else []),
        *(f"torch.Tensor.{name}" for name in (stem, *aliases)),
        *(f"torch.ops.aten.{name}" for name in (base.replace(".", "_"), stem)),
        *(f"{owner}.{stem}_" for owner in ("torch.Tensor", "torch", "torch.nn.functional")),
    ]
    return tuple(name for name in dict.fromkeys(candidates) if isinstance(resolve(name), Operator))


def parameters_of(name: str) -> tuple[str, ...]:
    """What reports call the parameters of an operator, the receiver of a method first."""
    operator = resolve(name)
    return () if isinstance(operator, str) else operator.parameters


@lru_cache(maxsize=64)
def seeds(base: str) -> tuple[FreshCall, ...]:
    """The samples of an entry, each with all the gradients that there can be; the database's own name is kept."""
    found = []
    for entry in database()[base]:
        dtype = next((dtype for dtype in _DTYPES if dtype in entry.dtypes), None)
        if dtype is None:
            continue
        for sample in _samples(entry, dtype):
            with contextlib.suppress(Inexpressible):
                found.append(call_of(base, (sample.input, *sample.args), sample.kwargs))
    return tuple(found)


def _samples(entry: Any, dtype: torch.dtype) -> list[Any]:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = list(itertools.islice(entry.sample_inputs("cpu", dtype, requires_grad=False), 400))
        except (RuntimeError, TypeError, NotImplementedError, ImportError):
            return []
    return found[:: max(len(found) // _SAMPLES, 1)]


@lru_cache(maxsize=64)
def inner_seeds(base: str) -> tuple[FreshCall, ...]:
    """The ATen calls that the samples of an entry make, forward and backward, under the names of their overloads."""
    watch = _Harvest()
    for entry in database()[base]:
        if torch.float32 not in entry.dtypes:
            continue
        torch.manual_seed(0)
        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            samples = entry.sample_inputs("cpu", torch.float32, requires_grad=entry.supports_autograd)
            for sample in itertools.islice(samples, 0, 16, 4):
                with watch, contextlib.suppress(Exception):
                    result = entry.op(sample.input, *sample.args, **sample.kwargs)
                    roots = [t for t in _tensors(result) if t.requires_grad]
                    if roots:
                        torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])
    return tuple(watch.calls)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    yield from (leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor))


class _Harvest(TorchDispatchMode):  # type: ignore[misc]
    """Keeps the first calls of every ATen overload that a spec can name."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[FreshCall] = []
        self._counts: dict[str, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = f"torch.ops.{func}"
        count = self._counts.get(name, 0)
        if func.namespace == "aten" and count < _PER_OVERLOAD and isinstance(resolve(name), Operator):
            self._counts[name] = count + 1
            with contextlib.suppress(Inexpressible):
                self.calls.append(call_of(name, args, kwargs or {}))
        return func(*args, **(kwargs or {}))
