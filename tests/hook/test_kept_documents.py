"""What was parsed is kept for the next run, and a wrong, old, broken or forbidden copy is never taken for the file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opscan import cache
from opscan.judging import standards_file
from opscan.judging.standards_file import StandardsError, read_document

TEXT = "schema: 1\nnames: {a: [1, 2.5, true, null, text], 3: {b: c}}\nsame: &s [x]\nagain: *s\n"
VALUE = {
    "schema": 1,
    "names": {"a": [1, 2.5, True, None, "text"], 3: {"b": "c"}},
    "same": ["x"],
    "again": ["x"],
}


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("OPSCAN_CACHE", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that lies where those that ship lie."""
    monkeypatch.setattr(standards_file, "data_path", lambda *_: tmp_path)
    path = tmp_path / "rules.yaml"
    path.write_text(TEXT)
    return path


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def never_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: object) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr(standards_file, "_parsed", parse)


def test_a_file_is_parsed_once(file: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read_document(file)
    assert len(files_below(kept)) == 1
    never_parsed(monkeypatch)
    second = read_document(file)
    assert first == second
    assert second.value == VALUE
    assert second.places["names", "a", 1] == (2, 16)
    assert list(second.value) == list(first.value)


def test_a_changed_text_counts_even_at_the_same_size_and_time(file: Path) -> None:
    read_document(file)
    status = file.stat()
    file.write_text(TEXT.replace("schema: 1", "schema: 2"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert file.stat().st_mtime_ns == status.st_mtime_ns
    assert file.stat().st_size == status.st_size
    assert read_document(file).value == VALUE | {"schema": 2}


def test_another_parser_parses_anew(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_document(file)
    monkeypatch.setattr(standards_file, "_maker", lambda: "another")
    never_parsed(monkeypatch)
    with pytest.raises(AssertionError, match="parsed again"):
        read_document(file)


def test_a_damaged_copy_is_no_copy(file: Path, kept: Path) -> None:
    read_document(file)
    (copy,) = files_below(kept)
    whole = copy.read_bytes()
    damaged = [whole[:size] for size in range(0, len(whole), 7)] + [whole + b"x", b"\0" * len(whole)]
    damaged += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole))]
    for content in damaged:
        copy.write_bytes(content)
        assert read_document(file).value == VALUE
    assert copy.read_bytes() == whole


def test_a_copy_under_the_name_of_another_file_is_not_taken(file: Path, tmp_path: Path, kept: Path) -> None:
    read_document(file)
    (copy,) = files_below(kept)
    other = tmp_path / "other.yaml"
    other.write_text("schema: 7\n")
    read_document(other)
    (second,) = (path for path in files_below(kept) if path != copy)
    second.write_bytes(copy.read_bytes())
    assert read_document(other).value == {"schema": 7}


@pytest.mark.parametrize("way", ["off", "a file where the folder should be", "not writable"])
def test_without_a_cache_all_is_as_with_one(way: str, file: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "off":
        monkeypatch.setenv("OPSCAN_CACHE", "off")
    elif way == "not writable":
        monkeypatch.setattr(Path, "write_bytes", lambda *_: (_ for _ in ()).throw(PermissionError("no")))
    else:
        kept.write_text("")
    assert read_document(file).value == VALUE
    assert read_document(file).value == VALUE
    assert [path for path in files_below(kept.parent) if path not in (file, kept)] == []


def test_switched_off_not_even_a_kept_copy_is_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_document(file)
    never_parsed(monkeypatch)
    monkeypatch.setenv("OPSCAN_CACHE", "off")
    with pytest.raises(AssertionError, match="parsed again"):
        read_document(file)


def test_what_is_not_plain_is_read_and_not_kept(file: Path, kept: Path) -> None:
    import datetime

    file.write_text("day: 2026-11-30\n")
    assert read_document(file).value == {"day": datetime.date(2026, 11, 30)}
    assert read_document(file).value == {"day": datetime.date(2026, 11, 30)}
    assert files_below(kept) == []


@pytest.mark.parametrize("text", ["a: [", "a: 1\na: 2\n", "- 1\n", "a: 1\n---\nb: 2\n"])
def test_what_is_wrong_is_said_every_time(text: str, file: Path) -> None:
    file.write_text(text)
    told = []
    for _ in range(2):
        with pytest.raises(StandardsError) as problem:
            read_document(file)
        told.append(str(problem.value))
    assert told[0] == told[1]
    assert told[0].startswith(f"{file}:")


def test_what_does_not_ship_is_not_kept(file: Path, kept: Path) -> None:
    own = file.parent / "own" / file.name
    own.parent.mkdir()
    own.write_text(TEXT)
    assert read_document(own).value == VALUE
    assert files_below(kept) == []


def test_several_processes_keep_at_once(file: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
import sys
from pathlib import Path
from opscan.judging import standards_file
from opscan.judging.standards_file import read_document
standards_file.data_path = lambda *_: Path(sys.argv[1]).parent
for _ in range(50):
    assert read_document(Path(sys.argv[1])).value["schema"] == 1
    for copy in Path(sys.argv[2]).rglob("*"):
        if copy.is_file() and not copy.suffix:
            copy.unlink(missing_ok=True)
"""
    command = [sys.executable, "-c", program, str(file), str(kept)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    assert [process.communicate()[1] for process in running] == [b""] * 3
    read_document(file)
    never_parsed(monkeypatch)
    assert read_document(file).value == VALUE
    assert [path for path in files_below(kept) if path.suffix] == []


def test_the_place_of_a_copy_is_one_for_a_file_and_a_python(file: Path, kept: Path) -> None:
    cache.keep(file, "text", "maker", [1])
    (copy,) = files_below(kept)
    assert copy.parent.name == f"parsed-{sys.implementation.cache_tag}"
    assert cache.recall(file, "text", "maker") == [1]
    assert cache.recall(file, "text ", "maker") is None
    assert cache.recall(file, "text", "other") is None
