"""What a representative element is computed from: a graph of elementary functions and of sums along axes.

All elements of a tensor come about alike, so one of them stands for all. A sum along axes knows how many addends it
has and which elements it shares with its neighbours (its group), not which element is which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opscan.numerics.binding import TensorArgument

Number = float | int | bool
Group = tuple[object, ...]
"""The axes of a sum, counted from the last, and how many addends they hold: sums of one group share their addends."""
Formula = tuple[tuple[str, tuple[int, ...], tuple[object, ...], str], ...]
"""The terms of a graph in an order in which each comes after its operands, the result last: function, places of the
operands, numbers, and the dtype in which the result is kept ("" where it is exact)."""

MOST_TERMS = 400
"""Longer graphs are loops; they are told by their extents alone."""


class Term:
    """One value of the graph. `dtype`: the format it is rounded to, by torch's name; "" where it is exact."""

    __slots__ = ("dtype", "name", "numbers", "operands")

    def __init__(
        self, name: str, operands: Sequence[Term] = (), numbers: tuple[object, ...] = (), dtype: str = ""
    ) -> None:
        self.name = name
        self.operands: tuple[Term, ...] = tuple(operands)
        self.numbers = numbers
        self.dtype = dtype


def input_term(argument: TensorArgument) -> Term:
    """An element of an input: which input, and its name."""
    return Term("input", (), (argument.position, argument.label), argument.dtype)


def number(value: Number) -> Term:
    return Term("number", (), (float(value),))


def linear(term: Term | None) -> Formula:
    """The graph of a term as plain values, shared terms once; empty where nothing is known or it is too long."""
    while term is not None and term.name in ("elsewhere", "neg"):
        term = term.operands[0]  # of all elements, and of their sizes, the same is true
    if term is None:
        return ()
    places: dict[int, int] = {}
    numbered: dict[tuple[str, tuple[int, ...], tuple[object, ...], str], int] = {}
    waiting = [term]
    while waiting:
        current = waiting[-1]
        if id(current) in places:
            waiting.pop()
            continue
        open_operands = [operand for operand in current.operands if id(operand) not in places]
        if open_operands:
            waiting += open_operands
            continue
        step = (current.name, tuple([places[id(each)] for each in current.operands]), current.numbers, current.dtype)
        places[id(current)] = numbered.setdefault(step, len(numbered))
        if len(numbered) > MOST_TERMS:
            return ()
        waiting.pop()
    formula = tuple(numbered)
    last = places[id(term)]
    # the result may equal an earlier term only where it is that term
    return formula if last == len(formula) - 1 else formula[: last + 1]
