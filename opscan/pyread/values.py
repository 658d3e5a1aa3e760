"""The values an interpreted plugin works on, besides Python's own numbers, strings, lists, dicts, tuples and sets.

No host object is ever handed to the plugin: each kind here has its own attributes, listed in one place.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

from opscan.dataclass import dataclass
from opscan.pyread.stops import CannotFollow


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
    property: bool = False
    keeps: bool = False
    """It remembers something from one call to the next."""


class FunctionValue:
    """A function or lambda of the plugin with the scope it closes over. `foreign`: it stands in another file.

    `binding` is instance, static, class or property; `names` are its parameters, but for those only passed by name.
    """

    def __init__(self, node: Any, scope: Any, foreign: bool, defaults: list[Any], kw_defaults: dict[str, Any]) -> None:
        self.node = node
        self.scope = scope
        self.foreign = foreign
        self.defaults = defaults
        self.kw_defaults = kw_defaults
        self.owner: ClassValue | None = None
        self.binding = "instance"
        self.names = tuple(argument.arg for argument in (*node.args.posonlyargs, *node.args.args))

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "lambda")

    @property
    def suspends(self) -> bool:
        """Whether it is a generator function of Python's."""
        found: bool | None = getattr(self.node, "suspends", None)
        if found is None:
            body = [] if isinstance(self.node, ast.Lambda) else self.node.body
            found = self.node.suspends = any(map(holds_yield, body))
        return found


def holds_yield(node: Any) -> bool:
    """Whether a statement yields, functions that it defines left out."""
    if isinstance(node, ast.Yield | ast.YieldFrom):
        return True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return False
    return any(map(holds_yield, ast.iter_child_nodes(node)))


class ClassValue:
    """A class of the plugin, or ATK's generator base class.

    `order` holds the class and all it inherits from, in the order in which attributes are looked for.
    """

    def __init__(
        self,
        name: str,
        bases: tuple[ClassValue, ...] = (),
        attributes: dict[str, Any] | None = None,
        exception: type[BaseException] | None = None,
    ) -> None:
        self.name = name
        self.bases = bases
        self.attributes = {} if attributes is None else attributes
        self.exception = exception
        self.annotated: tuple[str, ...] = ()
        """What the body annotates."""
        self.fields: dict[str, Any] | None = None
        """Fields with their defaults, of a dataclass or a class of named tuples."""
        self.frozen = False
        self.members: list[Instance] | None = None
        """Those of an enumeration."""
        self.order: tuple[ClassValue, ...] = (self, *_merged([list(base.order) for base in bases] + [list(bases)]))

    def has(self, name: str) -> bool:
        return any(name in cls.attributes for cls in self.order)

    def find(self, name: str, after: ClassValue | None = None) -> Any:
        """The attribute, own or inherited, None where there is none; `after`: only of classes behind that one."""
        start = 0 if after is None else self.order.index(after) + 1
        return next((cls.attributes[name] for cls in self.order[start:] if name in cls.attributes), None)

    def derives_from(self, other: ClassValue) -> bool:
        return other in self.order


def _merged(orders: list[list[ClassValue]]) -> list[ClassValue]:
    """Python's C3 order of classes. Raises CannotFollow where there is none: Python raises a TypeError."""
    merged: list[ClassValue] = []
    while orders := [order for order in orders if order]:
        heads = (order[0] for order in orders)
        first = next((head for head in heads if not any(head in order[1:] for order in orders)), None)
        if first is None:
            raise CannotFollow("a class whose bases have no consistent order")
        merged.append(first)
        orders = [order[1:] if order[0] is first else order for order in orders]
    return merged


@dataclass(eq=False, repr=False)
class Instance:
    """An object of a plugin's class; one of a dataclass is equal to another with the same fields."""

    cls: ClassValue
    attributes: dict[str, Any] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        if self is other or self.cls.fields is None or not isinstance(other, Instance) or other.cls is not self.cls:
            return self is other
        return all(self.attributes.get(name) == other.attributes.get(name) for name in self.cls.fields)

    def __hash__(self) -> int:
        if self.cls.fields is None:
            return id(self)
        if not self.cls.frozen:
            raise TypeError(f"unhashable type: '{self.cls.name}'")
        return hash(tuple(self.attributes.get(name) for name in self.cls.fields))


class NamedTuple(tuple[Any, ...]):
    """An object of a class of named tuples."""

    cls: ClassValue

    def __new__(cls, kind: ClassValue, values: Iterable[Any]) -> NamedTuple:
        made = super().__new__(cls, values)
        made.cls = kind
        return made


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
    """A library module of which some names are known, or one that lies beside the plugin in `file`."""

    name: str
    names: Mapping[str, Any]
    file: str = ""


@dataclass(eq=False, repr=False)
class RandomSource:
    """`random`, or a `random.Random(seed)` of the plugin's own."""

    rng: random.Random
    shared: bool = False


@dataclass(eq=False, repr=False)
class ContextValue:
    """What a function decorated with `contextlib.contextmanager` gives: the flow of its statements."""

    flow: Any


class NumpyInt(int):
    """An integer of numpy's: no `int` for `isinstance`, and of 64 bits."""


class DefaultDict(dict[Any, Any]):
    """A `defaultdict` of the plugin, or a `Counter`; the factory is one of the plugin's values."""

    def __init__(self, factory: Any = None, items: Any = ()) -> None:
        super().__init__(items)
        self.factory = factory

    def copy(self) -> DefaultDict:
        return DefaultDict(self.factory, self)


HINT = "a type hint"


class Silent:
    """A logger, or another value that nothing may depend on: every attribute and call of it does nothing."""

    def __init__(self, what: str = "a logger", *, there: bool = True) -> None:
        self.what = what
        self.there = there
        """Whether it is surely not None."""


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
    host: type[BaseException]


@dataclass(eq=False)
class ExceptionValue:
    """An exception the plugin raises; `kind` is the built-in it is, or derives from."""

    kind: type[BaseException]
    args: tuple[Any, ...] = ()
    cls: ClassValue | None = None
    """The plugin's own class, where it is of one."""
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.cls.name if self.cls else self.kind.__name__

    def __repr__(self) -> str:
        text = ", ".join(str(a)[:80] for a in self.args)
        return f"{self.name}: {text}" if text else self.name


_NODES = 20_000


def measure(value: Any) -> int:
    """The number of nested items of a container, counting shared ones each time, as comparing or printing would.

    Raises CannotFollow above 20,000 (also where a container holds itself).
    """
    kind = type(value)
    if kind not in _CONTAINERS and kind is not Instance:
        return 1
    count, stack = 0, [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        count += 1
        if kind is dict or kind is DefaultDict:
            stack.extend(item.keys())
            stack.extend(item.values())
        elif kind in _CONTAINERS:
            stack.extend(item)
        elif kind is Record:
            stack.extend(item.fields.values())
        elif kind is Instance and item.cls.fields is not None:
            stack.extend(item.attributes.values())
        elif kind is str:
            count += len(item) >> 6
        if count + len(stack) > _NODES:
            raise CannotFollow("a container that is nested too deep")
    return count


VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
"""What `keys()`, `values()` and `items()` of a dict give."""
_CONTAINERS = frozenset({list, tuple, NamedTuple, dict, DefaultDict, set, frozenset, *VIEWS})


def deep_copy(value: Any, memo: dict[int, Any] | None = None) -> Any:
    """`copy.deepcopy` for the values above; shared parts stay shared."""
    memo = {} if memo is None else memo
    kind = type(value)
    if (kind not in _CONTAINERS and kind not in {Record, Instance}) or kind in VIEWS:
        return value
    if id(value) in memo:
        return memo[id(value)]
    if kind is DefaultDict:
        copied: Any = DefaultDict(value.factory)
        memo[id(value)] = copied
        copied.update((deep_copy(k, memo), deep_copy(v, memo)) for k, v in value.items())
    elif kind is list:
        copied = []
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
    elif kind is NamedTuple:
        copied = NamedTuple(value.cls, [deep_copy(v, memo) for v in value])
        memo[id(value)] = copied
    else:
        copied = kind(deep_copy(v, memo) for v in value)
        memo[id(value)] = copied
    return copied
