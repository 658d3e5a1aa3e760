"""Imports that a plugin tries: those of ATK, PyTorch, NumPy and Python succeed where ATK runs; others may not."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from opscan.pyread.scope import Scope
from opscan.pyread.values import Poison

_THERE = frozenset({"atk", "torch", "numpy", *sys.stdlib_module_names})
_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def module_that_may_miss(node: ast.Try) -> str:
    """A module that `try` imports and that may not be there, where a handler is for that; empty where there is none."""
    if not any(_is_for_imports(handler) for handler in node.handlers):
        return ""
    return next((name for name in _imported(node.body) if name.split(".")[0] not in _THERE), "")


def poison_alternatives(node: ast.Try, scope: Scope) -> None:
    """Poison what a module binds one way or the other, as a module that may not be there can be imported."""
    missing = module_that_may_miss(node)
    if not missing:
        return
    poison = Poison(f"what follows from whether `{missing}` is installed", node.lineno)
    for handler in node.handlers:
        for part in ast.walk(handler):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                scope.names[part.id] = poison
            elif isinstance(part, ast.FunctionDef | ast.ClassDef):
                scope.names[part.name] = poison


def _is_for_imports(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return any(isinstance(part, ast.Name) and part.id in _MISSING for part in ast.walk(handler.type))


def _imported(body: list[ast.stmt]) -> Iterator[str]:
    for statement in body:
        for part in ast.walk(statement):
            if isinstance(part, ast.Import):
                yield from (alias.name for alias in part.names)
            elif isinstance(part, ast.ImportFrom):
                yield "." * part.level + (part.module or "")
