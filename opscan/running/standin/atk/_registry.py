"""Registries of plugin classes by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


class Registry:
    """Classes by the name they register; a decorator without a name takes the class's own."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._classes: dict[str, Any] = {}

    def register(self, name: Any = None, *_: Any, **__: Any) -> Any:
        if isinstance(name, type) or (callable(name) and not isinstance(name, str)):
            return self.register_with_key(name.__name__, name)

        def add(cls: Any) -> Any:
            return self.register_with_key(name or cls.__name__, cls)

        return add

    __call__: Callable[..., Any] = register

    def register_with_key(self, key: str, cls: Any) -> Any:
        self._classes[key] = cls
        return cls

    def get_register_keys(self) -> list[str]:
        return list(self._classes)

    def get(self, key: str, default: Any = None) -> Any:
        return self._classes.get(key, default)

    def __getitem__(self, key: str) -> Any:
        if key not in self._classes:
            raise KeyError(f"no {self._what} is registered as {key!r}")
        return self._classes[key]

    def __contains__(self, key: object) -> bool:
        return key in self._classes

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(self._classes.items())


GENERATORS = Registry("generator")
EXECUTORS = Registry("executor")
COMPARATORS = Registry("comparator")
PARAMETERS = Registry("parameter type")
DATA_TYPES = Registry("data type")
