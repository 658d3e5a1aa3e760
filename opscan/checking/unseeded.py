"""Calls from the plain ATen signature, without any sample: shapes of a pattern, everything else from its type."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from opscan.checking.attributes import Surroundings, draw
from opscan.checking.calls import Drawn, FreshCall
from opscan.checking.parameters import UNDRAWN, Parameter

_SIZES = (1, 2, 3, 3, 4, 5, 7)
_DTYPES = ("float32", "float32", "float32", "float16", "bfloat16", "int32", "int64", "bool", "complex64")
_UNGIVEN = ("other",)


def draw_call(name: str, overload: Sequence[Parameter], words: Sequence[str], random: Random) -> FreshCall | None:
    """A call of one overload; None where it needs what no spec can give."""
    if any(parameter.kind in _UNGIVEN and not parameter.optional for parameter in overload):
        return None
    tensors = sum(parameter.kind == "Tensor" for parameter in overload)
    shapes = _contracted(tensors, random) if random.random() < 0.35 else _pointwise(tensors, random)
    dtype, grad = random.choice(_DTYPES), random.random() < 0.9
    first = shapes[0] if shapes else ()
    around = Surroundings(len(first), sorted({size for shape in shapes for size in shape}), words)
    places = iter(shapes)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter in overload:
        if parameter.kind == "Tensor":
            value = _tensor(parameter, next(places), dtype, random, grad=grad)
        elif parameter.kind in _UNGIVEN or parameter.name in UNDRAWN or (parameter.optional and random.random() < 0.6):
            continue
        else:
            value = draw(parameter.name, parameter.kind, None, around, random, many=parameter.many)
        if parameter.optional and parameter.kind == "Tensor" and random.random() < 0.5:
            continue
        if parameter.by_name or len(args) < overload.index(parameter):
            kwargs[parameter.name] = value
        else:
            args.append(value)
    return FreshCall(name, tuple(args), kwargs)


def _tensor(parameter: Parameter, shape: tuple[int, ...], dtype: str, random: Random, *, grad: bool) -> Any:
    if parameter.name in ("index", "indices") or (parameter.name == "target" and random.random() < 0.5):
        return Drawn("int64", shape, low=0, high=1)
    if parameter.name in ("mask", "condition"):
        return Drawn("bool", shape)
    floating = "float" in dtype or "complex" in dtype
    drawn = Drawn(dtype, shape, grad and floating, -3, 4)
    if parameter.many:
        return [drawn] * random.randint(1, 3)
    return drawn


def _pointwise(count: int, random: Random) -> list[tuple[int, ...]]:
    """Shapes that broadcast to one, most of them without doing so."""
    full = tuple(random.choice(_SIZES) for _ in range(random.choice((0, 1, 1, 2, 2, 3, 4))))
    shapes = []
    for _ in range(count):
        shape = full
        if random.random() < 0.35 and shape:
            shape = tuple(1 if random.random() < 0.4 else size for size in shape)
        if random.random() < 0.15:
            shape = shape[random.randint(0, len(shape)) :]
        shapes.append(shape)
    return shapes


def _contracted(count: int, random: Random) -> list[tuple[int, ...]]:
    """Shapes of matrices, vectors and batches of them that can be multiplied, in front of them what is added."""
    m, k, n, b = (random.choice(_SIZES) for _ in range(4))
    pairs = [
        ((m, k), (k, n)), ((k,), (k,)), ((m, k), (k,)), ((k,), (k, n)), ((b, m, k), (b, k, n)), ((b, m, k), (k, n)),
        ((m, k), (b, k, n)), ((b, m, k), (1, k, n)), ((m, k), (n, k)), ((b, 1, m, k), (n, k, 3)),
    ]  # fmt: skip
    pair = random.choice(pairs)
    if count <= 2:
        return [*pair][:count]
    added = random.choice(((m, n), (n,), (1, n), (m, 1), (), (b, m, n), (m,), (b, 1, n)))
    return (
        [added, *pair, *(added for _ in range(count - 3))]
        if random.random() < 0.8
        else [*pair, *(added,) * (count - 2)]
    )
