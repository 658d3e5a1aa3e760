"""What went wrong in the sandbox, as faults of the files it concerns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from opscan.model import Fault, Plugin, Span
from opscan.running.messages import Trouble

_RULES = ("plugin-run-failed", "plugin-stopped", "plugin-refused", "atk-name-missing")


class Telling:
    """Names the plugin's files as the user knows them. `span`: where a spec asks for the plugin."""

    def __init__(self, plugin: Plugin, span: Span | None = None) -> None:
        self._path = plugin.source.path
        self._span = span

    def fault(self, trouble: Trouble, more: str = "") -> Fault:
        words = " ".join("".join(c if c.isprintable() else " " for c in trouble.message).split())
        return Fault(trouble.rule, f"{self.place(trouble.file, trouble.line)} {words}{more}", self._span)

    def place(self, file: str, line: int) -> str:
        folder = os.path.realpath(self._path.parent)
        inside = file.startswith(os.path.join(folder, ""))
        shown = self._path.parent / os.path.relpath(file, folder) if inside else self._path
        return f"{shown.as_posix()}:{line}:" if inside and line else f"{self._path.as_posix()}:"

    def denials(self, denials: Sequence[Any]) -> list[Fault]:
        """The first thing that was refused; the others follow from it more often than not."""
        return [
            self.fault(Trouble("plugin-refused", f"tries to {str(tried)[:200]}", str(file), int(line)))
            for tried, file, line in denials[:1]
        ]


def trouble_of(words: Any) -> Trouble:
    """A trouble as it came from the sandbox. Raises ValueError or TypeError where it is none."""
    rule, message, file, line = words
    return Trouble(rule if rule in _RULES else _RULES[0], str(message)[:600], str(file), int(line))
