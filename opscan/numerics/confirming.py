"""Whether PyTorch's CPU kernels take the dtypes of a call: its fake kernels promise more than the real ones keep.

A small call of the same kind is made on real tensors, once per operator, dtypes and settings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from opscan.numerics.binding import Binding, Dtype, TensorArgument
from opscan.numerics.operators import NotFollowed, Operator

_SMALL = 4096
"""Elements of a call that is made as it is."""
_AFFORDED = 1 << 16
"""Elements of a call that is made as it is where a smaller one tells nothing."""
_LARGEST_NUMBER = 1 << 16
"""Numbers among the attributes can be sizes of a result."""
_ABOUT_DTYPES = re.compile(
    r"not (?:yet )?implemented|not (?:yet )?supported|(?:doesn't|does not|do not|don't) support|only supports?\b"
    r"|\bdtypes?\b|data ?type|of type|boolean|can't be cast|cannot be converted|non-complex",
    re.IGNORECASE,
)
"""How torch speaks of dtypes that a kernel does not take; values and shapes are others here than in the call itself."""
_known: dict[Hashable, str] = {}


def refusal(operator: Operator, binding: Binding, mutated: int | None) -> str:
    """Why torch refuses the dtypes of a call on the CPU, in its words; empty where it does not, or cannot be asked."""
    if _largest_number((*binding.args, *binding.kwargs.values())) > _LARGEST_NUMBER:
        return ""
    key = (operator.name, mutated, _kind(binding.args), tuple((n, _kind(v)) for n, v in sorted(binding.kwargs.items())))
    if key not in _known:
        _known[key] = _ask(operator, binding, mutated)
    return _known[key]


def _ask(operator: Operator, binding: Binding, mutated: int | None) -> str:
    elements = sum(math.prod(tensor.shape) for tensor in binding.tensors())
    reason = _try(operator, binding if elements <= _SMALL else _shrunk(binding), mutated)
    if reason is None and _SMALL < elements <= _AFFORDED:
        reason = _try(operator, binding, mutated)
    return reason or ""


def _try(operator: Operator, binding: Binding, mutated: int | None) -> str | None:
    """What torch says against the dtypes, nothing where it takes them; None where it refuses for another reason."""
    from opscan.numerics.running import NeedsData, OutOfMemory, Refused, attempt

    try:
        attempt(operator, binding, mutated)
    except Refused as problem:
        return str(problem) if _ABOUT_DTYPES.search(str(problem)) else None
    except (NeedsData, OutOfMemory, NotFollowed):
        return None
    return ""


def _kind(value: Any) -> Hashable:
    """What of an argument decides which kernel runs."""
    if isinstance(value, TensorArgument):
        return value.dtype, len(value.shape), 0 in value.shape, value.requires_grad
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, tuple(map(_kind, value)))
    if isinstance(value, (bool, str, Dtype)) or value is None:
        return value
    return type(value).__name__, value in (0, 1, 2)


def _shrunk(binding: Binding) -> Binding:
    def smaller(value: Any) -> Any:
        if isinstance(value, TensorArgument):
            return replace(value, shape=tuple(min(size, 2) for size in value.shape))
        return type(value)(map(smaller, value)) if isinstance(value, (list, tuple)) else value

    return Binding(smaller(tuple(binding.args)), {name: smaller(value) for name, value in binding.kwargs.items()})


def _largest_number(value: Any) -> float:
    if isinstance(value, (list, tuple)):
        return math.prod(max(_largest_number(item), 1) for item in value)
    return abs(float(value)) if isinstance(value, (int, float)) and math.isfinite(value) else 0
