"""The user's cache folder, and what was parsed before, kept there so that the next run need not parse it again.

What is kept lies beside the very text it was made from and counts for that text alone, so it is never stale. A cache
that cannot be read or written is none; `OPSCAN_CACHE=off` switches it off.
"""

from __future__ import annotations

import marshal
import os
import sys
from binascii import crc32
from contextlib import suppress
from pathlib import Path
from typing import Any


def cache_folder() -> Path:
    """Where opscan keeps what it can find out again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "opscan"


def is_off() -> bool:
    """Whether nothing is to be kept or taken from what was kept."""
    return os.environ.get("OPSCAN_CACHE") == "off"


def recall(path: Path, text: str, maker: str) -> Any:
    """What `keep` was given for this text by the same maker; None where there is no such thing."""
    if is_off():
        return None
    with suppress(OSError, ValueError, EOFError, TypeError):
        data = _kept_at(path).read_bytes()
        if crc32(data[4:]) == int.from_bytes(data[:4], "big"):
            kept = marshal.loads(data[4:])
            return kept[2] if kept[:2] == (maker, text) else None
    return None


def keep(path: Path, text: str, maker: str, value: Any) -> None:
    """Keep what was made of the text of a file. `maker`: what else it depends on.

    A value that is not built of plain values alone is not kept.
    """
    if is_off():
        return
    with suppress(OSError, ValueError):
        data = marshal.dumps((maker, text, value))
        target = _kept_at(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_suffix(f".{os.getpid()}")
        try:
            fresh.write_bytes(crc32(data).to_bytes(4, "big") + data)
            fresh.replace(target)  # at once, so that another process finds the old one or the new one
        except OSError:
            fresh.unlink(missing_ok=True)


def _kept_at(path: Path) -> Path:
    """One place a file and a version of Python, whose way to write values is its own."""
    name = f"{crc32(os.fsencode(path.absolute())):08x}"
    return cache_folder() / f"parsed-{sys.implementation.cache_tag}" / name
