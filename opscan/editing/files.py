"""Replace a file by its new text so that an interruption leaves the one or the other, never half of one."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from opscan.model import Source
from opscan.reading.texts import BOM


class StaleFileError(OSError):
    """The file on disk is no longer what was read; nothing was written."""


def write_atomically(path: Path, source: Source, new_text: str) -> None:
    """Write `new_text` in place of `source`, with the BOM and the line ends it had.

    A symbolic link stays, its target is replaced; mode and, where allowed, owner are kept. Raises StaleFileError where
    the file has changed since it was read, another OSError where it cannot be written; the file is then untouched.
    """
    check_replaceable(path, source)
    target = Path(os.path.realpath(path))
    name = _written_beside(target, _encoded(source, new_text), target)
    _or_remove(name, lambda: os.replace(name, target))
    _sync_folder(target.parent)


def create_atomically(path: Path, source: Source, like: Path) -> None:
    """Write a new file with the text and BOM of `source`, and the mode and owner of the file `like`.

    Raises FileExistsError where the path is taken, another OSError where it cannot be written.
    """
    check_absent(path)
    name = _written_beside(path, _encoded(source, source.text), Path(os.path.realpath(like)))
    _or_remove(name, lambda: _link(name, path))
    _sync_folder(path.parent)


def check_replaceable(path: Path, source: Source) -> None:
    """Raise what `write_atomically` would raise before it writes anything."""
    target = Path(os.path.realpath(path))
    if target.read_bytes() != _encoded(source, source.text):
        raise StaleFileError(f"{path} has changed since it was read; nothing was written, run again")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, f"{path} is read-only; nothing was written")


def check_absent(path: Path) -> None:
    """Raise what `create_atomically` would raise before it writes anything."""
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, "there is such a file already; nothing was written")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, "the folder is read-only; nothing was written")


def is_current(source: Source) -> bool:
    """Whether the file on disk is the text that was read, in UTF-8."""
    try:
        return source.path.read_bytes() == _encoded(source, source.text)
    except OSError:
        return False


def _written_beside(target: Path, data: bytes, like: Path) -> str:
    """The name of a temporary file in the folder of `target` that holds `data`, safe on disk."""
    import tempfile

    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".tmp", dir=target.parent)
    with os.fdopen(handle, "wb") as file:
        _or_remove(name, lambda: _fill(file, data, like, name))
    return name


def _fill(file: IO[bytes], data: bytes, like: Path, name: str) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())
    _copy_ownership(like, name)


def _or_remove(name: str, act: Callable[[], None]) -> None:
    """Do something with a temporary file, which is gone where that fails."""
    try:
        act()
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _link(name: str, path: Path) -> None:
    """Give a file its name unless that is taken; without hard links the name is looked at just before."""
    try:
        os.link(name, path)
        os.unlink(name)
    except FileExistsError:
        raise
    except OSError:
        check_absent(path)
        os.rename(name, path)


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
