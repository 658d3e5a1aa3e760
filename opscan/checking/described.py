"""The operators of `catalog/operators/`: aclnn names, run as the torch code of their entry."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any

from opscan.checking.calls import Drawn, FreshCall, without_gradients
from opscan.checking.parameters import Parameter
from opscan.checking.unseeded import draw_call
from opscan.numerics import names

_KINDS = {"tensor": "Tensor", "either": "Tensor", "scalar": "number"}
PREFIX = "aclnn"
_FOREIGN = re.compile(r"^\w+_backward|_norm_backward")


@lru_cache(maxsize=1)
def entries() -> dict[str, names.Entry]:
    """Every entry with a text of its own, by a name that a spec can use.

    Backward overloads, and formulas with those of normalisations, are left out: they rely on shapes that fit and read
    foreign memory where they do not. The samples of the database call them with such.
    """
    found = {}
    for place in names.places():
        entry = names.load(place)
        if entry.place == place and not _FOREIGN.search(entry.aten or entry.formula or ""):
            found[PREFIX + place.key] = entry
    return found


def function_of_entry(name: str) -> Callable[..., Any]:
    """A function that takes what a call gives by keyword and fills in the rest. Raises AttributeError."""
    entry = entries().get(name)
    if entry is None:
        raise AttributeError(f"no entry for {name}")
    operator = entry.operator()

    def function(**given: Any) -> Any:
        values = {parameter.name: given.get(parameter.name, parameter.absent) for parameter in entry.parameters}
        args = [values[parameter.name] for parameter in entry.parameters if not parameter.by_name]
        return operator.call(*args, **{p.name: values[p.name] for p in entry.parameters if p.by_name})

    return function


def draw_described(name: str, random: Random) -> FreshCall | None:
    """A call with tensors of a common pattern; an aclnn operator has no gradient."""
    entry = entries()[name]
    call = draw_call(name, _parameters(entry), (), random)
    if call is None:
        return None
    cast = entry.cast or {}
    kwargs = {key: _recast(value, cast.get(key)) for key, value in call.kwargs.items()}
    return without_gradients(FreshCall(name, (), kwargs))


def _parameters(entry: names.Entry) -> Sequence[Parameter]:
    return [
        Parameter(p.name, _KINDS.get(p.kind, p.kind), p.many, not p.required, by_name=True) for p in entry.parameters
    ]


def _recast(value: Any, dtype: str | None) -> Any:
    if isinstance(value, list):
        return [_recast(item, dtype) for item in value]
    return replace(value, dtype=dtype, low=0, high=1) if dtype is not None and isinstance(value, Drawn) else value
