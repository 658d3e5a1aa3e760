"""The names a plugin's code sees: those of one call, and of the scopes around it."""

from __future__ import annotations

from typing import Any

from opscan.pyread.values import FunctionValue


class Scope:
    """The names of one call (or of the module), and the scope around it."""

    __slots__ = ("function", "module_names", "names", "outer_names", "parent")

    def __init__(self, parent: Scope | None = None, function: FunctionValue | None = None) -> None:
        self.names: dict[str, Any] = {}
        self.parent = parent
        self.function = function
        self.outer_names: set[str] = set()
        """Names declared `nonlocal`."""
        self.module_names: set[str] = set()
        """Names declared `global`."""

    def holder(self, name: str) -> Scope | None:
        """The innermost scope that binds `name`, None where none does."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.parent
        return scope

    @property
    def module(self) -> Scope:
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def bind(self, name: str, value: Any) -> None:
        """`name = value`, in this scope unless the name is declared to belong to another."""
        if name in self.module_names:
            self.module.names[name] = value
        elif name in self.outer_names and self.parent is not None and (holder := self.parent.holder(name)) is not None:
            holder.names[name] = value
        else:
            self.names[name] = value
