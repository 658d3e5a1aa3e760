"""Replace a file by its new text so that an interruption leaves the one or the other, never half of one."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from opscan.model import Source
from opscan.reading.texts import BOM


class StaleFileError(OSError):
    """The file on disk is no longer what was read; nothing was written."""


def write_atomically(path: Path, source: Source, new_text: str) -> None:
    """Write `new_text` in place of `source`, with the BOM and the line ends it had.

    A symbolic link stays, its target is replaced; mode and, where allowed, owner are kept. Raises StaleFileError where
    the file has changed since it was read, another OSError where it cannot be written; the file is then untouched.
    """
    import tempfile

    target = Path(os.path.realpath(path))
    if target.read_bytes() != _encoded(source, source.text):
        raise StaleFileError(f"{path} has changed since it was read; nothing was written, run again")
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{path} is read-only; nothing was written")
    data = _encoded(source, new_text)
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _copy_ownership(target, name)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(target.parent)


def with_bom(source: Source, text: str) -> str:
    """The text as it stands on disk: what `unified_diff` needs of a file that begins with a BOM."""
    return "\ufeff" + text if source.bom else text


def _encoded(source: Source, text: str) -> bytes:
    return (BOM if source.bom else b"") + text.encode("utf-8")


def _copy_ownership(target: Path, name: str) -> None:
    status = target.stat()
    with contextlib.suppress(OSError, AttributeError):
        os.chown(name, status.st_uid, status.st_gid)
    os.chmod(name, status.st_mode & 0o7777)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable where the platform can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
