"""Files that are too large to be held in memory: read anew, piece by piece, whenever their text is asked for."""

from __future__ import annotations

import codecs
import os
import time
from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from opscan.model import Source

LARGE = 4 << 20
"""Bytes from which on the text of a case file is not kept."""
_PIECE = 1 << 20
_BOM = b"\xef\xbb\xbf"
_CLOCK_STEP = 0.05
"""Seconds. Two changes within one step of a file system's clock can carry the same time."""

Signature = tuple[int, int, int, int]


class StaleFileError(OSError):
    """A file is no longer what was read; nothing was written."""


class Mark(NamedTuple):
    """A place between two code points, by offset and by bytes of the file; `start`: where its line starts."""

    offset: int
    place: int
    line: int
    start: int


class StoredSource(Source):
    """A UTF-8 file that stays on disk. Reading on after the file has changed raises StaleFileError.

    `marks`: places about a MiB apart, set where the text has been read so far, so that others are reached from there.
    """

    __slots__ = ("marks", "signature")
    signature: Signature
    marks: list[Mark]

    def __init__(self, path: Path, bom: bool, signature: Signature) -> None:
        marks = [Mark(0, len(_BOM) if bom else 0, 1, 0)]
        for name, value in (("path", path), ("bom", bom), ("signature", signature), ("marks", marks)):
            object.__setattr__(self, name, value)

    @property
    def text(self) -> str:
        """All of the text at once. Meant for what is rare, since it takes as much memory as the file."""
        return "".join(self.pieces())

    def pieces(self) -> Iterator[str]:
        """The text in pieces of about a MiB. Raises UnicodeDecodeError where it is not UTF-8."""
        return self.pieces_from(self.marks[0])

    def pieces_from(self, mark: Mark) -> Iterator[str]:
        """The text from a mark on, in pieces; none but the last ends with a CR, whose LF may follow."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        here: Mark | None = mark
        held = ""
        with self.path.open("rb") as file:
            check_unchanged(self.path, os.fstat(file.fileno()), self.signature)
            file.seek(mark.place)
            while data := file.read(_PIECE):
                piece = held + decoder.decode(data)
                held = "\r" if piece.endswith("\r") else ""
                piece = piece[:-1] if held else piece
                if piece:
                    yield piece
                    here = self._mark_behind(here, piece, file.tell() - len(decoder.getstate()[0]) - len(held))
            if rest := held + decoder.decode(b"", True):
                yield rest

    def mark_before(self, offset: int) -> Mark:
        """The last mark at or before an offset."""
        return self.marks[max(bisect_right(self.marks, offset, key=itemgetter(0)) - 1, 0)]

    def _mark_behind(self, mark: Mark | None, piece: str, place: int) -> Mark | None:
        """The mark at the end of a piece that begins at `mark`: a new one behind the last, else one that is there."""
        known = self.marks
        if mark is known[-1]:
            known.append(Mark(mark.offset + len(piece), place, *passed_lines(piece, 0, len(piece), mark)))
            return known[-1]
        last = known[bisect_right(known, place, key=itemgetter(1)) - 1]
        return last if last.place == place else None


def passed_lines(text: str, begin: int, end: int, mark: Mark) -> tuple[int, int]:
    """The line at `end` and where it starts, as `Lines` counts them; `mark` is where `text[begin]` is."""
    feeds, returns = text.count("\n", begin, end), text.count("\r", begin, end)
    if not feeds and not returns:
        return mark.line, mark.start
    last = max(text.rfind("\n", begin, end), text.rfind("\r", begin, end))
    pairs = text.count("\r\n", begin, end) if returns else 0
    return mark.line + feeds + returns - pairs, mark.offset + last + 1 - begin


def check_unchanged(path: Path, status: os.stat_result, signature: Signature) -> None:
    """Raise StaleFileError where the file is not what was read."""
    if signature_of(status) != signature:
        raise StaleFileError(f"{path} has changed since it was read; nothing was written, run again")


def stored_source(path: Path) -> StoredSource:
    """The source of a large file; waits until its clock has moved on since the last change. Raises OSError."""
    status = path.stat()
    if 0 <= time.time() - status.st_mtime < _CLOCK_STEP:
        time.sleep(_CLOCK_STEP)
    with path.open("rb") as file:
        return StoredSource(path, file.read(len(_BOM)) == _BOM, signature_of(os.fstat(file.fileno())))


def signature_of(status: os.stat_result) -> Signature:
    """What tells one content of a file from another: device, inode, size and time of change."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
