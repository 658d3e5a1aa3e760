"""The library modules a plugin may import: random numbers, mathematics, copies, and ATK's own classes."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from opscan.pyread.atk_generator import BASE_GENERATOR
from opscan.pyread.classes import DATACLASSES, ENUM, NAMED_TUPLE, Auto, named_tuple
from opscan.pyread.files import CSV, JSON, OS_PATH, PATHLIB, YAML, operating_system
from opscan.pyread.iteration import ITERTOOLS, functions
from opscan.pyread.library import TYPES
from opscan.pyread.mathematics import MATH, NUMPY
from opscan.pyread.methods import COUNTED
from opscan.pyread.randomness import numpy_random, random_function
from opscan.pyread.records import RECORD_TYPES
from opscan.pyread.stops import CannotFollow
from opscan.pyread.values import (
    HINT,
    ContextValue,
    DefaultDict,
    FunctionValue,
    HostFunction,
    Instance,
    ModuleValue,
    Poison,
    RandomSource,
    Record,
    Silent,
    TypeValue,
    deep_copy,
    measure,
)

if TYPE_CHECKING:
    from opscan.pyread.machine import Machine


def import_module(ev: Machine, path: str) -> Any:
    """What `import path` binds; modules that are not followed stop the plugin where they are used."""
    if path not in ev.modules:
        module = _load(ev, path)
        ev.modules[path] = ev.neighbour(path) or module if isinstance(module, Poison) else module
    return ev.modules[path]


def import_name(ev: Machine, path: str, name: str) -> Any:
    """What `from path import name` binds."""
    if path.split(".", maxsplit=1)[0] == "atk":
        return _atk_name(ev, name)
    module = import_module(ev, path)
    if isinstance(module, Silent):
        return module
    if isinstance(module, Poison):
        return Poison(f"{path}.{name}") if module.construct == path else module
    try:
        return module_attribute(module, name)
    except CannotFollow as stop:
        return ev.neighbour(f"{path}.{name}") or Poison(stop.construct)


def import_all(ev: Machine, path: str) -> dict[str, Any]:
    """What `from path import *` binds: of `atk` the names that plugins use, of a module beside the plugin its own."""
    if path.split(".", maxsplit=1)[0] != "atk":
        module = ev.neighbour(path)
        names = module.names if isinstance(module, ModuleValue) else {}
        return {name: value for name, value in names.items() if not name.startswith(("_", "<"))}
    return {name: _atk_name(ev, name) for name in ("GENERATOR_REGISTRY", "CaseGenerator", *RECORD_TYPES)}


def module_attribute(module: ModuleValue | RandomSource, name: str) -> Any:
    """`module.name`. Raises CannotFollow where it is not followed."""
    if isinstance(module, RandomSource):
        return random_function(module, name)
    found = module.names.get(name)
    if found is None and not (module.file and name in module.names):
        raise CannotFollow(f"`{module.name}.{name}`")
    if isinstance(found, Poison) and module.file:
        place = f"{module.file}:{found.line}" if found.line else module.file
        return Poison(f"{found.stop().construct} in {place}")
    return found


_SILENT = frozenset({"logging", "warnings", "loguru", "__future__", "gc", "traceback"})
_HINTS = frozenset({"typing", "typing_extensions", "collections.abc", "abc"})
_CAST = HostFunction("cast", lambda _, value: value, pure=True)


class _Hints(dict[str, Any]):
    """The names of a module that describes types: nothing may depend on what is not listed."""

    def get(self, name: str, _: Any = None) -> Any:
        return self[name] if name in self else Silent(HINT)


def _load(ev: Machine, path: str) -> Any:
    shared = RandomSource(ev.rng, shared=True)
    if path == "random":
        return shared
    if path in _SILENT:
        return Silent()
    if path in _HINTS:
        known = {"TYPE_CHECKING": False, "NamedTuple": NAMED_TUPLE, "cast": _CAST, "abstractmethod": _UNCHANGED}
        return ModuleValue(path, _Hints(known))
    if path == "os":
        return operating_system(ev)
    if path == "sys":
        return ModuleValue(path, {"path": ev.search, "maxsize": (1 << 63) - 1, "platform": "linux"})
    if path == "numpy":
        return ModuleValue(path, {**NUMPY, "random": numpy_random(shared)})
    if path == "numpy.random":
        return numpy_random(shared)
    return ModuleValue(path, _MODULES[path]) if path in _MODULES else Poison(path)


def _atk_name(ev: Machine, name: str) -> Any:
    """A name imported from the package `atk`: base classes, records, the registry; loggers are silent."""
    if name == "GENERATOR_REGISTRY":
        return ModuleValue(name, {"register": HostFunction("register", ev.register, pure=True)})
    if name in RECORD_TYPES:
        return RECORD_TYPES[name]
    if name.endswith("Generator"):
        return BASE_GENERATOR
    return Silent() if "log" in name.lower() else Poison(f"atk's {name}")


# -- copies, iteration, text -------------------------------------------------------------------------------------------


def _copy(ev: Machine, value: Any) -> Any:
    if isinstance(value, Record):
        return Record(value.kind, dict(value.fields))
    if isinstance(value, Instance):
        return Instance(value.cls, dict(value.attributes))
    if type(value) in {list, dict, DefaultDict, set}:
        ev.budget.charge(len(value))
        return value.copy()
    return value


def _deepcopy(ev: Machine, value: Any) -> Any:
    ev.budget.left -= measure(value)
    return deep_copy(value)


def _dumps(ev: Machine, value: Any, **named: Any) -> str:
    ev.budget.left -= measure(value) >> 2
    known = {k: v for k, v in named.items() if k in {"ensure_ascii", "separators", "sort_keys", "indent"}}
    if len(known) < len(named) - ("default" in named):
        raise CannotFollow("`json.dumps` with these arguments")
    try:
        return json.dumps(value, **known)
    except TypeError:
        raise CannotFollow("`json.dumps` of an object") from None


def _reduce(ev: Machine, function: Any, values: Any, *initial: Any) -> Any:
    rest = [*initial, *ev.items(values)]
    total = rest[0]
    for value in rest[1:]:
        total = ev.call(function, [total, value])
    return total


def _cached(*args: Any, **_: Any) -> Any:
    """`functools.lru_cache`, bare or with arguments: the results of the plugin's function by its arguments."""
    if not args or type(args[0]) is int or args[0] is None:
        return HostFunction("lru_cache", _cached, pure=True)
    function, results = args[0], {}

    def call(ev: Machine, *arguments: Any) -> Any:
        measure(arguments)
        if arguments not in results:
            results[arguments] = ev.call(function, list(arguments))
        return results[arguments]

    return HostFunction("cached function", call, method=True, keeps=True)


def _context_manager(_: Machine, function: Any) -> HostFunction:
    """`contextlib.contextmanager`."""
    if not isinstance(function, FunctionValue) or not function.suspends:
        raise CannotFollow("`contextmanager` of anything but a function that yields")

    def call(ev: Machine, *args: Any, **named: Any) -> ContextValue:
        return ContextValue(ev.call(function, list(args), named))

    return HostFunction(function.name, call, method=True)


def _clock() -> Silent:
    return Silent("`time.time`")


_UNCHANGED = HostFunction("wraps", lambda function: function, pure=True)


def _partial(_: Machine, function: Any, *given: Any, **kept: Any) -> HostFunction:
    def call(ev: Machine, *args: Any, **named: Any) -> Any:
        return ev.call(function, [*given, *args], {**kept, **named})

    return HostFunction("partial", call)


def _default_dict(_: Machine, factory: Any = None, *items: Any) -> DefaultDict:
    if any(type(given) is not dict for given in items):
        raise CannotFollow("a `defaultdict` made of anything but a dict")
    return DefaultDict(factory, *items)


def _counter(ev: Machine, values: Any = ()) -> DefaultDict:
    if isinstance(values, dict):
        raise CannotFollow("a `Counter` made of a dict")
    counted = DefaultDict(COUNTED)
    for value in ev.items(values):
        measure(value)
        counted[value] = counted.get(value, 0) + 1
    return counted


_MODULES: dict[str, Mapping[str, Any]] = {
    "math": MATH,
    "copy": functions(copy=_copy, deepcopy=_deepcopy),
    "json": {**functions(dumps=_dumps), **JSON},
    "yaml": YAML,
    "csv": CSV,
    "pathlib": PATHLIB,
    "os.path": OS_PATH,
    "dataclasses": DATACLASSES,
    "enum": {
        "Enum": ENUM,
        "auto": HostFunction("auto", Auto, pure=True),
        "unique": HostFunction("unique", lambda cls: cls, pure=True),
    },
    "time": {
        "sleep": HostFunction("sleep", lambda *_: None, pure=True),
        **{name: HostFunction(name, _clock, pure=True) for name in ("time", "perf_counter", "monotonic", "time_ns")},
    },
    "contextlib": functions(contextmanager=_context_manager),
    "string": {
        "ascii_lowercase": "abcdefghijklmnopqrstuvwxyz",
        "ascii_uppercase": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "digits": "0123456789",
    },
    "functools": {
        **functions(reduce=_reduce, partial=_partial),
        "wraps": HostFunction("wraps", lambda *_, **__: _UNCHANGED, pure=True),
        "lru_cache": HostFunction("lru_cache", _cached, pure=True),
        "cache": HostFunction("cache", _cached, pure=True),
    },
    "itertools": ITERTOOLS,
    "collections": {
        "OrderedDict": TYPES["dict"],
        "defaultdict": TypeValue("defaultdict", DefaultDict, _default_dict),
        "namedtuple": HostFunction("namedtuple", named_tuple),
        "Counter": TypeValue("Counter", DefaultDict, _counter),
    },
    "operator": functions(
        mul=lambda ev, a, b: ev.operate(ast.Mult, a, b), add=lambda ev, a, b: ev.operate(ast.Add, a, b)
    ),
}
