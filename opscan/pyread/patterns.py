"""`match`: which pattern fits a value, and what it binds."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from opscan.pyread.operations import describe, truth
from opscan.pyread.scope import Scope
from opscan.pyread.stops import CannotFollow
from opscan.pyread.values import ClassValue, DefaultDict, Instance, NamedTuple, TypeValue

if TYPE_CHECKING:
    from opscan.pyread.interpreter import Interpreter

_ITSELF = frozenset({bool, dict, float, frozenset, int, list, set, str, tuple})
"""Types whose only positional pattern is the value itself."""


def fits(ev: Interpreter, pattern: ast.pattern, value: Any, scope: Scope) -> bool:
    """Whether `value` fits `pattern`; binds the names of the pattern as far as it fits."""
    ev.budget.left -= 1
    ev.at = pattern
    if isinstance(pattern, ast.MatchValue):
        return truth(ev.compared(ast.Eq, value, ev.eval(pattern.value, scope)))
    if isinstance(pattern, ast.MatchSingleton):
        return value is pattern.value
    if isinstance(pattern, ast.MatchOr):
        return any(fits(ev, one, value, scope) for one in pattern.patterns)
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None and not fits(ev, pattern.pattern, value, scope):
            return False
        if pattern.name is not None:
            scope.bind(pattern.name, value)
        return True
    if isinstance(pattern, ast.MatchSequence):
        return isinstance(value, list | tuple) and _fits_items(ev, pattern.patterns, list(value), scope)
    if isinstance(pattern, ast.MatchMapping):
        return _fits_mapping(ev, pattern, value, scope)
    if isinstance(pattern, ast.MatchClass):
        return _fits_class(ev, pattern, value, scope)
    raise CannotFollow("`match` with such a pattern", pattern.lineno)


def _fits_items(ev: Interpreter, patterns: list[ast.pattern], items: list[Any], scope: Scope) -> bool:
    star = next((k for k, one in enumerate(patterns) if isinstance(one, ast.MatchStar)), None)
    if star is not None and len(items) >= len(patterns) - 1:
        end = len(items) - (len(patterns) - star - 1)
        items[star:end] = [items[star:end]]
    if len(items) != len(patterns):
        return False
    for pattern, item in zip(patterns, items, strict=True):
        if isinstance(pattern, ast.MatchStar):
            if pattern.name is not None:
                scope.bind(pattern.name, item)
        elif not fits(ev, pattern, item, scope):
            return False
    return True


def _fits_mapping(ev: Interpreter, pattern: ast.MatchMapping, value: Any, scope: Scope) -> bool:
    if type(value) not in {dict, DefaultDict}:
        return False
    keys = [ev.eval(key, scope) for key in pattern.keys]
    for key, one in zip(keys, pattern.patterns, strict=True):
        if key not in value or not fits(ev, one, value[key], scope):
            return False
    if pattern.rest is not None:
        scope.bind(pattern.rest, {key: item for key, item in value.items() if key not in keys})
    return True


def _fits_class(ev: Interpreter, pattern: ast.MatchClass, value: Any, scope: Scope) -> bool:
    cls = ev.eval(pattern.cls, scope)
    if not truth(ev.call(ev.look_up("isinstance", Scope()), [value, cls])):
        return False
    if not pattern.patterns and not pattern.kwd_patterns:
        return True
    names: tuple[str, ...] = ()
    if isinstance(cls, TypeValue) and cls.host in _ITSELF and len(pattern.patterns) == 1 and not pattern.kwd_patterns:
        return fits(ev, pattern.patterns[0], value, scope)
    if pattern.patterns:
        if not isinstance(cls, ClassValue) or cls.fields is None:
            raise CannotFollow(f"`match` by position with {describe(cls)}", pattern.lineno)
        names = tuple(cls.fields)
    pairs = [*zip(names, pattern.patterns, strict=False), *zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True)]
    if len(pattern.patterns) > len(names) or not isinstance(value, Instance | NamedTuple):
        raise CannotFollow("`match` with such a class", pattern.lineno)
    return all(ev.has_attribute(value, name) and fits(ev, one, ev.attribute(value, name), scope) for name, one in pairs)
