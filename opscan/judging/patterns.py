"""Patterns of declared rules. A rule file may come from anybody, so RE2 matches them: in time linear in the text."""

from __future__ import annotations

from typing import Protocol, cast

_MOST_BYTES = 1 << 20
"""What a compiled pattern may take."""


class Pattern(Protocol):
    """A compiled pattern."""

    def search(self, text: str) -> object | None:
        """Something where the pattern is found in the text, else None."""


class PatternError(ValueError):
    """What RE2 refuses (backreferences, lookaround, what is no pattern), in its own words."""


def compile_pattern(text: str) -> Pattern:
    """The compiled pattern. Raises PatternError."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MOST_BYTES
    try:
        return cast(Pattern, re2.compile(text, options))
    except re2.error as problem:
        said = problem.args[0] if problem.args else "no pattern"
        raise PatternError(said.decode() if isinstance(said, bytes) else str(said)) from None
