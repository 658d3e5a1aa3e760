"""What a path asks of a call to tell its cases apart: few answers, compiled from terms like the sizes themselves."""

from __future__ import annotations

import math
from collections.abc import Callable

from opscan.numerics.call import is_representable, is_scale
from opscan.numerics.paths.signature import Instance
from opscan.numerics.paths.terms import NoValue, Term, axes_in, common_shape, number, shape

NO_ANSWER = "-"
SPECIAL_NUMBERS = (0, 1, -1, 2, -2, 3, 0.5, -0.5)
"""Numbers that operators are known to treat in ways of their own."""

Question = Callable[[Instance], str]


def question(term: Term) -> Question:
    """The function that `term` means, from a call to one of few answers."""
    if term[0] in _QUESTIONS:
        return _QUESTIONS[term[0]](*term[1:])
    value = number(term)
    return lambda call: bucket(value(call))


def answered(term: Term) -> Question:
    """The question, with an answer of its own where it makes no sense."""
    ask = question(term)

    def answer(call: Instance) -> str:
        try:
            return ask(call)
        except NoValue:
            return NO_ANSWER

    return answer


def bucket(count: int) -> str:
    """What an extent decides: nothing to add, nothing to round, one rounding, many."""
    return str(count) if count < 3 else "n"


def _same(one: Term, other: Term) -> Question:
    first, second = shape(one), shape(other)
    return lambda call: "yes" if first(call) == second(call) else "no"


def _more(one: Term, other: Term) -> Question:
    """How two numbers compare."""
    first, second = number(one), number(other)

    return lambda call: compare(first(call), second(call))


def compare(one: float, other: float) -> str:
    return "same" if one == other else "more" if one > other else "less"


def _power(term: Term) -> Question:
    """Whether dividing by a number only moves the exponent."""
    value = number(term)

    def check(call: Instance) -> str:
        count = value(call)
        return "yes" if count > 0 and is_scale(1 / count, _dtype(call)) else "no"

    return check


def _meeting(one: Term, other: Term) -> Question:
    """Which of two shapes grows where they broadcast to one: neither, the first, the second, both; or they do not."""
    first, second = shape(one), shape(other)

    def compare_shapes(call: Instance) -> str:
        left, right = first(call), second(call)
        if left == right:
            return "neither"
        try:
            common = common_shape((left, right))
        except NoValue:
            return "no"
        return "both" if common not in (left, right) else "second" if common == left else "first"

    return compare_shapes


def _inside(one: Term, other: Term, name: str) -> Question:
    """Whether the first shape is nowhere larger than the second, but on the axes that attribute `name` lists."""
    first, second = shape(one), shape(other)

    def compare(call: Instance) -> str:
        small, large = first(call) or (1,), second(call) or (1,)
        free = axes_in(call, name, len(large)) if name else ()
        fits = all(a <= b for axis, (a, b) in enumerate(zip(small, large, strict=False)) if axis not in free)
        return "yes" if fits and len(small) == len(large) else "no"

    return compare


def _is_axis(name: str, source: Term, slack: int) -> Question:
    """Whether an attribute lists axes of a shape (with `slack` more of them), each once."""
    whole = shape(source)

    def check(call: Instance) -> str:
        value = call.numbers.get(name)
        listed = value if isinstance(value, tuple) else (value,)
        rank = len(whole(call)) + slack
        if not all(type(axis) is int and -max(rank, 1) <= axis < max(rank, 1) for axis in listed):
            return "no"
        return "yes" if len({axis % max(rank, 1) for axis in listed}) == len(listed) else "no"

    return check


def _is_within(term: Term, low: int, high: int) -> Question:
    value = number(term)
    return lambda call: "yes" if low <= value(call) <= high else "no"


def _is_among(term: Term, *numbers: int) -> Question:
    value = number(term)
    return lambda call: "yes" if value(call) in numbers else "no"


def _is_between(name: str, low: float, high: float) -> Question:
    def check(call: Instance) -> str:
        value = call.numbers.get(name)
        listed = value if isinstance(value, tuple) else (value,)
        return "yes" if all(item is not None and low <= item <= high for item in listed) else "no"

    return check


def _kind(name: str) -> Question:
    """What operators look at in a number: see `kind_of_number`."""

    def read(call: Instance) -> str:
        value = call.numbers.get(name)
        if isinstance(value, tuple):
            return ",".join(kind_of_number(item, _dtype(call)) for item in value)
        if value is None:
            raise NoValue
        return kind_of_number(value, _dtype(call))

    return read


def kind_of_number(value: float, dtype: str) -> str:
    """The number itself where it is special, else its sign and whether it is whole, scales, and fits `dtype`."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value in SPECIAL_NUMBERS:
        return f"{value:g}"
    marks = ["negative" if value < 0 else "positive"]
    marks += ["whole"] if value == int(value) else ["small"] if abs(value) < 1 else []
    marks += ["scale"] if is_scale(value, dtype) else []
    marks += [] if is_representable(value, dtype) else ["rounded"]
    return " ".join(marks)


def _dtype(call: Instance) -> str:
    return next((tensor.dtype for tensor in call.tensors if "float" in tensor.dtype), "float32")


_QUESTIONS: dict[str, Callable[..., Question]] = {
    "same": _same,
    "more": _more,
    "kind": _kind,
    "meeting": _meeting,
    "inside": _inside,
    "power": _power,
    "axis": _is_axis,
    "between": _is_between,
    "within": _is_within,
    "among": _is_among,
}
