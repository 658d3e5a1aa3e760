"""What a plugin carries from one case to the next: counters, caches, iterators, and what stands in its module."""

from __future__ import annotations

from typing import Any

from opscan.pyread.scope import Scope
from opscan.pyread.values import (
    BoundMethod,
    ClassValue,
    FunctionValue,
    HostFunction,
    Instance,
    ModuleValue,
    RandomSource,
    Record,
)

_MOST = 5_000
"""Values that are looked at; a plugin that holds more counts as one that changes."""
_PLAIN = frozenset({bool, int, float, str, type(None), range})


class _Opaque(Exception):
    """There is more than can be looked at, or something whose state cannot be seen."""


def fingerprint(*roots: Any) -> tuple[Any, ...] | None:
    """Something that is equal as long as nothing reachable from `roots` has changed; None where that cannot be told."""
    parts: list[Any] = []
    seen: set[int] = set()
    kept: list[Any] = []
    stack = list(roots)
    try:
        while stack:
            _look(stack.pop(), stack, parts, seen, kept)
            if len(parts) > _MOST:
                return None
    except _Opaque:
        return None
    return tuple(parts)


def _look(value: Any, stack: list[Any], parts: list[Any], seen: set[int], kept: list[Any]) -> None:
    """Tell of one value; what it holds goes on the stack. `kept` keeps what is made here alive, for ids are told."""
    kind = type(value)
    if kind in _PLAIN:
        parts.append((kind, value))
        return
    parts.append((kind, id(value)))
    if id(value) in seen:
        return
    seen.add(id(value))
    inside = _inside(value)
    kept.append(inside)
    parts.append(len(inside))
    stack.extend(inside)


def _inside(value: Any) -> list[Any]:
    """The values that one holds."""
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, Record):
        return _inside(value.fields)
    if isinstance(value, Instance):
        return [value.cls, *_inside(value.attributes)]
    if isinstance(value, ClassValue):
        return [*value.bases, *_inside(value.attributes)]
    if isinstance(value, FunctionValue):
        return [value.scope, *value.defaults, *value.kw_defaults.values()]
    if isinstance(value, Scope):
        return [*_inside(value.names), *([value.parent] if value.parent else [])]
    if isinstance(value, ModuleValue):
        return _inside(value.names) if value.file else []
    if isinstance(value, BoundMethod):
        return [value.function, value.receiver]
    if isinstance(value, RandomSource):
        return [] if value.shared else [repr(hash(value.rng.getstate()))]
    if isinstance(value, HostFunction) and value.keeps:
        raise _Opaque
    if type(value).__name__ in {"generator", "FileValue", "ContextValue"}:
        raise _Opaque
    return []
