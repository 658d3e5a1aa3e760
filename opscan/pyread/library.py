"""The built-in functions and types that a plugin may call.

Every function takes the evaluator first: iterating, calling back and sizes go through it, so that its limits hold.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opscan.pyread.files import open_
from opscan.pyread.iteration import enumerate_, filter_, iter_, map_, next_, reversed_, zip_
from opscan.pyread.operations import describe, format_value, to_text, truth
from opscan.pyread.stops import MAX_BITS, CannotFollow
from opscan.pyread.values import (
    BoundMethod,
    ClassValue,
    ExceptionType,
    ExceptionValue,
    FunctionValue,
    HostFunction,
    Instance,
    NamedTuple,
    NumpyInt,
    Record,
    RecordType,
    Silent,
    TypeValue,
    measure,
)

if TYPE_CHECKING:
    from opscan.pyread.machine import Machine

_MISSING = object()

EXCEPTIONS = (
    BaseException,
    Exception,
    ValueError,
    TypeError,
    IndexError,
    KeyError,
    LookupError,
    AttributeError,
    ArithmeticError,
    ZeroDivisionError,
    OverflowError,
    RuntimeError,
    NotImplementedError,
    AssertionError,
    StopIteration,
    ImportError,
    ModuleNotFoundError,
    NameError,
    OSError,
    FileNotFoundError,
    UnicodeError,
    RecursionError,
)


def _len(_: Machine, value: Any) -> int:
    if isinstance(value, ClassValue) and value.members is not None:
        return len(value.members)
    if isinstance(value, Instance | Record | Silent):
        raise CannotFollow(f"`len` of {describe(value)}")
    return len(value)


def _range(_: Machine, *bounds: Any) -> range:
    return range(*bounds)


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(ev: Machine, *args: Any, key: Any = None, default: Any = _MISSING) -> Any:
        values = ev.items(args[0]) if len(args) == 1 else list(args)
        if not values and default is not _MISSING:
            return default
        ev.budget.charge(len(values))
        for value in values:
            measure(value)
        return choose(values, key=ev.callback(key)) if key is not None else choose(values)

    return extreme


def _sum(ev: Machine, values: Any, start: Any = 0) -> Any:
    total = start
    for value in ev.items(values):
        total = ev.operate(ast.Add, total, value)
    return total


def _any(ev: Machine, values: Any) -> bool:
    return any(truth(v) for v in ev.iterate(values))


def _all(ev: Machine, values: Any) -> bool:
    return all(truth(v) for v in ev.iterate(values))


def _sorted(ev: Machine, values: Any, key: Any = None, reverse: Any = False) -> list[Any]:
    return ev.sort(ev.items(values), key=key, reverse=reverse)


def _isinstance(ev: Machine, value: Any, wanted: Any) -> bool:
    if type(wanted) is tuple:
        return any(_isinstance(ev, value, w) for w in wanted)
    if isinstance(wanted, TypeValue):
        if type(value) is NumpyInt:
            return wanted.host is NumpyInt
        return isinstance(value, wanted.host)
    if isinstance(wanted, RecordType):
        return isinstance(value, Record) and value.kind == wanted.kind
    if isinstance(wanted, ClassValue):
        cls = value.cls if isinstance(value, Instance | ExceptionValue | NamedTuple) else None
        return cls is not None and cls.derives_from(wanted)
    if isinstance(wanted, ExceptionType):
        return isinstance(value, ExceptionValue) and issubclass(value.kind, wanted.host)
    raise CannotFollow("`isinstance` with that type")


def _issubclass(ev: Machine, kind: Any, wanted: Any) -> bool:
    if type(wanted) is tuple:
        return any(_issubclass(ev, kind, one) for one in wanted)
    if isinstance(kind, ClassValue) and isinstance(wanted, ClassValue):
        return kind.derives_from(wanted)
    if isinstance(kind, TypeValue) and isinstance(wanted, TypeValue):
        return issubclass(kind.host, wanted.host)
    raise CannotFollow("`issubclass` with these types")


def _type(ev: Machine, value: Any) -> Any:
    return ev.type_of(value)


def _vars(ev: Machine, value: Any) -> Any:
    return ev.attribute(value, "__dict__")


def _int(_: Machine, value: Any = 0, base: Any = _MISSING) -> Any:
    if type(value) is str and len(value) > MAX_BITS // 4:
        raise CannotFollow("`int` of a huge text")
    if isinstance(value, Silent) and base is _MISSING:
        return value  # what nothing may depend on is that as a number too
    _plain(value, "int")
    if type(value) is NumpyInt and base is _MISSING:
        return int.__int__(value)
    return int(value) if base is _MISSING else int(value, base)


def _float(_: Machine, value: Any = 0.0) -> float:
    _plain(value, "float")
    return float(value)


def _plain(value: Any, name: str) -> None:
    if isinstance(value, Silent | Instance | Record | NamedTuple):
        raise CannotFollow(f"`{name}` of {describe(value)}")


def _str(ev: Machine, value: Any = "") -> Any:
    if isinstance(value, Silent):
        return value
    return to_text(value, ev.budget)


def _repr(ev: Machine, value: Any) -> str:
    return repr(value) if type(value) is str else to_text(value, ev.budget)


def _bool(_: Machine, value: Any = False) -> bool:
    return truth(value)


def _list(ev: Machine, values: Any = ()) -> list[Any]:
    return list(ev.items(values))


def _tuple(ev: Machine, values: Any = ()) -> tuple[Any, ...]:
    return tuple(ev.items(values))


def _set(ev: Machine, values: Any = ()) -> set[Any]:
    measure(values)
    return set(ev.items(values))


def _frozenset(ev: Machine, values: Any = ()) -> frozenset[Any]:
    return frozenset(_set(ev, values))


def _dict(ev: Machine, values: Any = (), **named: Any) -> dict[Any, Any]:
    ev.budget.charge(len(named))
    return dict(values if isinstance(values, dict) else [tuple(ev.items(v)) for v in ev.items(values)], **named)


def _pow(ev: Machine, base: Any, exponent: Any, modulus: Any = None) -> Any:
    return ev.operate(ast.Pow, base, exponent) if modulus is None else pow(base, exponent, modulus)


def _getattr(ev: Machine, value: Any, name: str, default: Any = _MISSING) -> Any:
    if default is not _MISSING and not ev.has_attribute(value, name):
        return default
    return ev.attribute(value, name)


def _hasattr(ev: Machine, value: Any, name: str) -> bool:
    return ev.has_attribute(value, name)


def _setattr(ev: Machine, value: Any, name: str, new: Any) -> None:
    ev.set_attribute(value, name, new)


def _callable(_: Machine, value: Any) -> bool:
    return isinstance(value, FunctionValue | HostFunction | BoundMethod | ClassValue | TypeValue | RecordType)


def _format(ev: Machine, value: Any, spec: str = "") -> str:
    return format_value(value, spec, ev.budget)


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _unmade(*_: Any) -> Any:
    raise CannotFollow("bytes and complex numbers")


TYPES: dict[str, TypeValue] = {
    name: TypeValue(name, host, construct)
    for name, host, construct in (
        ("int", int, _int),
        ("float", float, _float),
        ("str", str, _str),
        ("bool", bool, _bool),
        ("list", list, _list),
        ("tuple", tuple, _tuple),
        ("dict", dict, _dict),
        ("set", set, _set),
        ("frozenset", frozenset, _frozenset),
        ("range", range, _range),
        ("bytes", bytes, _unmade),
        ("complex", complex, _unmade),
    )
}

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "len": _len,
    "min": _extreme(min),
    "max": _extreme(max),
    "sum": _sum,
    "any": _any,
    "all": _all,
    "sorted": _sorted,
    "reversed": reversed_,
    "enumerate": enumerate_,
    "zip": zip_,
    "map": map_,
    "filter": filter_,
    "isinstance": _isinstance,
    "type": _type,
    "vars": _vars,
    "pow": _pow,
    "repr": _repr,
    "format": _format,
    "iter": iter_,
    "next": next_,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "setattr": _setattr,
    "callable": _callable,
    "print": _nothing,
    "open": open_,
    "issubclass": _issubclass,
}
_PURE: tuple[Callable[..., Any], ...] = (abs, divmod, round, chr, ord, bin, hex)

BUILTINS: dict[str, Any] = {
    **TYPES,
    **{e.__name__: ExceptionType(e) for e in EXCEPTIONS},
    **{name: HostFunction(name, function) for name, function in _FUNCTIONS.items()},
    **{function.__name__: HostFunction(function.__name__, function, pure=True) for function in _PURE},
    "slice": HostFunction("slice", slice, pure=True),
    "object": ClassValue("object"),
}
