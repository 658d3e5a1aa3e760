"""One walk through a text that comes in pieces: lines and columns on the way, and single values of it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from opscan.model import Span


def span_in(pieces: Iterable[str], offset: int) -> Span:
    """The span of the one code point at `offset`, of none at the end of the text."""
    passage = Passage(pieces)
    start = passage.go(offset)
    length = 0 if passage.at_end() else 1
    return Span(offset, offset + length, *start, *passage.go(offset + length))


class Passage:
    """A walk from start to end that counts lines as `Lines` does and keeps only the piece at hand."""

    __slots__ = ("_at", "_base", "_line", "_pieces", "_start", "_text")

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = iter(pieces)
        self._text = ""
        self._base = 0
        """The offset of the first code point of `_text`."""
        self._at = 0
        """Where the walk is in `_text`."""
        self._line = 1
        self._start = 0
        """The offset at which the line starts."""

    def go(self, offset: int) -> tuple[int, int]:
        """Walk on to an offset, or to the end of the text; line and column there."""
        while self._base + len(self._text) <= offset and self._next_piece():
            pass
        self._pass(min(offset - self._base, len(self._text)))
        return self.place()

    def place(self) -> tuple[int, int]:
        return self._line, self._base + self._at - self._start + 1

    def at_end(self) -> bool:
        return self._at == len(self._text) and not self._next_piece()

    def take(self, end: int | None, decoder: json.JSONDecoder) -> str:
        """The text of the JSON value that starts here; `end`: an offset behind it, None where it is the last one.

        Raises ValueError where there is no whole value.
        """
        while (end is None or self._base + len(self._text) < end) and self._more():
            pass
        ahead = self._text[self._at : None if end is None else end - self._base]
        _, stop = decoder.raw_decode(ahead, 0)
        return ahead[:stop]

    def text_to(self, end: int) -> str:
        """The text from here to an offset."""
        while self._base + len(self._text) < end and self._more():
            pass
        return self._text[self._at : end - self._base]

    def _next_piece(self) -> bool:
        """Go to the next piece; a CR stays, for the LF that may follow it."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._pass(max(len(self._text) - self._text.endswith("\r"), self._at))
        self._base += self._at
        self._text = self._text[self._at :] + piece
        self._at = 0
        return True

    def _more(self) -> bool:
        piece = next(self._pieces, None)
        self._text += piece or ""
        return piece is not None

    def _pass(self, end: int) -> None:
        """Count the lines from here to `end`, an index of `_text`."""
        text, begin = self._text, self._at
        feeds, returns = text.count("\n", begin, end), text.count("\r", begin, end)
        if feeds or returns:
            self._line += feeds + returns - (text.count("\r\n", begin, end) if returns else 0)
            self._start = self._base + max(text.rfind("\n", begin, end), text.rfind("\r", begin, end)) + 1
        self._at = max(end, begin)
