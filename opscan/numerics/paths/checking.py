"""Hold shipped paths against fresh traces, at sizes and numbers that took no part in deriving them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from random import Random
from typing import Any

from opscan.model import TensorClass
from opscan.numerics.binding import Binding
from opscan.numerics.paths import sampling
from opscan.numerics.paths.evaluating import evaluate
from opscan.numerics.paths.learning import NotGeneral
from opscan.numerics.paths.shipping import Known
from opscan.numerics.paths.signature import read_call
from opscan.numerics.paths.tracing import Traces, same_classes

_TRIES = 8
"""Draws per call that is wanted; many draws are refused or in a form without a path."""


@dataclass(frozen=True)
class Checked:
    """Calls on which the paths said what the trace said (`told`), nothing (`silent`), or something else (`wrong`).

    `leaks`: answers to calls that the operator refuses, of `refused` in all.
    """

    told: int
    silent: int
    wrong: tuple[tuple[str, str], ...]
    """The form of the call, and what was said of it."""
    leaks: int
    refused: int


def check(known: Known, traces: Traces, calls: Sequence[Binding], count: int, seed: int) -> Checked:
    """Draw up to `count` calls that the operator takes and compare."""
    random = Random(f"{known.name} {seed}")
    told = silent = leaks = refused = 0
    wrong: list[tuple[str, str]] = []
    for _ in range(count * _TRIES if calls else 0):
        if told + silent + len(wrong) >= count:
            break
        binding = _drawn(random.choice(calls), random)
        said = evaluate(known, binding)
        try:
            row = traces.row(binding)
        except NotGeneral as problem:
            wrong += [(_form(known, binding), f"{_text(binding)}: {problem}")] if said is not None else []
            continue
        if row is None:
            refused, leaks = refused + 1, leaks + (said is not None)
        elif said is None:
            silent += 1
        elif same_classes(said, tuple(row.tensors.values())):
            told += 1
        else:
            text = f"{_text(binding)}: {_difference(said, tuple(row.tensors.values()))}"
            wrong.append((_form(known, binding), text))
    return Checked(told, silent, tuple(wrong), leaks, refused)


def _form(known: Known, binding: Binding) -> str:
    return read_call(binding, known.paths_as, known.renamed)[0].form


def _drawn(binding: Binding, random: Random) -> Binding:
    varied = sampling.vary(binding, random)
    if random.random() < 0.3:
        dtype = random.choice(("float16", "bfloat16", "float64", "int32"))
        varied = sampling.in_dtypes(varied, {"float32": dtype})
    if random.random() < 0.2:
        varied = sampling.with_some_gradients(varied, random)
    return varied


def _text(binding: Binding) -> str:
    tensors = ", ".join(f"{t.label}={t.dtype}{list(t.shape)}" for t in binding.tensors())
    plain: list[Any] = [value for value in binding.args if isinstance(value, (int, float))]
    return f"{tensors} {plain or ''} {({k: v for k, v in binding.kwargs.items() if isinstance(v, (int, float))}) or ''}"


def _difference(said: Sequence[TensorClass], traced: Sequence[TensorClass]) -> str:
    for one, other in zip(said, traced, strict=False):
        if not same_classes((one,), (other,)):
            parts = [
                f"{field.name} {getattr(one, field.name)} here, {getattr(other, field.name)} traced"
                for field in fields(one)
                if field.name != "path" and getattr(one, field.name) != getattr(other, field.name)
            ]
            return f"{one.name}: {'; '.join(parts)}"
    return f"{len(said)} tensors here, {len(traced)} traced"
