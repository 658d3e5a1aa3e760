"""Bytes of a file to a `Source`: UTF-8 only, the BOM remembered, line ends untouched."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

from opscan.model import Fault, Source, Span
from opscan.reading.positions import span_at

BOM = b"\xef\xbb\xbf"
LARGEST_YAML = 1 << 20
"""Bytes. Case designs have a few hundred lines; the pure YAML reader, which decides, takes seconds for each MiB."""
LARGEST_TEXT = 4 << 20
"""Bytes of a plugin, a script or any other text; a case file may have more."""
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def decode(path: Path, data: bytes) -> Source | Fault:
    """The text of a file, or the fault `not-utf8` at the first byte that is none."""
    bom = data.startswith(BOM)
    body = data[len(BOM) :] if bom else data
    try:
        return Source(path, body.decode("utf-8"), bom)
    except UnicodeDecodeError as error:
        if data[:2] in _UTF16_MARKS:
            return Fault("not-utf8", "the file is UTF-16; save it as UTF-8", Span(0, 0, 1, 1, 1, 1))
        good = body[: error.start].decode("utf-8")
        byte = error.start + (len(BOM) if bom else 0)
        place = span_at(good, len(good))
        message = (
            f"not UTF-8 at byte {byte} (0x{body[error.start]:02x}), line {place.line}, column {place.column}; "
            "save the file as UTF-8 (a GBK or GB18030 editor setting is the usual cause)"
        )
        return Fault("not-utf8", message, place)


def decode_python(path: Path, data: bytes) -> Source | Fault:
    """As `decode`, and a coding declaration (PEP 263) in the first two lines is honoured."""
    source = decode(path, data)
    if isinstance(source, Source):
        return source
    import tokenize

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return Source(path, data.decode(encoding))
    except (SyntaxError, UnicodeError, LookupError):
        return source


def load_bytes(path: Path, shown: str) -> bytes | Fault:
    """The bytes of a file; faults `missing-path` and `unreadable-file` otherwise."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            return Fault("unreadable-file", f"{shown} is no regular file")  # a pipe would be waited for
        suffix = path.suffix.lower()
        largest, meant = (
            (LARGEST_YAML, "case design") if suffix in (".yaml", ".yml") else (LARGEST_TEXT, "plugin or script")
        )
        if suffix != ".json" and path.stat().st_size > largest:
            return Fault("unreadable-file", f"{shown} is larger than {largest >> 20} MiB: no {meant} is")
        return path.read_bytes()
    except FileNotFoundError:
        if path.is_symlink():
            return Fault("unreadable-file", f"{shown} is a symbolic link that leads nowhere")
        return Fault("missing-path", f"no such file: {shown}; check the path")
    except IsADirectoryError:
        return Fault("unreadable-file", f"{shown} is a folder, not a file")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Fault("unreadable-file", f"cannot read {shown}: {reason}")


def may_speak(source: Source) -> bool:
    """Whether a file may hold a comment for opscan: a YAML or Python file with its name in it."""
    return source.path.suffix.lower() in (".yaml", ".yml", ".py") and "opscan" in source.text


def text_of(path: Path) -> str:
    """The text of a regular file of usual size; empty for anything else."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_TEXT:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return ""
