"""The library modules a plugin may import: random numbers, mathematics, copies, and ATK's own classes."""

from __future__ import annotations

import ast
import itertools
import json
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opscan.shapes.library import TYPES
from opscan.shapes.randomness import numpy_random, random_function
from opscan.shapes.records import BASE_GENERATOR, RECORD_TYPES
from opscan.shapes.stops import CannotFollow
from opscan.shapes.values import (
    HostFunction,
    ModuleValue,
    Poison,
    RandomSource,
    Record,
    Silent,
    deep_copy,
    measure,
)

if TYPE_CHECKING:
    from opscan.shapes.machine import Machine


def import_module(ev: Machine, path: str) -> Any:
    """What `import path` binds; modules that are not followed stop the plugin where they are used."""
    if path not in ev.modules:
        ev.modules[path] = _load(ev, path)
    return ev.modules[path]


def import_name(ev: Machine, path: str, name: str) -> Any:
    """What `from path import name` binds."""
    if path.split(".", maxsplit=1)[0] == "atk":
        return _atk_name(ev, name)
    module = import_module(ev, path)
    if isinstance(module, Silent):
        return module
    if isinstance(module, Poison):
        return Poison(f"{path}.{name}")
    try:
        return module_attribute(module, name)
    except CannotFollow as stop:
        return Poison(stop.construct)


def import_all(ev: Machine, path: str) -> dict[str, Any]:
    """What `from path import *` binds: of `atk` the names that plugins use, of anything else nothing."""
    if path.split(".", maxsplit=1)[0] != "atk":
        return {}
    return {name: _atk_name(ev, name) for name in ("GENERATOR_REGISTRY", "CaseGenerator", *RECORD_TYPES)}


def module_attribute(module: ModuleValue | RandomSource, name: str) -> Any:
    """`module.name`. Raises CannotFollow where it is not followed."""
    if isinstance(module, RandomSource):
        return random_function(module, name)
    found = module.names.get(name)
    if found is None:
        raise CannotFollow(f"`{module.name}.{name}`")
    return found


def _load(ev: Machine, path: str) -> Any:
    shared = RandomSource(ev.rng, shared=True)
    if path == "random":
        return shared
    if path in {"logging", "warnings", "loguru"}:
        return Silent()
    if path == "numpy":
        return ModuleValue(path, {**_NUMPY, "random": numpy_random(shared)})
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


# -- mathematics -------------------------------------------------------------------------------------------------------


def _number_function(module: str, name: str) -> HostFunction:
    function = getattr(math, name)

    def call(*args: Any) -> Any:
        if any(type(a) not in {int, float, bool} for a in args):
            raise CannotFollow(f"`{module}.{name}` of something that is no number")
        return function(*args)

    return HostFunction(f"{module}.{name}", call, pure=True)


def _small_function(name: str) -> HostFunction:
    function = getattr(math, name)

    def call(*args: Any) -> Any:
        if any(type(a) is not int or a > 500 for a in args):
            raise CannotFollow(f"`math.{name}` of more than 500")
        return function(*args)

    return HostFunction(f"math.{name}", call, pure=True)


def _prod(ev: Machine, values: Any, *, start: Any = 1) -> Any:
    total = start
    for value in ev.items(values):
        total = ev.operate(ast.Mult, total, value)
    return total


_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
_NUMBER_FUNCTIONS = (
    *("sqrt", "ceil", "floor", "trunc", "fabs", "log", "log2", "log10", "log1p", "exp", "pow", "gcd", "lcm", "isqrt"),
    *("isnan", "isinf", "isfinite", "copysign", "fmod", "hypot", "sin", "cos", "tan", "tanh"),
)
_MATH: dict[str, Any] = {
    **{name: _number_function("math", name) for name in _NUMBER_FUNCTIONS},
    **{name: _small_function(name) for name in ("factorial", "comb", "perm")},
    **_CONSTANTS,
    "prod": HostFunction("math.prod", _prod),
}
_NUMPY_FUNCTIONS = ("sqrt", "ceil", "floor", "log", "log2", "log10", "exp", "isnan", "isinf")
_NUMPY: dict[str, Any] = {
    **{name: _number_function("np", name) for name in _NUMPY_FUNCTIONS},
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "integer"), TYPES["int"]),
    **dict.fromkeys(("float64", "floating"), TYPES["float"]),
    **_CONSTANTS,
    "prod": HostFunction("np.prod", _prod),
}


# -- copies, iteration, text -------------------------------------------------------------------------------------------


def _copy(ev: Machine, value: Any) -> Any:
    if isinstance(value, Record):
        return Record(value.kind, dict(value.fields))
    if type(value) in {list, dict, set}:
        ev.budget.charge(len(value))
        return value.copy()
    return deep_copy(value)


def _deepcopy(ev: Machine, value: Any) -> Any:
    ev.budget.left -= measure(value)
    return deep_copy(value)


def _dumps(ev: Machine, value: Any, **named: Any) -> str:
    ev.budget.left -= measure(value) >> 2
    return json.dumps(value, **{k: v for k, v in named.items() if k in {"ensure_ascii", "separators", "sort_keys"}})


def _product(ev: Machine, *columns: Any, repeat: int = 1) -> list[Any]:
    lists = [ev.items(c) for c in columns] * min(repeat, 64)
    total = 1
    for values in lists:
        total *= len(values)
        ev.budget.charge(total)
    return list(itertools.product(*lists))


def _combinations(ev: Machine, values: Any, r: int) -> list[Any]:
    pool = ev.items(values)
    ev.budget.charge(math.comb(len(pool), r))
    return list(itertools.combinations(pool, r))


def _permutations(ev: Machine, values: Any, r: int | None = None) -> list[Any]:
    pool = ev.items(values)
    if len(pool) > 100:
        raise CannotFollow("`permutations` of more than 100 items")
    ev.budget.charge(math.perm(len(pool), r))
    return list(itertools.permutations(pool, r))


def _chain(ev: Machine, *columns: Any) -> list[Any]:
    joined = [v for c in columns for v in ev.items(c)]
    ev.budget.charge(len(joined))
    return joined


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

    return HostFunction("cached function", call)


def _functions(**named: Callable[..., Any]) -> Mapping[str, HostFunction]:
    return {name: HostFunction(name, function) for name, function in named.items()}


_MODULES: dict[str, Mapping[str, Any]] = {
    "math": _MATH,
    "copy": _functions(copy=_copy, deepcopy=_deepcopy),
    "json": _functions(dumps=_dumps),
    "functools": {
        **_functions(reduce=_reduce),
        "lru_cache": HostFunction("lru_cache", _cached, pure=True),
        "cache": HostFunction("cache", _cached, pure=True),
    },
    "itertools": _functions(product=_product, chain=_chain, combinations=_combinations, permutations=_permutations),
    "collections": {"OrderedDict": TYPES["dict"]},
    "operator": _functions(
        mul=lambda ev, a, b: ev.operate(ast.Mult, a, b), add=lambda ev, a, b: ev.operate(ast.Add, a, b)
    ),
}
