"""Which cases are judged alike: what the verdict on a case depends on, of all that its shapes decide.

The error model counts extents and outputs in steps, and a standard that allows no difference is judged without it. So
most of the cases of a file that repeats no shape are judged as one of few.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from opscan.judging.adequacy import about, stepped
from opscan.judging.drift_parameters import is_averaged, thin_axes
from opscan.judging.floating import PARTS
from opscan.judging.scopes import StandardScope
from opscan.judging.verdicts import TensorVerdict

NOTHING, IN_STEPS, EXACTLY, OF_PAIRS = range(4)
"""How the extent of a tensor decides its verdict; of pairs: exactly, with two numbers an element."""
_PAIR = 2


def dependence(scope: StandardScope, by_extent: bool) -> tuple[int, ...]:
    """How the verdicts on cases of the same classes as `scope` depend on extents, tensor by tensor."""
    return tuple([_dependence(verdict, by_extent) for verdict in scope.verdicts[0].tensors])


def scale(
    extents: Sequence[int], shapes: Sequence[Sequence[int]], depends: Sequence[int], given: Sequence[Sequence[int]]
) -> tuple[Any, ...]:
    """What decides of the extents and shapes of the compared tensors: equal only for cases that are judged alike.

    `given`: the shapes of all tensors of the call.
    """
    found: list[Any] = []
    deciding = []
    for extent, sizes, how in zip(extents, shapes, depends, strict=True):
        if how == NOTHING:
            continue
        deciding.append(extent)
        outputs = math.prod(sizes)
        found += (_in_steps(extent) if how == IN_STEPS else extent, _about(outputs))
        if how == OF_PAIRS:
            found.append(_about(2 * outputs))
    if max(deciding, default=0) > _PAIR:  # two addends meet in one way
        found.append(thin_axes(given))
    if len(deciding) > 1:  # the loosest of them says which standards may be recommended
        found += sorted(range(len(deciding)), key=deciding.__getitem__, reverse=True)
    return tuple(found)


def _dependence(verdict: TensorVerdict, by_extent: bool) -> int:
    if verdict.parameters is None and not by_extent:
        return NOTHING
    if verdict.tensor.dtype in PARTS:
        return OF_PAIRS
    stepped_only = verdict.exact and not is_averaged(verdict.tensor) and not by_extent
    return IN_STEPS if stepped_only else EXACTLY


@lru_cache(maxsize=65536)
def _in_steps(extent: int) -> int:
    return stepped(extent)


@lru_cache(maxsize=65536)
def _about(count: int) -> int:
    return about(count)
