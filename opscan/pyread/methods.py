"""The methods of lists, dicts, strings, sets and numbers that a plugin may call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opscan.pyread.files import Environment
from opscan.pyread.operations import describe, format_text
from opscan.pyread.stops import CannotFollow
from opscan.pyread.values import VIEWS, DefaultDict, NumpyInt, measure

if TYPE_CHECKING:
    from opscan.pyread.machine import Machine


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SET_METHODS = _words(
    "add discard remove pop union intersection difference symmetric_difference issubset issuperset isdisjoint update "
    "difference_update intersection_update copy clear"
)

_DICT_METHODS = _words("get items keys values pop popitem setdefault update copy clear")

METHODS: dict[type, frozenset[str]] = {
    list: _words("append extend insert pop remove clear copy index count reverse sort"),
    tuple: _words("index count"),
    dict: _DICT_METHODS,
    Environment: _words("get update"),
    DefaultDict: _DICT_METHODS | {"most_common", "elements"},
    **dict.fromkeys(VIEWS, _words("isdisjoint")),
    NumpyInt: _words("item"),
    set: _SET_METHODS,
    frozenset: _SET_METHODS - _words("add discard remove pop update clear"),
    str: _words(
        "lower upper strip lstrip rstrip split rsplit join startswith endswith replace count find rfind index title "
        "capitalize isdigit isalpha isalnum isupper islower removeprefix removesuffix partition rpartition zfill ljust "
        "rjust center splitlines swapcase casefold format"
    ),
    int: _words("bit_length"),
    float: _words("is_integer"),
    range: _words("index count"),
}

_TAKES_CONTAINERS = _words(
    "extend update union symmetric_difference difference intersection issubset issuperset isdisjoint "
    "difference_update intersection_update"
)


def call_method(ev: Machine, receiver: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    """`receiver.name(*args, **named)` for a whitelisted method of a plain value."""
    kind = type(receiver)
    if name not in METHODS.get(kind, ()):
        raise CannotFollow(f"`.{name}()` of {describe(receiver)}")
    if kind in {list, tuple, dict, DefaultDict, set, frozenset, str}:
        ev.budget.charge(len(receiver) if name not in {"append", "get", "add"} else len(receiver) >> 10)
    if kind is str:
        return _call_text(ev, receiver, name, args, named)
    if kind is NumpyInt:
        return int(receiver)
    if name in {"most_common", "elements"}:
        return _count(receiver, name, *args)
    if kind is list and name == "sort":
        receiver[:] = ev.sort(receiver, **named)
        return None
    if name in {"index", "count", "remove"}:
        measure(receiver)
    for arg in args:
        measure(arg)
    if name in _TAKES_CONTAINERS:
        args = [arg if isinstance(arg, dict) else ev.items(arg) for arg in args]
        ev.budget.charge(len(receiver) + sum(len(arg) for arg in args) + len(named))
    if kind in {set, frozenset} and name == "pop":
        first = ev.items(receiver)[0]
        receiver.discard(first)
        return first
    if kind is DefaultDict and name in {"update", "setdefault"} and receiver.factory is COUNTED:
        raise CannotFollow(f"`.{name}()` of a Counter")
    return getattr(receiver, name)(*args, **named)


COUNTED = "Counter"
"""The factory of a Counter."""


def _count(counter: DefaultDict, name: str, most: Any = None) -> Any:
    """The methods of a Counter."""
    if counter.factory is not COUNTED:
        raise AttributeError(f"'collections.defaultdict' object has no attribute '{name}'")
    if name == "elements":
        return [value for value, times in counter.items() for _ in range(times)]
    first = None if most is None else max(most, 0)
    return sorted(counter.items(), key=lambda pair: pair[1], reverse=True)[:first]


def _call_text(ev: Machine, receiver: str, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    if name == "format":
        return format_text(receiver, args, named, ev.budget)
    if name == "join":
        parts = ev.items(args[0])
        ev.budget.charge(sum(len(p) for p in parts) + len(receiver) * len(parts))
        return receiver.join(parts)
    if name == "replace":
        pieces = receiver.count(args[0]) if args[0] else len(receiver) + 1
        ev.budget.charge(len(receiver) + pieces * len(args[1]))
    if name in {"zfill", "ljust", "rjust", "center"}:
        ev.budget.charge(int(args[0]))
    return getattr(receiver, name)(*args, **named)
