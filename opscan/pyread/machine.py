"""What a followed plugin can do with values: reach their attributes, call them, iterate over them.

Every attribute is one of a list, every call is guarded, and every loop is paid for from the budget.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from opscan.pyread.classes import NAMED_TUPLE, make_named_tuple, member_of
from opscan.pyread.files import Environment, FileValue, PathValue, file_attribute, path_attribute
from opscan.pyread.library import BUILTINS, TYPES
from opscan.pyread.methods import METHODS, call_method
from opscan.pyread.modules import module_attribute
from opscan.pyread.operations import binary, describe
from opscan.pyread.records import RECORD_TYPES, record_attribute, record_method, set_record_attribute, type_attribute
from opscan.pyread.stops import Budget, CannotFollow, PluginRaise
from opscan.pyread.values import (
    VIEWS,
    BoundMethod,
    ClassValue,
    DefaultDict,
    ExceptionType,
    ExceptionValue,
    FunctionValue,
    HostFunction,
    Instance,
    ModuleValue,
    NamedTuple,
    NativeMethod,
    Poison,
    RandomSource,
    Record,
    RecordType,
    Silent,
    SuperValue,
    TypeValue,
    measure,
)

_GENERATOR = type(_ for _ in ())
_ITERABLE = frozenset({list, tuple, NamedTuple, range, str, dict, DefaultDict, *VIEWS})
_UNBOUND = re.compile(r"positional argument|unexpected keyword argument|missing \d+ required|multiple values for")
"""What Python says of arguments that one of its functions, here one of ours, does not take."""
ERRORS = (ArithmeticError, LookupError, TypeError, ValueError, StopIteration, AttributeError)
"""What Python raises for values that do not fit an operation."""


class Machine:
    """The state of one followed plugin.

    `drew` tells whether the plugin has drawn a random number, `registered` holds its generator classes by name,
    `drawn` gives the cases that ATK draws, of which there are `case_numbers`, and `at` is the piece of syntax that is
    being followed.
    """

    def __init__(self, rng: random.Random) -> None:
        self.budget = Budget()
        self.rng = rng
        self.drew = False
        self.modules: dict[str, Any] = {}
        self.registered: dict[str, ClassValue] = {}
        self.drawn: Iterator[Record] = iter(())
        self.case_numbers = 0
        self.at: ast.AST | None = None
        self.file = ""
        """The plugin's own, from the root on; empty where it lies nowhere."""
        self.read: set[Path] = set()
        """Files other than the plugin that have been read, or looked for."""
        self.environment = Environment()
        self.searched: frozenset[str] = frozenset()
        """The folders in which modules are looked for, whatever the plugin adds to them."""
        self.search: list[Any] = []
        """`sys.path`, as far as the plugin is concerned."""

    @property
    def line(self) -> int:
        return getattr(self.at, "lineno", 0)

    # -- attributes ----------------------------------------------------------------------------------------------------

    def attribute(self, value: Any, name: str) -> Any:
        """`value.name` for the values that have attributes here; anything else raises CannotFollow."""
        if _hidden(name):
            return self._hidden_attribute(value, name)
        reader = _READERS.get(type(value))
        if reader is not None:
            return reader(self, value, name)
        if name in METHODS.get(type(value), ()):
            return NativeMethod(value, name)
        raise CannotFollow(f"`.{name}` of {describe(value)}")

    def _hidden_attribute(self, value: Any, name: str) -> Any:
        """`.__class__`, `.__name__` and `.__dict__`, where they mean what they say."""
        if name == "__class__" and isinstance(value, Instance | Record | ExceptionValue):
            return self.type_of(value)
        if name == "__name__" and isinstance(value, ClassValue | FunctionValue | TypeValue):
            return value.name
        if name == "__name__" and isinstance(value, RecordType):
            return type_attribute(value, name)
        if name == "__name__" and isinstance(value, ExceptionType):
            return value.host.__name__
        if name == "__dict__" and isinstance(value, Instance):
            return value.attributes
        if name == "__dict__" and isinstance(value, Record):
            return value.fields
        raise CannotFollow(f"`.{name}`")

    def type_of(self, value: Any) -> Any:
        """`type(value)`."""
        if isinstance(value, Instance | NamedTuple):
            return value.cls
        if isinstance(value, Record) and value.kind in RECORD_TYPES:
            return RECORD_TYPES[value.kind]
        if isinstance(value, ExceptionValue):
            return value.cls or BUILTINS.get(value.kind.__name__)
        found = next((kind for kind in TYPES.values() if kind.host is type(value)), None)
        if found is None:
            raise CannotFollow(f"`type` of {describe(value)}")
        return found

    def has_attribute(self, value: Any, name: str) -> bool:
        """`hasattr(value, name)`."""
        if type(name) is not str or _hidden(name):
            raise CannotFollow("an attribute whose name is hidden or no text")
        if isinstance(value, Record):
            return name in value.fields or record_method(value, name) is not None
        if isinstance(value, Instance):
            return name in value.attributes or value.cls.has(name)
        if isinstance(value, NamedTuple):
            return name in (value.cls.fields or ()) or value.cls.has(name)
        return name in METHODS.get(type(value), ())

    def set_attribute(self, value: Any, name: str, new: Any) -> None:
        """`value.name = new`."""
        if type(name) is not str or _hidden(name):
            raise CannotFollow("assigning an attribute whose name is hidden or no text")
        if isinstance(value, Record):
            set_record_attribute(value, name, new)
        elif isinstance(value, Instance | ClassValue | ExceptionValue):
            found = value.cls.find(name) if isinstance(value, Instance) else None
            if isinstance(value, Instance) and (value.cls.frozen or value.cls.members is not None):
                raise PluginRaise(ExceptionValue(AttributeError, (f"cannot assign to field {name!r}",)), self.line)
            if isinstance(found, FunctionValue | HostFunction) and _is_property(found):
                raise CannotFollow(f"assigning the property `{name}`")
            value.attributes[name] = new
        elif not isinstance(value, Silent):
            raise CannotFollow(f"assigning `.{name}` of {describe(value)}")

    def _of_record(self, value: Record, name: str) -> Any:
        return record_attribute(value, name)

    def _of_record_type(self, value: RecordType, name: str) -> Any:
        return type_attribute(value, name)

    def _of_instance(self, value: Instance, name: str) -> Any:
        if name in value.attributes:
            return value.attributes[name]
        if not value.cls.has(name):
            raise CannotFollow(f"`.{name}` of a `{value.cls.name}`")
        return self.bind(value.cls.find(name), value)

    def _of_class(self, value: ClassValue, name: str) -> Any:
        if not value.has(name):
            raise CannotFollow(f"`{value.name}.{name}`")
        found = value.find(name)
        if isinstance(found, Poison):
            raise found.stop()
        return BoundMethod(found, value) if isinstance(found, FunctionValue) and found.binding == "class" else found

    def _of_super(self, value: SuperValue, name: str) -> Any:
        receiver = value.instance
        order = receiver if isinstance(receiver, ClassValue) else getattr(receiver, "cls", None)
        if isinstance(order, ClassValue) and order.derives_from(value.owner):
            behind = order.order[order.order.index(value.owner) + 1 :]
            if any(name in cls.attributes for cls in behind):
                return self.bind(order.find(name, value.owner), receiver)
            if isinstance(receiver, ExceptionValue) and name == "__init__":
                return HostFunction(name, lambda *args: setattr(receiver, "args", args), pure=True)
            if name == "__init__":
                return HostFunction(name, lambda: None, pure=True)
        raise CannotFollow(f"`super().{name}`")

    def _of_named_tuple(self, value: NamedTuple, name: str) -> Any:
        fields = list(value.cls.fields or ())
        if name in fields:
            return value[fields.index(name)]
        if name == "_asdict":
            return HostFunction(name, lambda: dict(zip(fields, value, strict=True)), pure=True)
        if name == "_replace":
            old = dict(zip(fields, value, strict=True))
            return HostFunction(name, lambda **new: make_named_tuple(value.cls, [], {**old, **new}), pure=True)
        if name in METHODS[tuple]:
            return NativeMethod(tuple(value), name)
        return self.bind(value.cls.find(name), value) if value.cls.has(name) else self._refuse(value, name)

    def _refuse(self, value: Any, name: str) -> Any:
        raise CannotFollow(f"`.{name}` of {describe(value)}")

    def _of_module(self, value: ModuleValue | RandomSource, name: str) -> Any:
        found = module_attribute(value, name)
        if isinstance(found, Poison):
            raise found.stop()
        return found

    def _of_silent(self, value: Silent, _: str) -> Silent:
        return value

    def _of_type(self, value: TypeValue, name: str) -> Any:
        if value.host is not dict or name != "fromkeys":
            raise CannotFollow(f"`{value.name}.{name}`")
        return HostFunction(name, lambda ev, keys, item=None: dict.fromkeys(ev.items(keys), item))

    def _of_exception(self, value: ExceptionValue, name: str) -> Any:
        if name == "args":
            return value.args
        if name in value.attributes:
            return value.attributes[name]
        if value.cls is not None and value.cls.has(name):
            return self.bind(value.cls.find(name), value)
        raise CannotFollow(f"`.{name}` of an exception")

    def bind(self, found: Any, receiver: Any) -> Any:
        """What an attribute of a class gives for an instance: a method bound to it, a property's value ..."""
        if isinstance(found, Poison):
            raise found.stop()
        if isinstance(found, HostFunction) and found.method:
            return self.call(found, [receiver]) if found.property else BoundMethod(found, receiver)
        if not isinstance(found, FunctionValue) or found.binding == "static":
            return found
        if found.binding == "property":
            return self.call(found, [receiver])
        return BoundMethod(found, receiver.cls if found.binding == "class" else receiver)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def call(self, function: Any, args: list[Any], named: dict[str, Any] | None = None) -> Any:
        """Calls a function of the plugin or of the library."""
        named = named or {}
        if isinstance(function, BoundMethod):
            return self.call(function.function, [function.receiver, *args], named)
        if isinstance(function, FunctionValue):
            return self.call_function(function, args, named)
        if isinstance(function, HostFunction):
            return self.guard(function.call, *([] if function.pure else [self]), *args, **named)
        if isinstance(function, NativeMethod):
            return self.guard(call_method, self, function.receiver, function.name, args, named)
        if isinstance(function, TypeValue):
            return self.guard(function.construct, self, *args, **named)
        if isinstance(function, RecordType):
            return self.guard(function.build, *args, **named)
        if isinstance(function, ClassValue):
            return self._instantiate(function, args, named)
        if isinstance(function, ExceptionType):
            return ExceptionValue(function.host, tuple(args))
        if isinstance(function, Silent):
            return function
        if isinstance(function, Instance) and function.cls.has("__call__"):
            return self.call(self.bind(function.cls.find("__call__"), function), args, named)
        raise CannotFollow(f"a call of {describe(function)}")

    def call_function(self, function: FunctionValue, args: list[Any], named: dict[str, Any]) -> Any:
        """Calls a function of the plugin."""
        raise NotImplementedError

    def _instantiate(self, cls: ClassValue, args: list[Any], named: dict[str, Any]) -> Any:
        if cls.members is not None:
            return self.guard(member_of, cls, args)
        if cls.derives_from(NAMED_TUPLE):
            return self.guard(make_named_tuple, cls, args, named)
        instance: Instance | ExceptionValue = Instance(cls)
        if cls.exception is not None:
            instance = ExceptionValue(cls.exception, tuple(args), cls)
        if cls.has("__init__"):
            self.call(self.bind(cls.find("__init__"), instance), args, named)
        elif cls.exception is None and (args or named):
            raise PluginRaise(ExceptionValue(TypeError, (f"{cls.name}() takes no arguments",)), self.line)
        return instance

    def neighbour(self, path: str) -> Any:
        """The module of that name that lies beside the plugin, None where there is none."""
        raise NotImplementedError

    def register(self, name: str = "", **_: Any) -> HostFunction:
        """`GENERATOR_REGISTRY.register(name)`, a decorator of classes."""

        def decorate(cls: Any) -> Any:
            if isinstance(cls, ClassValue):
                self.registered[name] = cls
            return cls

        return HostFunction("register", decorate, pure=True)

    def guard(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Calls `function` of ours; what it raises for the plugin's values is an exception of the plugin.

        Arguments that it does not take are no mistake of the plugin, for the function it stands for may take them.
        """
        try:
            return function(*args, **named)
        except ERRORS as error:
            if isinstance(error, TypeError) and _UNBOUND.search(str(error)):
                raise CannotFollow("a call with these arguments") from None
            known = next((k for k in type(error).__mro__ if k.__name__ in BUILTINS), Exception)
            raise PluginRaise(ExceptionValue(known, (str(error)[:200],)), self.line) from None

    # -- what the library functions need -------------------------------------------------------------------------------

    def items(self, value: Any) -> list[Any]:
        """The items of an iterable as a list (the list itself, where it is one); sets in a fixed order."""
        kind = type(value)
        if kind is list:
            return value  # type: ignore[no-any-return]
        if kind in {set, frozenset}:
            return self._of_set(value)
        if kind is _GENERATOR:
            return self.collect(value)
        if kind is ClassValue and value.members is not None:
            return list(value.members)
        if kind is FileValue:
            return list(value.stream.readlines())
        if kind not in _ITERABLE:
            raise CannotFollow(f"iterating over {describe(value)}")
        self.budget.charge(len(value))
        return list(value)

    def _of_set(self, values: Any) -> list[Any]:
        """The items of a set in one of the orders they can have: Python's own depends on how the set came about."""
        measure(values)
        self.drew = self.drew or len(values) > 1
        return sorted(values, key=lambda v: (type(v).__name__, repr(v)))

    def collect(self, values: Any) -> list[Any]:
        """All items of a generator."""
        collected = []
        for value in values:
            collected.append(value)
            self.budget.left -= 1
            if self.budget.left < 0:
                raise self.budget.exhausted()
        self.budget.charge(len(collected))
        return collected

    def iterate(self, value: Any) -> Any:
        """Something to loop over once, item by item; a generator and a range are not expanded."""
        return value if type(value) in {_GENERATOR, range, list} else self.items(value)

    def callback(self, function: Any) -> Callable[[Any], Any]:
        """A function of one argument for a `key=` of ours."""
        return lambda value: self.call(function, [value])

    def sort(self, values: list[Any], key: Any = None, reverse: Any = False) -> list[Any]:
        """The values sorted, as a new list."""
        self.budget.charge(len(values))
        if key is None:
            for value in values:
                measure(value)
            return sorted(values, reverse=bool(reverse))
        return sorted(values, key=self.callback(key), reverse=bool(reverse))

    def operate(self, kind: type[ast.AST], left: Any, right: Any) -> Any:
        """`left <operator> right`, unguarded."""
        return binary(kind, left, right, self.budget)


_READERS: dict[type, Callable[[Machine, Any, str], Any]] = {
    Record: Machine._of_record,
    RecordType: Machine._of_record_type,
    Instance: Machine._of_instance,
    ClassValue: Machine._of_class,
    SuperValue: Machine._of_super,
    ModuleValue: Machine._of_module,
    RandomSource: Machine._of_module,
    Silent: Machine._of_silent,
    TypeValue: Machine._of_type,
    NamedTuple: Machine._of_named_tuple,
    PathValue: lambda _, value, name: path_attribute(value, name),
    FileValue: lambda _, value, name: file_attribute(value, name),
    ExceptionValue: Machine._of_exception,
}


def _hidden(name: str) -> bool:
    """Whether Python itself gives the attribute its meaning (`__class__`)."""
    return name.startswith("__") and name.endswith("__") and name not in {"__init__", "__call__"}


def _is_property(found: FunctionValue | HostFunction) -> bool:
    return found.property if isinstance(found, HostFunction) else found.binding == "property"
