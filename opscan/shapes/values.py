"""The values an interpreted plugin works on, besides Python's own numbers, strings, lists, dicts, tuples and sets.

No host object is ever handed to the plugin: each kind here has its own attributes, listed in one place.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from opscan.dataclass import dataclass
from opscan.shapes.stops import CannotFollow


class Record:
    """A configuration object of ATK with fields: a `case`, an `input`, a `standard` or the `design`."""

    __slots__ = ("fields", "kind")

    def __init__(self, kind: str, fields: dict[str, Any]) -> None:
        self.kind = kind
        self.fields = fields

    def __repr__(self) -> str:
        return f"<{self.kind}>"

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Record) and self.fields == other.fields)

    def __hash__(self) -> int:
        return id(self)


@dataclass(eq=False)
class RecordType:
    """ATK's class of a record (`InputCaseConfig`): callable, and good for `isinstance`."""

    kind: str
    build: Callable[..., Record]

    def __repr__(self) -> str:
        return f"<class {self.kind}>"


@dataclass(eq=False, repr=False)
class TypeValue:
    """A built-in type such as `list`."""

    name: str
    host: type
    construct: Callable[..., Any]


@dataclass(eq=False, repr=False)
class HostFunction:
    """A function of ours that stands for a built-in or a library function.

    It is called with the machine first, for the limits, unless it is `pure`.
    """

    name: str
    call: Callable[..., Any]
    pure: bool = False
    method: bool = False


@dataclass(eq=False, repr=False)
class FunctionValue:
    """A function or lambda of the plugin with the scope it closes over."""

    node: Any
    scope: Any
    defaults: list[Any]
    kw_defaults: dict[str, Any]
    owner: ClassValue | None = None
    binding: str = "instance"
    """instance, static, class or property."""

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "lambda")


@dataclass(eq=False, repr=False)
class ClassValue:
    """A class of the plugin, or ATK's generator base class."""

    name: str
    bases: tuple[ClassValue, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    exception: type[Exception] | None = None

    def has(self, name: str) -> bool:
        return name in self.attributes or any(base.has(name) for base in self.bases)

    def find(self, name: str) -> Any:
        """The attribute, own or inherited, None where there is none."""
        if name in self.attributes:
            return self.attributes[name]
        return next((base.find(name) for base in self.bases if base.has(name)), None)

    def derives_from(self, other: ClassValue) -> bool:
        return self is other or any(base.derives_from(other) for base in self.bases)


@dataclass(eq=False, repr=False)
class Instance:
    """An object of a plugin's class."""

    cls: ClassValue
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, repr=False)
class BoundMethod:
    function: Any
    receiver: Any


@dataclass(eq=False, repr=False)
class NativeMethod:
    """A whitelisted method of a list, dict, string ..."""

    receiver: Any
    name: str


@dataclass(eq=False, repr=False)
class SuperValue:
    owner: ClassValue
    instance: Any


@dataclass(eq=False, repr=False)
class ModuleValue:
    """A library module of which some names are known."""

    name: str
    names: Mapping[str, Any]


@dataclass(eq=False, repr=False)
class RandomSource:
    """`random`, or a `random.Random(seed)` of the plugin's own."""

    rng: random.Random
    shared: bool = False


class Silent:
    """A logger, or another value that nothing may depend on: every attribute and call of it does nothing."""

    def __init__(self, what: str = "a logger") -> None:
        self.what = what


@dataclass(eq=False, repr=False)
class Poison:
    """A name that is bound to something not followed; using it stops with this reason."""

    construct: str
    line: int = 0
    column: int = 0

    def stop(self, attribute: str = "") -> CannotFollow:
        construct = f"`{self.construct}.{attribute}`" if attribute and "`" not in self.construct else self.construct
        if "`" not in construct:
            construct = f"`{construct}`"
        return CannotFollow(construct, self.line, self.column)


@dataclass(eq=False, repr=False)
class ExceptionType:
    host: type[Exception]


@dataclass(eq=False)
class ExceptionValue:
    """An exception the plugin raises; `kind` is the built-in it is, or derives from."""

    kind: type[Exception]
    args: tuple[Any, ...] = ()
    name: str = ""

    def __repr__(self) -> str:
        text = ", ".join(str(a)[:80] for a in self.args)
        return f"{self.name or self.kind.__name__}: {text}" if text else self.name or self.kind.__name__


_NODES = 20_000


def measure(value: Any) -> int:
    """The number of nested items of a container, counting shared ones each time, as comparing or printing would.

    Raises CannotFollow above 20,000 (also where a container holds itself).
    """
    kind = type(value)
    if kind not in _CONTAINERS:
        return 1
    count, stack = 0, [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        count += 1
        if kind is dict:
            stack.extend(item.keys())
            stack.extend(item.values())
        elif kind in _CONTAINERS:
            stack.extend(item)
        elif kind is Record:
            stack.extend(item.fields.values())
        elif kind is str:
            count += len(item) >> 6
        if count + len(stack) > _NODES:
            raise CannotFollow("a container that is nested too deep")
    return count


_CONTAINERS = frozenset({list, tuple, dict, set, frozenset})


def deep_copy(value: Any, memo: dict[int, Any] | None = None) -> Any:
    """`copy.deepcopy` for the values above; shared parts stay shared."""
    memo = {} if memo is None else memo
    kind = type(value)
    if kind not in _CONTAINERS and kind not in {Record, Instance}:
        return value
    if id(value) in memo:
        return memo[id(value)]
    if kind is list:
        copied: Any = []
        memo[id(value)] = copied
        copied.extend(deep_copy(v, memo) for v in value)
    elif kind is dict:
        copied = {}
        memo[id(value)] = copied
        copied.update((deep_copy(k, memo), deep_copy(v, memo)) for k, v in value.items())
    elif kind is Record:
        copied = Record(value.kind, {})
        memo[id(value)] = copied
        copied.fields.update((k, deep_copy(v, memo)) for k, v in value.fields.items())
    elif kind is Instance:
        copied = Instance(value.cls)
        memo[id(value)] = copied
        copied.attributes.update((k, deep_copy(v, memo)) for k, v in value.attributes.items())
    else:
        copied = kind(deep_copy(v, memo) for v in value)
        memo[id(value)] = copied
    return copied
