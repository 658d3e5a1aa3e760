"""Calls to start from: the samples of PyTorch's own operator database, as bindings of the names that specs use."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import itertools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from opscan.numerics.binding import Binding, Dtype, TensorArgument
from opscan.numerics.operators import Operator, resolve
from opscan.numerics.paths.signature import named
from opscan.numerics.signatures import Parameter

_MOST_SAMPLES = 60
_DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)


class NotPlain(Exception):
    """The sample has an argument that no spec can give."""


@lru_cache(maxsize=1)
def database() -> dict[str, list[Any]]:
    """The entries of the operator database by name and by each of their aliases."""
    from torch.testing._internal.common_methods_invocations import op_db

    known: dict[str, list[Any]] = {}
    for entry in op_db:
        names = {entry.name, *(alias.name for alias in entry.aliases)}
        for name in names:
            known.setdefault(name, []).append(entry)
    return known


def spellings(base: str) -> list[str]:
    """The names that a spec can use for an entry of the database, functions before methods."""
    stem = base.rpartition(".")[2]
    flat = base.replace(".", "_")
    aliases = [alias.name for entry in database()[base] for alias in entry.aliases]
    functional = base.startswith("nn.functional.")
    candidates = [
        *(f"torch.{name}" for name in (base, *aliases)),
        *([f"torch.{stem}"] if functional else []),
        *(f"torch.Tensor.{name}" for name in (stem, *aliases)),
        *(f"torch.ops.aten.{name}" for name in (flat, stem)),
    ]
    return [name for name in dict.fromkeys(candidates) if isinstance(resolve(name), Operator)]


def in_place(base: str) -> list[str]:
    """The forms that write their first argument."""
    stem = base.rpartition(".")[2]
    candidates = (f"torch.Tensor.{stem}_", f"torch.{stem}_", f"torch.nn.functional.{stem}_")
    return [name for name in candidates if isinstance(resolve(name), Operator)]


def seeds(name: str, parameters: Sequence[str]) -> Iterator[Binding]:
    """Bindings for the operator `name`, gradients wanted of every tensor that can have one."""
    base = name.removeprefix("torch.Tensor.").removeprefix("torch.ops.aten.").removeprefix("torch.")
    entries = database().get(base) or database().get(base.rstrip("_")) or _by_stem(base.rstrip("_"))
    for entry in entries:
        dtype = next((dtype for dtype in _DTYPES if dtype in entry.dtypes), None)
        if dtype is None:
            continue
        for sample in _samples(entry, dtype):
            try:
                yield described_call((sample.input, *sample.args), sample.kwargs, parameters)
            except NotPlain:
                continue


def swapped(binding: Binding, parameters: Sequence[str]) -> Binding:
    """The first two arguments the other way round: the database passes some receivers first that specs pass second."""
    turned = (*binding.args[1::-1], *binding.args[2:])
    labelled = [
        replace(value, label=name) if isinstance(value, TensorArgument) else value
        for value, name in zip(turned, parameters, strict=False)
    ]
    return Binding((*labelled, *turned[len(labelled) :]), binding.kwargs)


def filled(binding: Binding, parameters: Sequence[Parameter]) -> Binding:
    """The same call with every parameter given, as the case of a described operator gives them."""
    given = dict(named(binding, [parameter.name for parameter in parameters], {}))
    values = {parameter.name: given.get(parameter.name, parameter.absent) for parameter in parameters}
    return Binding(
        tuple(values[parameter.name] for parameter in parameters if not parameter.by_name),
        {parameter.name: values[parameter.name] for parameter in parameters if parameter.by_name},
    )


def of_other_kinds(binding: Binding) -> Iterator[Binding]:
    """The call with a number for one of two tensors, and whole numbers for others and the other way round."""
    tensors = [place for place, value in enumerate(binding.args) if isinstance(value, TensorArgument)]
    if len(tensors) == 2 == len(list(binding.tensors())):
        for place, number in itertools.product(tensors, (2, 0.75)):
            yield _with_argument(binding, place, number)
    for place, value in enumerate(binding.args):
        if (other := _of_other_kind(value)) is not None:
            yield _with_argument(binding, place, other)
    for name, value in binding.kwargs.items():
        if (other := _of_other_kind(value)) is not None:
            yield Binding(binding.args, {**binding.kwargs, name: other})


def _of_other_kind(value: Any) -> int | float | None:
    if type(value) is int:
        return value + 0.75
    return round(value) if type(value) is float and math.isfinite(value) else None


def _with_argument(binding: Binding, place: int, value: Any) -> Binding:
    return Binding((*binding.args[:place], value, *binding.args[place + 1 :]), binding.kwargs)


def _by_stem(stem: str) -> list[Any]:
    return [
        entry
        for base, entries in database().items()
        if base.rpartition(".")[2] == stem or base.replace(".", "_") == stem
        for entry in entries
    ]


def _samples(entry: Any, dtype: torch.dtype) -> list[Any]:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = list(itertools.islice(entry.sample_inputs("cpu", dtype, requires_grad=False), 400))
        except (RuntimeError, TypeError, NotImplementedError, ImportError):
            return []
    step = max(len(found) // _MOST_SAMPLES, 1)
    return found[::step]


def described_call(args: Sequence[Any], kwargs: Mapping[str, Any], parameters: Sequence[str]) -> Binding:
    """A call on real tensors as one on described ones. Raises NotPlain for arguments that no spec can give."""
    places = itertools.count()

    def described(value: Any, label: str) -> Any:
        if isinstance(value, torch.Tensor):
            if value.layout != torch.strided or value.is_quantized or value.is_nested:
                raise NotPlain
            differentiable = value.dtype.is_floating_point or value.dtype.is_complex
            dtype = str(value.dtype).removeprefix("torch.")
            return TensorArgument(dtype, tuple(value.shape), differentiable, label, next(places))
        if isinstance(value, torch.dtype):
            return Dtype(str(value).removeprefix("torch."))
        if isinstance(value, (list, tuple)):
            return [described(item, f"{label}[{place}]") for place, item in enumerate(value)]
        if value is None or type(value) in (bool, int, float, str):
            return value
        raise NotPlain

    given = [
        described(value, parameters[place] if place < len(parameters) else f"#{place}")
        for place, value in enumerate(args)
    ]
    return Binding(tuple(given), {name: described(value, name) for name, value in kwargs.items()})
