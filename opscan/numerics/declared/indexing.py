"""`x[key]` of a declared tensor, as the calls that torch makes of it."""

from __future__ import annotations

from typing import Any

from opscan.numerics.declared.values import NotDeclared, Refused, Tensor


def get_item(tensor: Tensor, key: Any) -> Any:
    """Slices, whole numbers, None and `...` one after the other; tensors of indices together at the end."""
    from opscan.numerics.declared.engine import call

    parts = list(key) if isinstance(key, tuple) else [key]
    taken = sum(part is not None and part is not ... for part in parts)
    if ... in [part for part in parts if not isinstance(part, Tensor)]:
        place = next(i for i, part in enumerate(parts) if part is ...)
        parts[place : place + 1] = [slice(None)] * (tensor.ndim - taken)
    if taken > tensor.ndim:
        raise Refused("too many indices")
    axis = 0
    indices: list[Tensor | None] = []
    for part in parts:
        if part is None:
            tensor = call("unsqueeze", (tensor, axis), {})
        elif isinstance(part, bool):
            raise NotDeclared("an index that is True or False")
        elif isinstance(part, int):
            tensor = call("select", (tensor, axis, part), {})
            continue
        elif isinstance(part, slice):
            if (part.start, part.stop, part.step) != (None, None, None):
                end = tensor.shape[axis] if part.stop is None else part.stop
                tensor = call("slice", (tensor, axis, part.start or 0, end, part.step or 1), {})
        elif isinstance(part, Tensor):
            indices += [None] * (axis - len(indices)) + [part]
        else:
            raise NotDeclared("an index that is a list")
        axis += 1
    return call("index", (tensor, indices), {}) if indices else tensor
