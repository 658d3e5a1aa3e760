"""One walk through a text that comes in pieces: lines and columns on the way, and single values of it."""

from __future__ import annotations

import json

from opscan.model import Source, Span
from opscan.reading.stored import Mark, StoredSource, passed_lines


def span_in(source: Source, offset: int) -> Span:
    """The span of the one code point at `offset`, of none at the end of the text."""
    passage = Passage(source)
    start = passage.go(offset)
    length = 0 if passage.at_end() else 1
    return Span(offset, offset + length, *start, *passage.go(offset + length))


class Passage:
    """A walk from start to end that counts lines as `Lines` does and keeps only the piece at hand.

    In a stored file it leaps over what was read before.
    """

    __slots__ = ("_at", "_base", "_here", "_pieces", "_source", "_text")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._pieces = source.pieces()
        self._text = ""
        self._base = 0
        """The offset of the first code point of `_text`."""
        self._at = 0
        """Where the walk is in `_text`."""
        self._here = source.marks[0] if isinstance(source, StoredSource) else Mark(0, 0, 1, 0)
        """The same place, with its line and its byte in the file."""

    def go(self, offset: int) -> tuple[int, int]:
        """Walk on to an offset, or to the end of the text; line and column there."""
        if self._base + len(self._text) <= offset:
            self._leap(offset)
            while self._base + len(self._text) <= offset and self._next_piece():
                pass
        self._pass(min(offset - self._base, len(self._text)))
        return self.place()

    def place(self) -> tuple[int, int]:
        return self._here.line, self._here.offset - self._here.start + 1

    @property
    def byte(self) -> int:
        """Where the walk is in the bytes of the file."""
        return self._here.place

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

    def _leap(self, offset: int) -> None:
        if not isinstance(self._source, StoredSource):
            return
        mark = self._source.mark_before(offset)
        if mark.offset > self._base + len(self._text):
            self._pieces = self._source.pieces_from(mark)
            self._text, self._base, self._at, self._here = "", mark.offset, 0, mark

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
        """Count the lines and bytes from here to `end`, an index of `_text`."""
        text, begin, here = self._text, self._at, self._here
        if end <= begin:
            return
        size = end - begin if text.isascii() else len(text[begin:end].encode("utf-8", "surrogatepass"))
        self._here = Mark(here.offset + end - begin, here.place + size, *passed_lines(text, begin, end, here))
        self._at = end
