"""Operators, subscripts and formatting on plain values, each guarded so that no result outgrows its limit."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

from opscan.pyread.files import PathValue
from opscan.pyread.stops import MAX_BITS, MAX_ITEMS, Budget, CannotFollow
from opscan.pyread.values import (
    HINT,
    VIEWS,
    ClassValue,
    DefaultDict,
    ExceptionValue,
    Instance,
    NamedTuple,
    NumpyInt,
    Record,
    Silent,
    TypeValue,
    measure,
)

SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}

_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}

_COMPARE: dict[type[ast.AST], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}

_NUMBERS = frozenset({bool, int, float})
_SEQUENCES = frozenset({str, list, tuple})
_MAPPINGS = frozenset({dict, DefaultDict})
_PLAIN = _NUMBERS | _SEQUENCES | _MAPPINGS | {set, frozenset, type(None), *VIEWS}


def binary(kind: type[ast.AST], left: Any, right: Any, budget: Budget) -> Any:
    """`left <op> right`. Raises CannotFollow before a result would be too large, else what Python raises."""
    a, b = type(left), type(right)
    if a in _NUMBERS and b in _NUMBERS:
        return _arithmetic(kind, left, right)
    if (a is NumpyInt or b is NumpyInt) and issubclass(a, int | float) and issubclass(b, int | float):
        return _numpy_arithmetic(kind, left, right)
    if a is Silent or b is Silent:
        return left if a is Silent else right
    if a in _OPERATORS or b in _OPERATORS:
        return (_OPERATORS.get(a) or _OPERATORS[b])(kind, left, right, budget)
    if a not in _PLAIN or b not in _PLAIN or kind not in _BINARY:
        odd = left if a not in _PLAIN else right
        raise CannotFollow(f"`{SYMBOLS.get(kind, '@')}` on {describe(odd)}")
    if kind is ast.Mod and a is str:
        return _percent(left, right)
    if kind is ast.Mult and (a in _SEQUENCES or b in _SEQUENCES):
        times, length = (right, len(left)) if a in _SEQUENCES else (left, len(right))
        if type(times) in {int, bool}:
            budget.charge(max(times, 0) * length)
    elif a in _SEQUENCES and b in _SEQUENCES:
        budget.charge(len(left) + len(right))
    elif a in {set, frozenset, *_MAPPINGS, *VIEWS}:
        budget.charge(len(left) + (len(right) if b in {set, frozenset, *_MAPPINGS, *VIEWS} else 0))
    if a is DefaultDict or b is DefaultDict:
        raise CannotFollow(f"`{SYMBOLS.get(kind, '@')}` on {describe(left if a is DefaultDict else right)}")
    return _BINARY[kind](left, right)


def _numpy_arithmetic(kind: type[ast.AST], left: Any, right: Any) -> Any:
    """Arithmetic with numpy's 64-bit integers: what would overflow, or gives no number in Python, is not followed."""
    plain = [int(side) if type(side) is NumpyInt else side for side in (left, right)]
    try:
        return numpy_number(_arithmetic(kind, *plain))
    except ArithmeticError:
        raise CannotFollow("numpy's division by zero") from None


def _with_tuples(kind: type[ast.AST], left: Any, right: Any, budget: Budget) -> Any:
    first, second = (tuple(side) if type(side) is NamedTuple else side for side in (left, right))
    return binary(kind, first, second, budget)


def _with_types(kind: type[ast.AST], left: Any, right: Any, _: Budget) -> Any:
    """`A | B` of classes, for `isinstance`."""
    if kind is not ast.BitOr:
        raise CannotFollow(f"`{SYMBOLS.get(kind, '@')}` on a class")
    return tuple(one for side in (left, right) for one in (side if type(side) is tuple else (side,)))


def _with_paths(kind: type[ast.AST], left: Any, right: Any, _: Budget) -> Any:
    if kind is not ast.Div or type(left) is not PathValue:
        raise CannotFollow(f"`{SYMBOLS.get(kind, '@')}` on a `Path`")
    return left.joined(right)


_OPERATORS: dict[type, Callable[..., Any]] = {
    NamedTuple: _with_tuples,
    PathValue: _with_paths,
    TypeValue: _with_types,
    ClassValue: _with_types,
}


def numpy_number(value: Any) -> Any:
    """An integer as numpy's; a float is one of Python's too."""
    if type(value) is not int:
        return value
    if value.bit_length() > 63:
        raise CannotFollow("a number that overflows in numpy")
    return NumpyInt(value)


def _arithmetic(kind: type[ast.AST], left: Any, right: Any) -> Any:
    if kind not in _BINARY:
        raise CannotFollow("`@`")
    if type(left) is not float and type(right) is not float:
        if kind is ast.Pow and right > 0 and left.bit_length() * right > MAX_BITS:
            raise CannotFollow("`**` with a result of far too many digits")
        if kind is ast.LShift and right + left.bit_length() > MAX_BITS:
            raise CannotFollow("`<<` with a result of far too many digits")
    result = _BINARY[kind](left, right)
    if type(result) is int and result.bit_length() > MAX_BITS:
        raise CannotFollow(f"`{SYMBOLS[kind]}` with a result of far too many digits")
    if type(result) is complex:
        raise CannotFollow("a complex number")
    return result


def compare(kind: type[ast.AST], left: Any, right: Any, budget: Budget) -> bool:
    """`left <op> right` for all ten comparison operators."""
    if kind is ast.In or kind is ast.NotIn:
        if type(right) is NamedTuple:
            right = tuple(right)
        if isinstance(right, ClassValue) and right.members is not None:
            right = right.members
        if type(right) not in {list, tuple, set, frozenset, str, range, *_MAPPINGS, *VIEWS}:
            raise CannotFollow(f"`in` on {describe(right)}")
        if type(right) is range and type(left) is not int:
            raise CannotFollow("`in` on a range with a value that is no integer")
        budget.charge(len(right) if type(right) not in {set, frozenset, range, *_MAPPINGS} else 1)
        measure(left)
        if type(right) in {list, tuple}:
            measure(right)
        return (left in right) == (kind is ast.In)
    if type(left) not in _NUMBERS or type(right) not in _NUMBERS:
        if isinstance(left, Silent) or isinstance(right, Silent):
            if kind in {ast.Is, ast.IsNot} and (left is None or right is None) and (left or right).there:
                return kind is ast.IsNot
            raise CannotFollow(f"a comparison with {describe(left if isinstance(left, Silent) else right)}")
        budget.left -= (measure(left) + measure(right)) >> 3
        if kind not in {ast.Eq, ast.NotEq, ast.Is, ast.IsNot} and {Record, Instance} & {type(left), type(right)}:
            raise CannotFollow("ordering of objects")
    return bool(_COMPARE[kind](left, right))


def truth(value: Any) -> bool:
    """`bool(value)`."""
    if isinstance(value, Silent):
        raise CannotFollow(f"a condition on {describe(value)}")
    return bool(value)


def subscript(container: Any, index: Any, budget: Budget) -> Any:
    """`container[index]` for sequences, ranges and dicts."""
    kind = type(container)
    if kind is NamedTuple:
        container, kind = tuple(container), tuple
    if kind is Silent and container.what == HINT:
        return container
    if kind in {list, tuple, str, range}:
        if type(index) is slice and kind is not range:
            budget.charge(len(container))
        return container[index]
    if kind in _MAPPINGS:
        measure(index)
        return container[index]
    if isinstance(container, ClassValue) and container.members is not None:
        return container.attributes[index]
    if isinstance(container, dict) and index in container:
        return container[index]
    raise CannotFollow(f"a subscript of {describe(container)}")


def describe(value: Any) -> str:
    """What messages call a value: its type, never its content."""
    if isinstance(value, Record):
        return f"a {value.kind}"
    if isinstance(value, Instance | NamedTuple):
        return f"a `{value.cls.name}`"
    if isinstance(value, Silent):
        return value.what
    return "None" if value is None else f"a value of type {type(value).__name__}"


# -- text --------------------------------------------------------------------------------------------------------------


def to_text(value: Any, budget: Budget) -> str:
    """`str(value)`; objects of the plugin give a placeholder, since only messages print them."""
    budget.left -= measure(value) >> 2
    if isinstance(value, Silent):
        raise CannotFollow(f"the text of {value.what}")
    if type(value) in _PLAIN or type(value) in {range, NumpyInt}:
        return str(value)
    if isinstance(value, Instance) and value.cls.members is not None and not value.cls.has("__str__"):
        return f"{value.cls.name}.{value.attributes['name']}"
    if isinstance(value, NamedTuple) or (isinstance(value, Instance) and value.cls.fields is not None):
        raise CannotFollow(f"the text of {describe(value)}")
    if isinstance(value, PathValue):
        return str(value)
    if isinstance(value, ExceptionValue):
        return str(value.kind(*value.args))
    if isinstance(value, Instance) and any(value.cls.has(name) for name in ("__str__", "__repr__", "__format__")):
        raise CannotFollow(f"the text of {describe(value)}")
    return repr(value) if isinstance(value, Record) else f"<{type(value).__name__}>"


def format_value(value: Any, spec: str, budget: Budget) -> str:
    """`format(value, spec)`."""
    if type(value) not in _NUMBERS and type(value) is not str:
        return to_text(value, budget)
    _check_widths(spec)
    return format(value, spec)


def format_text(text: str, args: list[Any], named: dict[str, Any], budget: Budget) -> str:
    """`text.format(*args, **named)` without attribute or index access in the fields."""
    import string  # rare, and it takes long to import

    parts, automatic = [], 0
    for literal, name, spec, conversion in string.Formatter().parse(text):
        parts.append(literal)
        if name is None:
            continue
        if "{" in (spec or "") or not re.fullmatch(r"\w*", name):
            raise CannotFollow("a format field with attributes or nested fields")
        if name == "":
            value, automatic = args[automatic], automatic + 1
        else:
            value = args[int(name)] if name.isdigit() else named[name]
        if conversion in {"r", "a"}:
            value = repr(value) if type(value) is str else to_text(value, budget)
        parts.append(format_value(value, spec or "", budget))
    budget.charge(sum(len(p) for p in parts))
    return "".join(parts)


def _percent(text: str, right: Any) -> str:
    _check_widths(text)
    if "*" in text:
        raise CannotFollow("`%` formatting with a width from the arguments")
    values = right if type(right) is tuple else (right,)
    for value in values:
        measure(value)
    if text.count("%") * max((len(v) for v in values if type(v) is str), default=1) > MAX_ITEMS:
        raise CannotFollow("`%` formatting with a huge result")
    return str(text % right)


def _check_widths(spec: str) -> None:
    if any(len(number) > 3 for number in re.findall(r"\d+", spec)):
        raise CannotFollow("a format width of more than 999")
