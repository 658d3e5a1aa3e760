"""Make a fresh call out of a sample: its structure stays, its shapes, attributes and dtypes do not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from opscan.checking.attributes import Surroundings, draw, is_axis
from opscan.checking.calls import Drawn, FreshCall
from opscan.checking.parameters import UNDRAWN, Parameter

_SIZES = (1, 2, 2, 3, 3, 4, 5, 6, 7)
_SMALL = (1, 2, 2, 3)
_LARGE = (9, 11, 16, 17, 33)
_MOST_ELEMENTS = 1 << 12
_REAL = ("float32", "float16", "bfloat16", "int32", "int64", "bool", "complex64")
_ODDS = (60, 10, 8, 5, 3, 3, 6)


def redraw(
    seed: FreshCall, parameters: Sequence[str], optional: Sequence[Parameter], words: Sequence[str], random: Random
) -> FreshCall:
    """A call like `seed` that nobody has seen. `parameters`: its names by place; `optional`: what may be passed too."""
    call = _resized(seed, random)
    if random.random() < 0.75 and not _is_unchecked(seed.name):
        for change, chance in ((_rank_changed, 0.25), (_broadcast, 0.4), (_emptied, 0.03)):
            if random.random() < chance:
                call = change(call, random)
    if random.random() < 0.8:
        call = _with_attributes(call, parameters, optional, words, random)
    call = _in_another_dtype(call, random)
    small = sum(math.prod(tensor.shape) for tensor in call.tensors()) <= _MOST_ELEMENTS
    return _with_gradients(call if small else seed, random)


def _is_unchecked(name: str) -> bool:
    """Whether an overload relies on its callers for shapes that fit, and reads foreign memory where they do not."""
    packet = name.removeprefix("torch.ops.aten.").partition(".")[0]
    return name.startswith("torch.ops.aten.") and (packet.startswith("_") or "_backward" in packet)


def _resized(call: FreshCall, random: Random) -> FreshCall:
    """Equal sizes stay equal, in lists of whole numbers and in ranges of indices too."""
    sizes = sorted({size for tensor in call.tensors() for size in tensor.shape if size > 1})
    pool = _SMALL if random.random() < 0.5 or len(sizes) > 3 else _SIZES
    new = {size: random.choice(pool) for size in sizes}
    mode = random.random()
    if mode < 0.04:
        new = dict.fromkeys(sizes, 1)
    elif mode < 0.6:
        new = {size: value if value > 1 else random.choice((2, 3, 5)) for size, value in new.items()}
    elif mode < 0.75:
        new = {size: value for size, value in new.items() if random.random() < 0.5}
    elif mode < 0.85:
        new = {}
    elif mode > 0.97 and sizes:
        new[random.choice(sizes)] = random.choice(_LARGE)

    def resize(tensor: Drawn) -> Drawn:
        shape = tuple(new.get(size, size) for size in tensor.shape)
        high = new.get(tensor.high + 1, tensor.high + 1) - 1
        return replace(tensor, shape=shape, high=max(high, min(tensor.low, 0), tensor.low))

    def renumber(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and value and all(type(item) is int for item in value):
            return type(value)(new.get(item, item) for item in value)
        return value

    resized = call.mapped(resize)
    if random.random() < 0.1:
        return resized
    named = {name: value if is_axis(name) else renumber(value) for name, value in resized.kwargs.items()}
    return FreshCall(call.name, tuple(map(renumber, resized.args)), named)


def _broadcast(call: FreshCall, random: Random) -> FreshCall:
    """Axes of one or of several tensors become 1, or are left out in front: broadcasts on one side and on both."""
    tensors = call.tensors()
    chosen = set(random.sample(range(len(tensors)), random.randint(1, min(len(tensors), 3)))) if tensors else set()
    places = iter(range(len(tensors)))

    def narrow(tensor: Drawn) -> Drawn:
        if next(places) not in chosen or not tensor.shape:
            return tensor
        way = random.random()
        if way < 0.2:
            return replace(tensor, shape=tensor.shape[random.randint(1, len(tensor.shape)) :])
        if way < 0.28:
            return replace(tensor, shape=())
        axes = random.sample(range(len(tensor.shape)), random.randint(1, max(len(tensor.shape) // 2, 1)))
        return replace(tensor, shape=tuple(1 if axis in axes else size for axis, size in enumerate(tensor.shape)))

    return call.mapped(narrow)


def _rank_changed(call: FreshCall, random: Random) -> FreshCall:
    """An axis more or less in front of all tensors, or of some."""
    everywhere, more = random.random() < 0.6, random.random() < 0.6
    size = random.choice(_SIZES)

    def change(tensor: Drawn) -> Drawn:
        if not everywhere and random.random() < 0.5:
            return tensor
        return replace(tensor, shape=(size, *tensor.shape) if more else tensor.shape[1:])

    return call.mapped(change)


def _emptied(call: FreshCall, random: Random) -> FreshCall:
    """One size becomes 0 everywhere."""
    sizes = sorted({size for tensor in call.tensors() for size in tensor.shape})
    gone = random.choice(sizes) if sizes else None
    return call.mapped(lambda t: replace(t, shape=tuple(0 if size == gone else size for size in t.shape)))


def _with_attributes(
    call: FreshCall, parameters: Sequence[str], optional: Sequence[Parameter], words: Sequence[str], random: Random
) -> FreshCall:
    tensors = call.tensors()
    rank = len(tensors[0].shape) if tensors else 0
    around = Surroundings(rank, sorted({size for tensor in tensors for size in tensor.shape}), words)
    kinds = {parameter.name: parameter for parameter in optional}
    names = [parameters[place] if place < len(parameters) else "" for place in range(len(call.args))]

    def change(name: str, value: Any) -> Any:
        if isinstance(value, Drawn) or name in UNDRAWN or "dtype" in name or random.random() < 0.45:
            return value
        if isinstance(value, (list, tuple)) and any(isinstance(item, Drawn) for item in value):
            return value
        known = kinds.get(name)
        if value is None and (known is None or known.kind in ("Tensor", "other")):
            return value
        return draw(name, _kind_of(value, known), value, around, random, many=known is not None and known.many)

    args = tuple(change(name, value) for name, value in zip(names, call.args, strict=True))
    kwargs = {
        name: change(name, value)
        for name, value in call.kwargs.items()
        if isinstance(value, Drawn) or random.random() < 0.9
    }
    return FreshCall(call.name, args, kwargs | _more({*names, *kwargs}, optional, around, random))


def _kind_of(value: Any, known: Parameter | None) -> str:
    if known is not None and known.kind not in ("other", "Tensor"):
        return known.kind
    return type(value).__name__ if type(value) in (bool, int, float, str) else ""


def _more(given: set[str], optional: Sequence[Parameter], around: Surroundings, random: Random) -> dict[str, Any]:
    """Parameters that the sample leaves to their defaults."""
    free = [p for p in optional if p.name not in given and p.kind not in ("Tensor", "other")]
    if not free or random.random() < 0.5:
        return {}
    chosen = random.sample(free, min(len(free), random.choice((1, 1, 2))))
    return {
        p.name: draw(p.name, p.kind, None, around, random, many=p.many)
        for p in chosen
        if p.kind != "dtype" or random.random() < 0.3
    }


def _in_another_dtype(call: FreshCall, random: Random) -> FreshCall:
    """All floats in one other dtype; seldom only some of them, or the whole numbers."""
    dtype = random.choices(_REAL, _ODDS)[0]
    if dtype == "float32":
        return call
    mixed = random.random() < 0.15

    def cast(tensor: Drawn) -> Drawn:
        if not tensor.floating or (mixed and random.random() < 0.5):
            return tensor
        return replace(tensor, dtype=dtype, low=-3, high=4)

    return call.mapped(cast)


def _with_gradients(call: FreshCall, random: Random) -> FreshCall:
    """All the gradients there can be; sometimes a part of them, seldom none."""
    way = random.random()
    chance = 0.0 if way < 0.07 else 0.5 if way < 0.25 else 1.0
    return call.mapped(lambda tensor: replace(tensor, grad=tensor.floating and random.random() < chance))
