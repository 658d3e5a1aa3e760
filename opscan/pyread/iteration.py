"""What Python gives item by item: `zip`, `map`, and the iterators of `itertools`. Each can be run through once."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from opscan.pyread.operations import describe, truth
from opscan.pyread.stops import CannotFollow
from opscan.pyread.values import HostFunction

if TYPE_CHECKING:
    from opscan.pyread.machine import Machine

GENERATOR = type(_ for _ in ())
"""The type of every iterator that a plugin can hold."""


def reversed_(ev: Machine, values: Any) -> Iterator[Any]:
    if type(values) is GENERATOR:
        raise TypeError("'generator' object is not reversible")
    return (value for value in ev.items(values)[::-1])


def enumerate_(ev: Machine, values: Any, start: int = 0) -> Iterator[tuple[int, Any]]:
    source = ev.iterate(values)
    return (pair for pair in enumerate(source, start))


def zip_(ev: Machine, *columns: Any, strict: bool = False) -> Iterator[tuple[Any, ...]]:
    sources = [iter(ev.iterate(column)) for column in columns]
    return (row for row in zip(*sources, strict=strict))


def map_(ev: Machine, function: Any, *columns: Any) -> Iterator[Any]:
    sources = [iter(ev.iterate(column)) for column in columns]
    return (ev.call(function, list(row)) for row in zip(*sources, strict=False))


def filter_(ev: Machine, function: Any, values: Any) -> Iterator[Any]:
    source = ev.iterate(values)
    return (v for v in source if truth(v if function is None else ev.call(function, [v])))


def iter_(ev: Machine, values: Any) -> Iterator[Any]:
    source = ev.iterate(values)
    return source if type(source) is GENERATOR else (value for value in source)


_MISSING = object()


def next_(_: Machine, values: Any, default: Any = _MISSING) -> Any:
    if type(values) is not GENERATOR:
        raise CannotFollow(f"`next` of {describe(values)}")
    return next(values) if default is _MISSING else next(values, default)


# -- itertools --------------------------------------------------------------------------------------------------------


def _product(ev: Machine, *columns: Any, repeat: int = 1) -> Iterator[Any]:
    lists = [list(ev.items(c)) for c in columns] * min(repeat, 64)
    total = 1
    for values in lists:
        total *= len(values)
        ev.budget.charge(total)
    return (row for row in itertools.product(*lists))


def _combinations(ev: Machine, values: Any, r: int) -> Iterator[Any]:
    pool = list(ev.items(values))
    ev.budget.charge(math.comb(len(pool), r))
    return (row for row in itertools.combinations(pool, r))


def _permutations(ev: Machine, values: Any, r: int | None = None) -> Iterator[Any]:
    pool = list(ev.items(values))
    if len(pool) > 100:
        raise CannotFollow("`permutations` of more than 100 items")
    ev.budget.charge(math.perm(len(pool), r))
    return (row for row in itertools.permutations(pool, r))


def _chain(ev: Machine, *columns: Any) -> Iterator[Any]:
    return (value for column in columns for value in ev.iterate(column))


def _cycle(ev: Machine, values: Any) -> Iterator[Any]:
    pool = list(ev.items(values))
    return (value for value in itertools.cycle(pool))


def _count(_: Machine, start: Any = 0, step: Any = 1) -> Iterator[Any]:
    return (value for value in itertools.count(start, step))


def _repeat(ev: Machine, value: Any, times: int | None = None) -> Iterator[Any]:
    if times is None:
        return (item for item in itertools.repeat(value))
    ev.budget.charge(max(times, 0))
    return (item for item in itertools.repeat(value, times))


def _accumulate(ev: Machine, values: Any, function: Any = None, *, initial: Any = None) -> Iterator[Any]:
    def add(left: Any, right: Any) -> Any:
        return ev.operate(ast.Add, left, right) if function is None else ev.call(function, [left, right])

    source = iter(ev.iterate(values))
    return (value for value in itertools.accumulate(source, add, initial=initial))


def _islice(ev: Machine, values: Any, *bounds: Any) -> Iterator[Any]:
    source = iter(ev.iterate(values))
    return (value for value in itertools.islice(source, *bounds))


def functions(**named: Callable[..., Any]) -> Mapping[str, HostFunction]:
    """Functions that take the machine first, by the names they stand for."""
    return {name: HostFunction(name, function) for name, function in named.items()}


ITERTOOLS = functions(
    product=_product,
    chain=_chain,
    combinations=_combinations,
    permutations=_permutations,
    cycle=_cycle,
    count=_count,
    repeat=_repeat,
    accumulate=_accumulate,
    islice=_islice,
)
