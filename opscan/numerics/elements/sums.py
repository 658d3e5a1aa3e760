"""Which elements a call adds up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opscan.numerics.call import Call, Operand
from opscan.numerics.elements.functions import group_of
from opscan.numerics.elements.term import Group, Term

Terms = Sequence[Term | None]


def axes_group(call: Call, name: str = "self") -> tuple[Group, Operand]:
    """The group of the axes that a call reduces, counted from the last."""
    source = call.tensor(name)
    rank = len(source.shape)
    dims = call.arguments.get("dim")
    if dims is None or dims in ([], ()):
        wanted = list(range(rank))
    else:
        wanted = sorted({int(dim) % max(rank, 1) for dim in (dims if isinstance(dims, (list, tuple)) else [dims])})
    if rank == 0:
        return group_of((), 1), source
    return group_of(tuple(axis - rank for axis in wanted), math.prod(source.shape[axis] for axis in wanted)), source


def last_axis(operand: Operand) -> Group:
    return group_of((-1,), operand.shape[-1] if operand.shape else 1)


def own_group(call: Call, addends: int) -> Group:
    """A group that no other call shares."""
    return group_of(shapes_of(call), max(int(addends), 1))


def shapes_of(call: Call) -> tuple[Any, ...]:
    return (call.packet, *[operand.shape for operand in call.operands()])
