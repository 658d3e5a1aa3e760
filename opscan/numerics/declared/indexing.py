"""`x[key]` of a declared tensor, as the calls that torch makes of it."""

from __future__ import annotations

from typing import Any

from opscan.numerics.bits import CONST
from opscan.numerics.declared.engine import call
from opscan.numerics.declared.values import EVALUATOR, NotDeclared, Refused, Tensor


def get_item(tensor: Tensor, key: Any) -> Any:
    """Slices, whole numbers, None and `...` one after the other; tensors and lists of indices together at the end."""
    parts = list(key) if isinstance(key, tuple) else [key]
    ellipses = [place for place, part in enumerate(parts) if part is ...]
    taken = sum(_axes_taken(part) for part in parts)
    if len(ellipses) > 1:
        raise NotDeclared("`...` twice among the indices")
    if taken > tensor.ndim:
        raise Refused(f"indices for {taken} axes of {tensor.ndim}")
    for place in ellipses:
        parts[place : place + 1] = [slice(None)] * (tensor.ndim - taken)
    axis = 0
    indices: list[Tensor | None] = []
    for part in parts:
        if isinstance(part, int) and not isinstance(part, bool):
            tensor = call("select", (tensor, axis, part), {})
            continue
        if part is None:
            tensor = call("unsqueeze", (tensor, axis), {})
        elif isinstance(part, slice):
            tensor = _sliced(tensor, axis, part)
        else:
            indices += [None] * (axis - len(indices)) + [_index(part)]
        axis += 1
    return call("index", (tensor, indices), {}) if indices else tensor


def _axes_taken(part: Any) -> int:
    if part is None or part is ...:
        return 0
    return part.ndim if isinstance(part, Tensor) and part.dtype in ("bool", "uint8") else 1


def _sliced(tensor: Tensor, axis: int, part: slice) -> Any:
    if any(isinstance(bound, Tensor) for bound in (part.start, part.stop, part.step)):
        raise NotDeclared("the bounds of a slice are values of a tensor")
    if (part.start, part.stop, part.step) == (None, None, None):
        return tensor
    stop = tensor.shape[axis] if part.stop is None else part.stop
    return call("slice", (tensor, axis, part.start or 0, stop, 1 if part.step is None else part.step), {})


def _index(part: Any) -> Tensor:
    """A tensor of indices, also where they are written out."""
    if isinstance(part, Tensor):
        if not part.ndim:
            raise NotDeclared("an index that is the value of a tensor")
        return part
    sizes: list[int] = []
    level = part
    while isinstance(level, (list, tuple, range)) and level:
        sizes.append(len(level))
        level = level[0]
    if type(level) is not int:
        raise NotDeclared(f"an index of {type(level).__name__}")
    return Tensor(tuple(sizes), "int64", CONST)


EVALUATOR["get_item"] = get_item
