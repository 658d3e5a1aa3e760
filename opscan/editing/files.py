"""Replace a file by its new text so that an interruption leaves the one or the other, never half of one."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from opscan.model import Source
from opscan.reading.texts import BOM

__all__ = [
    "StaleFileError",
    "alone_in",
    "check_absent",
    "check_replaceable",
    "create_atomically",
    "is_current",
    "remove_leftovers",
    "with_bom",
    "write_atomically",
]


class StaleFileError(OSError):
    """A file is no longer what was read; nothing was written."""


_TEMPORARY = ".opscan-tmp"
_held: set[str] = set()
"""The folders that this process has to itself."""


def write_atomically(path: Path, source: Source, content: str) -> None:
    """Write `content` in place of `source`, with the BOM and the line ends it had.

    A symbolic link stays, its target is replaced; mode and, where allowed, owner are kept. Raises StaleFileError where
    the file has changed since it was read, another OSError where it cannot be written; the file is then untouched.
    Several processes may write in one folder: each looks again, and replaces, while the others wait.
    """
    target = Path(os.path.realpath(path))
    with _alone_in(target.parent):
        check_replaceable(path, source)
        name = _written_beside(target, _encoded(source, content), target)
        _or_remove(name, lambda: os.replace(name, target))
    _sync_folder(target.parent)


def create_atomically(path: Path, source: Source, like: Path) -> None:
    """Write a new file with the text and BOM of `source`, and the mode and owner of the file `like`.

    Raises FileExistsError where the path is taken, another OSError where it cannot be written.
    """
    with _alone_in(path.parent):
        check_absent(path)
        name = _written_beside(path, _encoded(source, source.text), Path(os.path.realpath(like)))
        _or_remove(name, lambda: _link(name, path))
    _sync_folder(path.parent)


def check_replaceable(path: Path, source: Source) -> None:
    """Raise what `write_atomically` would raise before it writes anything."""
    target = Path(os.path.realpath(path))
    if _is_stale(target, source):
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

    handle, name = tempfile.mkstemp(prefix=f".{target.name[:50]}.", suffix=_TEMPORARY, dir=target.parent)
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


def _is_stale(target: Path, source: Source) -> bool:
    return target.read_bytes() != _encoded(source, source.text)


def remove_leftovers(folder: Path) -> None:
    """Remove what a killed run has left in a folder. Nothing is removed where a run may still need it."""
    with contextlib.suppress(OSError), _alone_in(folder) as alone:
        for name in os.listdir(folder) if alone else ():
            if name.startswith(".") and name.endswith(_TEMPORARY):
                os.unlink(folder / name)


@contextlib.contextmanager
def alone_in(folders: Iterable[Path]) -> Iterator[None]:
    """Wait until no other process writes in these folders, and keep the others waiting: files that belong together.

    Raises OSError where a folder cannot be opened.
    """
    with contextlib.ExitStack() as held:
        # In one order everywhere, so that two processes never wait for each other.
        for folder in sorted({os.path.realpath(folder) for folder in folders}):
            held.enter_context(_alone_in(Path(folder)))
        yield


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[bool]:
    """Wait until no other process writes in the folder; False where the file system knows no such locks.

    The lock is on the folder itself, so it leaves nothing behind, and it ends with the process that holds it.
    """
    place = os.path.realpath(folder)
    if place in _held:
        yield True
        return
    try:
        import fcntl
    except ImportError:
        yield False
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        alone = True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            _held.add(place)
        except OSError:
            alone = False
        yield alone
    finally:
        _held.discard(place)
        os.close(handle)


def _copy_ownership(target: Path, name: str) -> None:
    status = target.stat()
    with contextlib.suppress(OSError, AttributeError):
        os.chown(name, status.st_uid, status.st_gid)
    os.chmod(name, status.st_mode & 0o7777)
    if hasattr(os, "listxattr"):  # access lists are among them
        with contextlib.suppress(OSError):
            for attribute in os.listxattr(target):
                os.setxattr(name, attribute, os.getxattr(target, attribute))


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable where the platform can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
