"""Draw the attributes of a call afresh, from their names, their types and the shapes beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

_AXIS_WORDS = ("dim", "axis", "axes")
_WINDOW = {
    "kernel_size": (1, 2, 2, 3, 3, 4), "stride": (1, 1, 2, 3, 4, 5), "padding": (0, 0, 1, 1, 2),
    "dilation": (1, 1, 2, 3), "output_size": (1, 2, 3, 4, 5, 6, 7), "size": (1, 2, 3, 4, 5, 6, 9),
    "output_padding": (0, 0, 1), "pad": (0, 1, 2, 3, -1), "groups": (1, 1, 2, 3), "num_groups": (1, 2, 3, 4),
    "scale_factor": (0.5, 1.5, 2.0, 1.0, 2.7), "upscale_factor": (1, 2, 3), "downscale_factor": (1, 2, 3),
}  # fmt: skip
_NAMED = {
    "p": (0, 0.5, 1, 1.5, 2, 2.5, 3, math.inf, -math.inf, -1), "ord": (0, 0.5, 1, 2, 3, math.inf, -math.inf, -1, 2.5),
    "alpha": (0, 1, 2, 0.5, 0.3, -1, -0.7), "beta": (0, 1, 2, 0.5, 0.3, -1, 1.7), "value": (0, 1, 2, 0.5, 0.1, -0.3),
    "decimals": (0, 1, 2, 3, -1, -2), "correction": (0, 1, 2, 3), "q": (0.0, 0.25, 0.5, 0.9, 1.0),
    "label_smoothing": (0.0, 0.1, 0.5, 1.0), "ignore_index": (-100, 0, 1, 2), "momentum": (0.0, 0.1, 0.5, 1.0),
    "eps": (0.0, 1e-5, 1e-3, 0.1), "k": (0, 1, 2, 3, -1), "n": (0, 1, 2, 3, 4), "diagonal": (0, 1, -1, 2, -2),
    "offset": (0, 1, -1, 2, -2), "shifts": (0, 1, -1, 2, 7), "max_norm": (0.5, 1.0, 2.0, 0.01),
    "delta": (0.3, 1.0, 2.0), "step": (1, 2, 3, 4, 5),
}  # fmt: skip
_FLOATS = (0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 0.1, 0.25, 1.5, 3.0, -3.7, 0.9, 1e-5, 10.0)
_WHOLES = (0, 1, 2, 3, 4, 5, -1, -2, -3, 7)
_DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "complex64", "bool")


@dataclass(frozen=True)
class Surroundings:
    """What an attribute is drawn beside: the rank and sizes of the tensors, and the words that the operator knows."""

    rank: int
    sizes: Sequence[int]
    words: Sequence[str]


def is_axis(name: str) -> bool:
    return any(word in name for word in _AXIS_WORDS) and "keepdim" not in name


def draw(name: str, kind: str, current: Any, around: Surroundings, random: Random, *, many: bool = False) -> Any:
    """A value for the attribute `name`. `current`: what it was, None where only its `kind` is known."""
    if kind == "bool" or isinstance(current, bool):
        return random.random() < 0.5
    if kind == "dtype":
        import torch

        return getattr(torch, random.choice(_DTYPES))
    if kind == "str" or isinstance(current, str):
        return random.choice(around.words) if around.words else current
    if isinstance(current, (list, tuple)):
        return _list(name, current, around, random)
    if is_axis(name) and kind != "float":
        if many and random.random() < 0.6:
            return _axes(around.rank, random)
        return random.randint(-around.rank - (random.random() < 0.05), max(around.rank - 1, 0))
    if many and current is None:
        length = max(around.rank - 2, 1)
        return [_number(name, kind, None, around, random) for _ in range(length)]
    return _number(name, kind, current, around, random)


def _number(name: str, kind: str, current: Any, around: Surroundings, random: Random) -> Any:
    if name in _WINDOW:
        value = random.choice(_WINDOW[name])
    elif name in _NAMED and random.random() < 0.85:
        value = random.choice(_NAMED[name])
    elif kind == "float" or isinstance(current, float):
        value = random.choice(_FLOATS) if random.random() < 0.7 else round(random.uniform(-2, 2), 3)
    elif kind == "number" and random.random() < 0.5:
        value = random.choice(_FLOATS)
    else:
        value = random.choice(around.sizes) if around.sizes and random.random() < 0.25 else random.choice(_WHOLES)
    if kind == "int" or (type(current) is int and random.random() < 0.9):
        return int(value) if math.isfinite(value) else 1
    return float(value) if kind == "float" or isinstance(current, float) else value


def _axes(rank: int, random: Random) -> list[int]:
    axes = random.sample(range(max(rank, 1)), random.randint(1, max(rank, 1)))
    return [axis - rank if random.random() < 0.4 else axis for axis in axes]


def _list(name: str, current: Any, around: Surroundings, random: Random) -> Any:
    if not all(type(item) in (int, float) for item in current):
        return current
    if is_axis(name):
        return type(current)(_axes(around.rank, random))
    if name in _WINDOW:
        if random.random() < 0.15 and name not in ("pad", "padding"):
            return _number(name, "int", 1, around, random)
        return type(current)(_number(name, "", item, around, random) for item in current)
    # sizes and permutations: change one place, or turn them round
    changed = list(current)
    if changed and random.random() < 0.6:
        changed[random.randrange(len(changed))] = _number(name, "", changed[0], around, random)
    else:
        random.shuffle(changed)
    return type(current)(changed)
