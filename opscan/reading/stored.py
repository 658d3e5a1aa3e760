"""Files that are too large to be held in memory: read anew, piece by piece, whenever their text is asked for."""

from __future__ import annotations

import codecs
import os
import time
from collections.abc import Iterator
from pathlib import Path

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


class StoredSource(Source):
    """A UTF-8 file that stays on disk. Reading on after the file has changed raises StaleFileError."""

    __slots__ = ("signature",)
    signature: Signature

    def __init__(self, path: Path, bom: bool, signature: Signature) -> None:
        for name, value in (("path", path), ("bom", bom), ("signature", signature)):
            object.__setattr__(self, name, value)

    @property
    def text(self) -> str:
        """All of the text at once. Meant for what is rare, since it takes as much memory as the file."""
        return "".join(self.pieces())

    def pieces(self) -> Iterator[str]:
        """The text in pieces of about a MiB. Raises UnicodeDecodeError where it is not UTF-8."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        with self.path.open("rb") as file:
            if signature_of(os.fstat(file.fileno())) != self.signature:
                raise StaleFileError(f"{self.path} has changed since it was read; nothing was written, run again")
            file.seek(len(_BOM) if self.bom else 0)
            while data := file.read(_PIECE):
                if piece := decoder.decode(data):
                    yield piece
            if rest := decoder.decode(b"", True):
                yield rest


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
