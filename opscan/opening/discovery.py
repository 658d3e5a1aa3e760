"""Which files lie below the paths that a user names. Only regular files count; what cannot be looked into is told."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from opscan.model import Fault, Unread
from opscan.reading.files import SUFFIXES, meant_kind

_SKIPPED_FOLDERS = frozenset(("__pycache__", "node_modules"))


def discover(paths: Sequence[Path]) -> tuple[list[Path], list[Unread]]:
    """The files to read, sorted within each folder and without repeats, and what is not there or cannot be opened.

    A file that is named is always there; below a folder only files that may be one of ours, and no hidden folder,
    virtual environment or cache.
    """
    found: dict[Path, None] = {}
    lost: list[Unread] = []
    for path in paths:
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError) as error:
            lost.append(_lost(path, error))
            continue
        if stat.S_ISDIR(mode):
            found.update(dict.fromkeys(_below(path, lost)))
        else:
            found[path] = None
    return list(found), lost


def _lost(path: Path, error: OSError | ValueError) -> Unread:
    missing = getattr(error, "errno", errno.ENOENT) in (errno.ENOENT, errno.ENOTDIR, None)
    if missing and not os.path.islink(path):
        fault = Fault("missing-path", f"no such file or folder: {path}; check the path")
    elif missing:
        fault = Fault("unreadable-file", f"{path} is a symbolic link that leads nowhere")
    else:
        fault = Fault("unreadable-file", f"cannot read {path}: {_reason(error)}")
    return Unread(path, meant_kind(path), fault.message, (fault,))


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


def _below(folder: Path, lost: list[Unread]) -> Iterator[Path]:
    def tell(error: OSError) -> None:
        place = Path(error.filename or folder)
        shown = place if len(str(place)) < 300 else Path(f"{str(place)[:120]}...{str(place)[-60:]}")
        fault = Fault("unreadable-file", f"cannot look into the folder {shown}: {_reason(error)}")
        lost.append(Unread(shown, "other", fault.message, (fault,)))

    for base, folders, names in os.walk(folder, onerror=tell):
        folders[:] = sorted(name for name in folders if _is_entered(base, name))
        for name in sorted(names):
            path = Path(base, name)
            if not name.startswith(".") and (path.suffix.lower() in SUFFIXES or _has_shebang(path)):
                yield path


def _is_entered(base: str, name: str) -> bool:
    if name.startswith(".") or name in _SKIPPED_FOLDERS:
        return False
    return not os.path.exists(os.path.join(base, name, "pyvenv.cfg"))


def _has_shebang(path: Path) -> bool:
    """Scripts often have no suffix; two bytes tell them from a README. A pipe would be waited for."""
    if path.suffix:
        return False
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except (OSError, ValueError):
        return False
