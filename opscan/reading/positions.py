"""Offsets to lines and columns.

Lines end at LF, CRLF and lone CR, as editors show them. YAML 1.1 also breaks at NEL, LS and PS; those never count here.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from opscan.model import Span

_LINE_END = re.compile(r"\r\n|\n|\r")


class Lines:
    """The line starts of one text; lines and columns are 1-based, columns count code points."""

    __slots__ = ("_starts",)

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of the code point at `offset`."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        return Span(start, end, *self.place(start), *self.place(end))

    def offset(self, line: int, column: int) -> int:
        """The offset of a 1-based line and column; past the last line, the end of the last line start."""
        return self._starts[min(max(line, 1), len(self._starts)) - 1] + max(column, 1) - 1


def span_at(text: str, start: int, end: int | None = None) -> Span:
    """The span of `text[start:end]`, by default of the one code point at `start` (none at the end of the text)."""
    stop = min(start + 1, len(text)) if end is None else end
    return Lines(text).span(min(start, len(text)), max(stop, min(start, len(text))))


class Walk:
    """Lines and columns of offsets that are asked for in rising order: no list of all the lines of a long text."""

    __slots__ = ("_at", "_line", "_start", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at, self._line, self._start = 0, 1, 0

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of the code point at `offset`: not before the last one asked for, nor inside of a CRLF."""
        text, begin = self._text, self._at
        feeds, returns = text.count("\n", begin, offset), text.count("\r", begin, offset)
        if feeds or returns:
            self._line += feeds + returns - (text.count("\r\n", begin, offset) if returns else 0)
            self._start = max(text.rfind("\n", begin, offset), text.rfind("\r", begin, offset)) + 1
        self._at = offset
        return self._line, offset - self._start + 1
