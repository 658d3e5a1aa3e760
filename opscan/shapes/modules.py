"""The library modules a plugin may import: random numbers, mathematics, copies, and ATK's own classes."""

from __future__ import annotations

import copy
import itertools
import json
import math
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opscan.shapes.library import TYPES
from opscan.shapes.records import BASE_GENERATOR, RECORD_TYPES
from opscan.shapes.stops import MAX_BITS, MAX_ITEMS, CannotFollow
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
    from opscan.shapes.evaluator import Evaluator

_Call = Callable[..., Any]


# -- random ------------------------------------------------------------------------------------------------------------


def _population(ev: Evaluator, values: Any) -> Any:
    return values if type(values) in {list, tuple, str, range} else ev.items(values)


def _count(k: Any) -> int:
    if k > MAX_ITEMS:
        raise CannotFollow(f"{k} random draws at once")
    return int(k)


def _sample(rng: random.Random, ev: Evaluator, population: Any, k: int) -> list[Any]:
    return rng.sample(_population(ev, population), _count(k))


def _choices(
    rng: random.Random, ev: Evaluator, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1
) -> list[Any]:
    return rng.choices(_population(ev, population), weights, cum_weights=cum_weights, k=_count(k))


def _shuffle(rng: random.Random, ev: Evaluator, values: Any) -> None:
    ev.budget.charge(len(values))
    rng.shuffle(values)


def _randint(rng: random.Random, ev: Evaluator, low: Any, high: Any) -> int:
    return rng.randint(low, high)


def _getrandbits(rng: random.Random, ev: Evaluator, bits: int) -> int:
    if bits > MAX_BITS:
        raise CannotFollow(f"`getrandbits({bits})`")
    return rng.getrandbits(bits)


def _seed(rng: random.Random, ev: Evaluator, value: Any = None, *_: Any) -> None:
    if type(value) not in {int, str, float}:
        raise CannotFollow("`random.seed` without a plain seed")
    rng.seed(value)


_RANDOM: dict[str, _Call] = {
    "random": lambda rng, ev: rng.random(),
    "randint": _randint,
    "choice": lambda rng, ev, values: rng.choice(_population(ev, values)),
    "choices": _choices,
    "sample": _sample,
    "shuffle": _shuffle,
    "uniform": lambda rng, ev, low, high: rng.uniform(low, high),
    "randrange": lambda rng, ev, *bounds: rng.randrange(*bounds),
    "getrandbits": _getrandbits,
    "gauss": lambda rng, ev, mu=0.0, sigma=1.0: rng.gauss(mu, sigma),
    "normalvariate": lambda rng, ev, mu=0.0, sigma=1.0: rng.normalvariate(mu, sigma),
    "triangular": lambda rng, ev, *bounds: rng.triangular(*bounds),
    "betavariate": lambda rng, ev, a, b: rng.betavariate(a, b),
    "expovariate": lambda rng, ev, rate=1.0: rng.expovariate(rate),
    "seed": _seed,
}


def random_function(source: RandomSource, name: str) -> HostFunction | None:
    """`random.<name>` drawing from `source`, None where it is not followed."""
    function = _RANDOM.get(name)
    if function is None:
        return None

    def call(ev: Evaluator, *args: Any, **named: Any) -> Any:
        ev.drew |= source.shared and name != "seed"
        return function(source.rng, ev, *args, **named)

    return HostFunction(f"random.{name}", call)


def _own_random(ev: Evaluator, seed: Any = None) -> RandomSource:
    if seed is None:
        return RandomSource(random.Random(ev.rng.getrandbits(64)), shared=True)
    if type(seed) not in {int, str, float}:
        raise CannotFollow("`random.Random` without a plain seed")
    return RandomSource(random.Random(seed))


# -- numpy, scalar forms -----------------------------------------------------------------------------------------------


def _numpy_random(source: RandomSource) -> ModuleValue:
    rng = source.rng

    def scalar(name: str, draw: _Call) -> HostFunction:
        def call(ev: Evaluator, *args: Any, size: Any = None, **named: Any) -> Any:
            if size is not None:
                raise CannotFollow(f"`np.random.{name}` with a size")
            ev.drew = True
            return draw(ev, *args, **named)

        return HostFunction(f"np.random.{name}", call)

    def randint(ev: Evaluator, low: int, high: Any = None, dtype: Any = None) -> int:
        return rng.randrange(low) if high is None else rng.randrange(low, high)

    def choice(ev: Evaluator, values: Any, replace: Any = True, p: Any = None) -> Any:
        if type(values) is int:
            values = range(values)
        return rng.choices(_population(ev, values), p)[0]

    def uniform(ev: Evaluator, low: float = 0.0, high: float = 1.0) -> float:
        return rng.uniform(low, high)

    def plain(ev: Evaluator) -> float:
        return rng.random()

    def seed(ev: Evaluator, value: Any) -> None:
        _seed(rng, ev, value)

    draws = {"randint": randint, "choice": choice, "uniform": uniform, "rand": plain, "random": plain}
    names = {name: scalar(name, draw) for name, draw in draws.items()}
    return ModuleValue("numpy.random", {**names, "seed": HostFunction("np.random.seed", seed)})


# -- mathematics -------------------------------------------------------------------------------------------------------

_MATH = [
    "sqrt",
    "ceil",
    "floor",
    "trunc",
    "fabs",
    "log",
    "log2",
    "log10",
    "log1p",
    "exp",
    "exp2",
    "pow",
    "gcd",
    "lcm",
    "isqrt",
    "isnan",
    "isinf",
    "isfinite",
    "copysign",
    "fmod",
    "hypot",
    "sin",
    "cos",
    "tan",
    "tanh",
    "sinh",
    "cosh",
    "atan",
    "asin",
    "acos",
    "atan2",
    "degrees",
    "radians",
    "fsum",
    "dist",
]


def _math_function(name: str) -> HostFunction:
    function = getattr(math, name)

    def call(ev: Evaluator, *args: Any) -> Any:
        plain = [ev.items(a) if name in {"fsum", "dist"} else a for a in args]
        if any(isinstance(a, Silent | Record) for a in plain):
            raise CannotFollow(f"`math.{name}` of that value")
        return function(*plain)

    return HostFunction(f"math.{name}", call)


def _prod(ev: Evaluator, values: Any, *, start: Any = 1, **_: Any) -> Any:
    total = start
    for value in ev.items(values):
        total = ev.multiply(total, value)
    return total


def _small(name: str) -> HostFunction:
    function = getattr(math, name)

    def call(ev: Evaluator, *args: Any) -> Any:
        if any(type(a) is not int or a > 500 for a in args):
            raise CannotFollow(f"`math.{name}` of more than 500")
        return function(*args)

    return HostFunction(f"math.{name}", call)


def _math_names() -> dict[str, Any]:
    functions = {name: _math_function(name) for name in _MATH if hasattr(math, name)}
    small = {name: _small(name) for name in ("factorial", "comb", "perm")}
    constants = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
    return {**functions, **small, **constants, "prod": HostFunction("math.prod", _prod)}


def _numpy_names(source: RandomSource) -> dict[str, Any]:
    names = {n: _math_function(n) for n in ("sqrt", "ceil", "floor", "log", "log2", "log10", "exp", "isnan", "isinf")}
    integers = ("int8", "int16", "int32", "int64", "uint8", "integer")
    floats = ("float16", "float32", "float64", "floating")
    return {
        **names,
        **{n: HostFunction(f"np.{n}", TYPES["int"].construct) for n in integers},
        **{n: HostFunction(f"np.{n}", TYPES["float"].construct) for n in floats},
        **{n: Poison(f"np.{n}") for n in ("array", "ndarray", "zeros", "ones")},
        "prod": HostFunction("np.prod", _prod),
        "inf": math.inf,
        "pi": math.pi,
        "nan": math.nan,
        "random": _numpy_random(source),
    }


# -- copies, iteration, text -------------------------------------------------------------------------------------------


def _copy(ev: Evaluator, value: Any) -> Any:
    if isinstance(value, Record):
        return Record(value.kind, dict(value.fields))
    if type(value) in {list, dict, set}:
        ev.budget.charge(len(value))
        return copy.copy(value)
    return deep_copy(value)


def _deepcopy(ev: Evaluator, value: Any) -> Any:
    ev.budget.left -= measure(value)
    return deep_copy(value)


def _dumps(ev: Evaluator, value: Any, **named: Any) -> str:
    ev.budget.left -= measure(value) >> 2
    options = {k: v for k, v in named.items() if k in {"ensure_ascii", "separators", "sort_keys"}}
    return json.dumps(value, **options)


def _product(ev: Evaluator, *columns: Any, repeat: int = 1) -> list[Any]:
    lists = [ev.items(c) for c in columns]
    total = 1
    for _ in range(min(repeat, 64)):
        for values in lists:
            total *= len(values)
            ev.budget.charge(total)
    return list(itertools.product(*lists, repeat=repeat))


def _selections(name: str) -> _Call:
    def select(ev: Evaluator, values: Any, r: Any = None) -> list[Any]:
        pool = ev.items(values)
        size = len(pool) if r is None else r
        ev.budget.charge(math.comb(len(pool), size) if name == "combinations" else math.perm(len(pool), size))
        return list(getattr(itertools, name)(pool, size))

    return select


def _chain(ev: Evaluator, *columns: Any) -> list[Any]:
    joined = [v for c in columns for v in ev.items(c)]
    ev.budget.charge(len(joined))
    return joined


def _reduce(ev: Evaluator, function: Any, values: Any, *initial: Any) -> Any:
    rest = [*initial, *ev.items(values)]
    total = rest[0]
    for value in rest[1:]:
        total = ev.call(function, [total, value])
    return total


def _cached(ev: Evaluator, *args: Any, **_: Any) -> Any:
    """`functools.lru_cache`, bare or with arguments: the results of the plugin's function by its arguments."""
    if not args or type(args[0]) is int or args[0] is None:
        return HostFunction("lru_cache", _cached)
    function, results = args[0], {}

    def call(inner: Evaluator, *arguments: Any) -> Any:
        measure(arguments)
        if arguments not in results:
            results[arguments] = inner.call(function, list(arguments))
        return results[arguments]

    return HostFunction("cached function", call)


# -- ATK ---------------------------------------------------------------------------------------------------------------


def _atk_name(ev: Evaluator, name: str) -> Any:
    """A name imported from the package `atk`: base classes, records, the registry; loggers are silent."""
    if name == "GENERATOR_REGISTRY":
        return ModuleValue(name, {"register": HostFunction("register", ev.register)})
    if name in RECORD_TYPES:
        return RECORD_TYPES[name]
    if name.endswith("Generator"):
        return BASE_GENERATOR
    return Silent() if "log" in name.lower() else Poison(f"atk {name}")


def import_module(ev: Evaluator, path: str) -> Any:
    """What `import path` binds; modules that are not followed stop the plugin where they are used."""
    if path not in ev.modules:
        ev.modules[path] = _load(ev, path)
    return ev.modules[path]


def import_name(ev: Evaluator, path: str, name: str) -> Any:
    """What `from path import name` binds."""
    if path.split(".", maxsplit=1)[0] == "atk":
        return _atk_name(ev, name)
    module = import_module(ev, path)
    if isinstance(module, RandomSource):
        return _own_random_type(ev) if name == "Random" else random_function(module, name) or Poison(f"random.{name}")
    if isinstance(module, ModuleValue):
        found = module.names.get(name)
        return Poison(f"{path}.{name}") if found is None else found
    return module if isinstance(module, Silent) else Poison(f"{path}.{name}")


def _own_random_type(ev: Evaluator) -> HostFunction:
    return HostFunction("random.Random", _own_random)


def _load(ev: Evaluator, path: str) -> Any:
    source = RandomSource(ev.rng, shared=True)
    if path == "random":
        return source
    if path in {"logging", "warnings", "loguru"}:
        return Silent()
    tables: dict[str, Callable[[], dict[str, Any]]] = {
        "math": _math_names,
        "numpy": lambda: _numpy_names(source),
        "numpy.random": lambda: dict(_numpy_random(source).names),
        "copy": lambda: {"copy": HostFunction("copy", _copy), "deepcopy": HostFunction("deepcopy", _deepcopy)},
        "json": lambda: {"dumps": HostFunction("json.dumps", _dumps)},
        "functools": lambda: {
            "reduce": HostFunction("reduce", _reduce),
            "lru_cache": HostFunction("lru_cache", _cached),
            "cache": HostFunction("cache", _cached),
        },
        "itertools": lambda: {
            "product": HostFunction("product", _product),
            "chain": HostFunction("chain", _chain),
            "combinations": HostFunction("combinations", _selections("combinations")),
            "permutations": HostFunction("permutations", _selections("permutations")),
        },
        "collections": lambda: {"OrderedDict": TYPES["dict"]},
        "operator": lambda: {
            "mul": HostFunction("mul", lambda ev, a, b: ev.multiply(a, b)),
            "add": HostFunction("add", lambda ev, a, b: ev.add(a, b)),
        },
    }
    return ModuleValue(path, tables[path]()) if path in tables else Poison(path)
