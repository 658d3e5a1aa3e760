"""Files are replaced whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from opscan.editing import StaleFileError, write_atomically
from opscan.model import Source
from opscan.reading.texts import decode


def read(path: Path) -> Source:
    source = decode(path, path.read_bytes())
    assert isinstance(source, Source)
    return source


def test_bom_line_ends_and_mode_stay(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\rc: 3\n")
    path.chmod(0o640)
    source = read(path)
    write_atomically(path, source, source.text.replace("1", "中"))
    assert path.read_bytes() == b"\xef\xbb\xbfa: \xe4\xb8\xad\r\nb: 2\rc: 3\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["x.yaml"]


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs extended attributes")
def test_extended_attributes_stay(tmp_path: Path) -> None:
    """Access lists are kept in them."""
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: 1\n")
    try:
        os.setxattr(path, "user.owner", b"accuracy")
    except OSError as problem:
        pytest.skip(f"the file system has no extended attributes: {problem.strerror}")
    write_atomically(path, read(path), "a: 2\n")
    assert os.getxattr(path, "user.owner") == b"accuracy"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real" / "x.yaml"
    real.parent.mkdir()
    real.write_bytes(b"a: 1\n")
    link = tmp_path / "link.yaml"
    link.symlink_to(real)
    write_atomically(link, read(link), "a: 2\n")
    assert link.is_symlink()
    assert real.read_bytes() == b"a: 2\n"


@pytest.mark.parametrize("content", [b"a: 3\n", b"a: 1\r\n", b"\xef\xbb\xbfa: 1\n", b"a: 1"])
def test_a_changed_file_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: 1\n")
    source = read(path)
    path.write_bytes(content)
    with pytest.raises(StaleFileError, match="changed since"):
        write_atomically(path, source, "a: 2\n")
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["x.yaml"]


@pytest.mark.parametrize("failing", ["replace", "fsync", "chmod"])
def test_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: 1\n")
    source = read(path)

    def fail(*_args: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="no space"):
        write_atomically(path, source, "a: 2\n")
    assert path.read_bytes() == b"a: 1\n"
    assert os.listdir(tmp_path) == ["x.yaml"]


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "x.yaml", Source(tmp_path / "x.yaml", "a"), "b")
