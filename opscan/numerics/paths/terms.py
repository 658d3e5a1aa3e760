"""The language of a path: sizes and shapes of a call as terms.

A term is a number or a list whose head names what it computes, so that it ships as JSON. It is compiled once into a
function of an `Instance`; where it makes no sense (an axis that is not there, shapes that do not meet) it raises
`NoValue`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opscan.numerics.paths.signature import Instance, Sizes

Term = Any
"""A number, or a list such as `["per", ["numel", ["output", 0]], ["numel", ["tensor", 1]]]`."""


class NoValue(Exception):
    """The term makes no sense for this call."""


Number = Callable[[Instance], int]
Shape = Callable[[Instance], Sizes]


def shape(term: Term) -> Shape:
    """The function that `term` means, from a call to a shape."""
    from opscan.numerics.paths.shape_terms import SHAPES  # which has terms inside of terms

    return SHAPES[term[0]](*term[1:])


def number(term: Term) -> Number:
    """The function that `term` means, from a call to a whole number."""
    if isinstance(term, int):
        return lambda _: term
    from opscan.numerics.paths.number_terms import NUMBERS

    return NUMBERS[term[0]](*term[1:])


def common_shape(shapes: Sequence[Sizes]) -> Sizes:
    """What the shapes broadcast to. Raises NoValue where they do not meet."""
    result = [1] * max(map(len, shapes), default=0)
    for sizes in shapes:
        offset = len(result) - len(sizes)
        for axis, size in enumerate(sizes, offset):
            if size != 1 and size != result[axis]:
                if result[axis] != 1:
                    raise NoValue
                result[axis] = size
    return tuple(result)


def share(total: int, part: int) -> int:
    """How many times `part` is in `total`, rounded up; 0 where `part` is nothing."""
    return -(-total // part) if part > 0 else 0


def listed(call: Instance, name: str) -> tuple[Any, ...]:
    value = call.numbers.get(name)
    return value if isinstance(value, tuple) else (value,) if value is not None else no_value()


def there(value: Any) -> Any:
    return no_value() if value is None else value


def axes_in(call: Instance, name: str, rank: int) -> tuple[int, ...]:
    value = call.numbers.get(name)
    if value is None or value == ():
        return tuple(range(rank))
    listed = value if isinstance(value, tuple) else (value,)
    if not all(type(axis) is int and -max(rank, 1) <= axis < max(rank, 1) for axis in listed):
        raise NoValue
    return tuple(axis % rank for axis in listed) if rank else ()


def place_of(call: Instance, axis: int | str, rank: int) -> int:
    value = call.numbers.get(axis) if isinstance(axis, str) else axis
    if type(value) is not int or not -rank <= value < rank:
        raise NoValue
    return value % rank


def no_value() -> Any:
    raise NoValue
