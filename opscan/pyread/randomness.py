"""The random numbers of a plugin: Python's own generator with a seed of ours, for `random` and `numpy.random`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opscan.pyread.stops import MAX_BITS, MAX_ITEMS, CannotFollow
from opscan.pyread.values import HostFunction, ModuleValue, RandomSource

if TYPE_CHECKING:
    from opscan.pyread.machine import Machine

_PLAIN_DRAWS = frozenset(
    ("random", "randint", "uniform", "randrange", "gauss", "normalvariate", "triangular", "betavariate", "expovariate")
)


def random_function(source: RandomSource, name: str) -> HostFunction:
    """`random.<name>` drawing from `source`."""
    if name == "Random" and source.shared:
        return HostFunction("random.Random", _own_random)
    if name not in _PLAIN_DRAWS and name not in _DRAWS:
        raise CannotFollow(f"`random.{name}`")

    def draw(ev: Machine, *args: Any, **named: Any) -> Any:
        ev.drew |= source.shared and name != "seed"
        if name in _PLAIN_DRAWS:
            return getattr(source.rng, name)(*args, **named)
        return _DRAWS[name](source.rng, ev, *args, **named)

    return HostFunction(f"random.{name}", draw)


def _own_random(ev: Machine, seed: Any = None) -> RandomSource:
    if seed is None:
        return RandomSource(random.Random(ev.rng.getrandbits(64)), shared=True)
    return RandomSource(random.Random(_plain_seed(seed)))


def _plain_seed(seed: Any) -> Any:
    if type(seed) not in {int, str, float}:
        raise CannotFollow("a random seed that is no number")
    return seed


def _population(values: Any) -> Any:
    """What numbers are drawn from: a sequence, as Python has it."""
    if type(values) not in {list, tuple, str, range}:
        if isinstance(values, dict):
            raise CannotFollow("a random choice from a dict")
        raise TypeError("the population must be a sequence")
    return values


def _count(k: Any) -> int:
    if k > MAX_ITEMS:
        raise CannotFollow(f"{k} random draws at once")
    return int(k)


def _choice(rng: random.Random, _: Machine, values: Any) -> Any:
    return rng.choice(_population(values))


def _sample(rng: random.Random, ev: Machine, population: Any, k: int) -> list[Any]:
    ev.budget.charge(_count(k))
    return rng.sample(_population(population), k)


def _choices(rng: random.Random, ev: Machine, population: Any, weights: Any = None, **named: Any) -> list[Any]:
    ev.budget.charge(_count(named.get("k", 1)))
    return rng.choices(_population(population), weights, **named)


def _shuffle(rng: random.Random, ev: Machine, values: Any) -> None:
    ev.budget.charge(len(values))
    rng.shuffle(values)


def _getrandbits(rng: random.Random, _: Machine, bits: int) -> int:
    if bits > MAX_BITS:
        raise CannotFollow("`random.getrandbits` with far too many bits")
    return rng.getrandbits(bits)


def _seed(rng: random.Random, _: Machine, value: Any = None) -> None:
    rng.seed(_plain_seed(value))


_DRAWS: dict[str, Callable[..., Any]] = {
    "choice": _choice,
    "choices": _choices,
    "sample": _sample,
    "shuffle": _shuffle,
    "getrandbits": _getrandbits,
    "seed": _seed,
}


# -- numpy, scalar forms -----------------------------------------------------------------------------------------------


def numpy_random(source: RandomSource) -> ModuleValue:
    """`numpy.random` in its scalar forms, drawing from `source`."""
    rng = source.rng

    def scalar(name: str, draw: Callable[..., Any]) -> HostFunction:
        def call(ev: Machine, *args: Any, size: Any = None, **named: Any) -> Any:
            if size is not None:
                raise CannotFollow(f"`np.random.{name}` with a size")
            ev.drew |= name != "seed"
            return draw(*args, **named)

        return HostFunction(f"np.random.{name}", call)

    def randint(low: int, high: int | None = None) -> int:
        return rng.randrange(low) if high is None else rng.randrange(low, high)

    def choice(values: Any, *, p: Any = None) -> Any:
        population = range(values) if type(values) is int else values
        if type(population) not in {range, list, tuple}:
            raise CannotFollow("`np.random.choice` from that value")
        return rng.choices(population, p)[0]

    def uniform(low: float = 0.0, high: float = 1.0) -> float:
        return rng.uniform(low, high)

    draws: dict[str, Callable[..., Any]] = {
        "randint": randint,
        "choice": choice,
        "uniform": uniform,
        "rand": rng.random,
        "random": rng.random,
        "seed": lambda seed: rng.seed(_plain_seed(seed)),
    }
    return ModuleValue("np.random", {name: scalar(name, draw) for name, draw in draws.items()})
