"""Why following a plugin stops: it leaves the subset of Python that is followed, or it raises an exception itself."""

from __future__ import annotations

from typing import Any

MAX_ITEMS = 100_000
"""Items of one container, characters of one string."""
MAX_BITS = 8_192
"""Bits of one integer."""
MAX_DEPTH = 40
"""Nested calls of functions of the plugin."""
STEPS_PER_DRAW = 100_000
STEPS_IN_ALL = 1_000_000


class CannotFollow(Exception):
    """The plugin uses something outside the followed subset, or more time or memory than it is granted."""

    def __init__(self, construct: str, line: int = 0, column: int = 0) -> None:
        super().__init__(construct)
        self.construct = construct
        self.line = line
        self.column = column
        self.file: str | None = None
        """Another file than the plugin's, where it stands in one; `line` is then where that is needed."""


class PluginRaise(Exception):
    """The plugin raises an exception of its own, which it may also catch. `value` is what `except ... as` binds."""

    def __init__(self, value: Any, line: int = 0) -> None:
        super().__init__(value)
        self.value = value
        self.line = line


class Budget:
    """The steps that are left. Work on containers is charged by their size, so that memory is bounded as well."""

    __slots__ = ("granted", "left", "spent")

    def __init__(self) -> None:
        self.granted = self.left = self.spent = 0

    def grant(self, steps: int) -> None:
        self.spent += self.granted - max(self.left, 0)
        self.granted = self.left = steps

    def charge(self, items: int) -> None:
        """Pays for work on `items` items and refuses a container that large."""
        self.limit(items)
        self.left -= items >> 3
        if self.left < 0:
            raise self.exhausted()

    def limit(self, items: int) -> None:
        """Refuses a container that large."""
        if items > MAX_ITEMS:
            raise CannotFollow(f"a container of more than {MAX_ITEMS} items")

    def exhausted(self) -> CannotFollow:
        return CannotFollow(f"more than {self.granted} steps")
