"""Calls that nothing was tuned on: operators, shapes, ranges, dtypes and tolerances drawn from PyTorch's operator
database by a seed.

An operator comes from the database with one of its samples. Its axes are stretched, equal ones alike, its floating
inputs get a range of their own as far as the sample's values show that the operator takes it, and the attributes stay.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import torch

from opscan.model import CaseInput

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
_ELEMENTS = 8192
_STRETCHED = (1, 1, 2, 4, 8, 16, 32, 64, 100)
_SAMPLES = 60
_KINDS = {bool: "bool", int: "int", float: "float", str: "string"}
_WHOLE = {torch.int64: "int64", torch.int32: "int32", torch.int16: "int16", torch.uint8: "uint8", torch.bool: "bool"}
_LEFT_OUT = ("linalg.", "svd", "pca", "fft", "stft", "lobpcg", "geqrf", "ormqr", "lu", "qr", "cholesky", "pinverse")
"""Decompositions of matrices: no formula says how their values come about, nor does an emulator take them apart."""


@dataclass(frozen=True)
class Row:
    """A call, and the tolerances under which it is held against emulation: (rtol, atol, share that may fail)."""

    name: str
    dtype: str
    ways: tuple[tuple[CaseInput, ...], ...]
    """The inputs, stretched, and as in the database for an operator that does not take the former."""
    tolerances: tuple[tuple[float, float, float], ...]


def rows(seed: int) -> Iterator[Row]:
    """Without end; every operator of the database once before one comes again."""
    from torch.testing._internal.common_methods_invocations import op_db

    known: dict[str, list[Any]] = {}
    for entry in op_db:
        if torch.float32 in entry.dtypes and not entry.name.startswith(_LEFT_OUT):
            known.setdefault(entry.name, []).append(entry)
    for turn in itertools.count():
        names = sorted(known)
        Random(f"{seed} {turn}").shuffle(names)
        for name in names:
            found = _row(known[name], Random(f"{seed} {turn} {name}"))
            if found is not None:
                yield found


def _row(entries: Sequence[Any], random: Random) -> Row | None:
    entry = random.choice(entries)
    dtype = random.choice([dtype for dtype, torchs in DTYPES.items() if torchs in entry.dtypes])
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            samples = list(itertools.islice(entry.sample_inputs("cpu", torch.float32), _SAMPLES))
        except Exception:  # the database holds code of many authors
            return None
    if not samples:
        return None
    sample = random.choice(samples)
    domain, state = getattr(entry, "domain", (None, None)), random.random()
    ways = [
        way
        for stretched in (_stretch(sample, random), {})
        if (way := _inputs(sample, stretched, _Ranges(state, domain, dtype))) is not None
    ]
    return Row(f"torch.{entry.name}", dtype, tuple(ways), tuple(_tolerances(dtype, random))) if ways else None


def _inputs(sample: Any, stretched: dict[int, int], ranges: _Ranges) -> tuple[CaseInput, ...] | None:
    found = [_input(None, value, stretched, ranges) for value in (sample.input, *sample.args)]
    found += [_input(name, value, stretched, ranges) for name, value in sample.kwargs.items() if value is not None]
    known = tuple(one for one in found if one is not None)
    return known if len(known) == len(found) else None


def _stretch(sample: Any, random: Random) -> dict[int, int]:
    """A new size for each size of an axis, so that all tensors stay small enough."""
    shapes = [tuple(one.shape) for one in _tensors((sample.input, sample.args, sample.kwargs))]
    sizes = sorted({size for shape in shapes for size in shape if size > 1})
    for _ in range(20):
        found = {size: size * random.choice(_STRETCHED) for size in sizes}
        if all(math.prod(found.get(size, size) for size in shape) <= _ELEMENTS for shape in shapes):
            return found
    return {}


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _input(name: str | None, value: Any, stretched: dict[int, int], ranges: _Ranges) -> CaseInput | None:
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            return None
        shape = tuple(stretched.get(size, size) for size in value.shape)
        if value.dtype.is_floating_point:
            return CaseInput(name, "tensor", ranges.dtype, shape, ranges.of(value))
        if value.dtype not in _WHOLE:
            return None
        ends = (int(value.min()), int(value.max())) if value.numel() and value.dtype != torch.bool else (0, 1)
        return CaseInput(name, "tensor", _WHOLE[value.dtype], shape, ends)
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, torch.Tensor) for item in value):
        members = [_input(None, item, stretched, ranges) for item in value]
        if any(one is None for one in members):
            return None
        return CaseInput(name, "tensors", ranges.dtype, members=tuple(one for one in members if one is not None))
    if isinstance(value, (list, tuple)) and value and all(type(item) in (int, bool, float) for item in value):
        # sizes of axes go with them, and no axis has so large a number
        long = tuple([stretched.get(item, item) if type(item) is int and item > 4 else item for item in value])
        return CaseInput(name, "attr", _KINDS[type(value[0])], values=long)
    if type(value) in _KINDS:
        return CaseInput(name, "attr", _KINDS[type(value)], values=value)
    return None


class _Ranges:
    """The ranges of the inputs of a call: mostly one, now and then one for each."""

    def __init__(self, seed: float, domain: tuple[Any, Any], dtype: str) -> None:
        self.dtype = dtype
        self._random = random = Random(seed)
        self._domain = domain
        self._one = self._drawn() if random.random() < 0.6 else None

    def _drawn(self) -> Any:
        random = self._random
        kind = random.choice(("usual", "small", "far", "one-sided", "wide", "normal", "drawn normal"))
        if kind == "usual":
            return (-5.0, 5.0)
        if kind == "small":
            size = 10.0 ** -random.randint(1, 5)
            return (-size, size)
        if kind == "far":
            low, wide = random.choice((2.0, 10.0, 100.0)), random.choice((0.5, 1.0, 10.0))
            return (low, low + wide) if random.random() < 0.7 else (-low - wide, -low)
        if kind == "one-sided":
            size = random.choice((1.0, 5.0, 50.0))
            return (0.0, size) if random.random() < 0.7 else (-size, 0.0)
        if kind == "wide":
            size = random.choice((20.0, 100.0, 1000.0))
            return (-size, size)
        mean, std = random.choice(((0.0, 1.0), (random.uniform(-5, 5), random.uniform(0.1, 2.0))))
        if kind == "drawn normal":
            return {"name": "nd", "mean": [-5, 5], "std": [0.1, 2]}
        return {"name": "nd", "mean": [mean, mean], "std": [std, std]}

    def of(self, sample: Any) -> Any:
        """A range within what the operator was seen to take."""
        found = self._one if self._one is not None else self._drawn()
        low, high = (_or_none(end) for end in self._domain)
        values = sample.detach().float()
        if values.numel() > 4 and low is None and high is None:
            least, most = float(values.min()), float(values.max())
            if least >= 0:
                low, high = 0.0, 1.0 if most <= 1 else None
        if low is None and high is None:
            return found
        least, most = found if isinstance(found, tuple) else (-5.0, 5.0)
        if low is None or high is None:
            ends = sorted((abs(least) if least * most > 0 else 0.0, max(abs(least), abs(most))))
            near = ends[0] or ends[1] / 1000
            return (low or 0.0) + near, (low or 0.0) + ends[1]
        inner = min(1.0, max(abs(least), abs(most)))
        middle, reach = (low + high) / 2, (high - low) / 2 * inner * 0.98
        return (middle - reach, middle + reach)


def _or_none(end: Any) -> float | None:
    return None if end is None or math.isinf(float(end)) else float(end)


def _tolerances(dtype: str, random: Random) -> Iterator[tuple[float, float, float]]:
    """Around those that people write: from half a unit of the format to a thousand."""
    epsilon = torch.finfo(DTYPES[dtype]).eps
    for _ in range(6):
        rtol = epsilon * 2 ** random.uniform(*((2, 13) if dtype == "fp32" else (-1, 4)))
        rtol = float(f"{rtol:.1g}")
        atol = float(f"{rtol * random.choice((1, 0.1, 0.01, 0.001)):.1g}")
        yield rtol, atol, random.choice((1e-4, 1e-3, 0.01))
