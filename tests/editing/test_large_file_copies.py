"""What is written of a large file is a copy with the edits in it, and nothing is left where that fails."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from opscan.editing import Edited, StaleFileError, apply_edits, large_files, replace_case_acc, write_atomically
from opscan.model import CaseFile, Edit
from opscan.reading import files, locate, located, read_file, stored

ENTRIES = [
    {"id": number, "name": "算子 😀" if number % 3 else "torch.add", "standard": {"acc": "equal"}, "inputs": []}
    for number in range(400)
]
WANTED = [0, 3, 4, 200, 201, 399]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGE", 1)
    monkeypatch.setattr(stored, "_PIECE", 257)
    monkeypatch.setattr(stored, "_CLOCK_STEP", 0.0)
    monkeypatch.setattr(large_files, "_SMALL", 64)


def edited(path: Path, line_end: str = "\n", bom: bool = False) -> Edited:
    text = json.dumps(ENTRIES, indent=1, ensure_ascii=False).replace("\n", line_end)
    path.write_bytes((b"\xef\xbb\xbf" if bom else b"") + text.encode("utf-8"))
    read = read_file(path)
    assert isinstance(read, CaseFile)
    value = {"mixed_tolerance_bm": {"备注": 1}}
    edits = [replace_case_acc(index, value, place) for index, place in located(read, WANTED)]
    made = apply_edits(read.source, [edit for edit in edits if isinstance(edit, Edit)])
    assert not made.refused
    assert len(made.applied) == len(WANTED)
    return made


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize("bom", [False, True])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_copy_with_edits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line_end: str, bom: bool, by_hand: bool
) -> None:
    def refuse(*_: Any) -> int:
        raise OSError

    path = tmp_path / "x.json"
    made = edited(path, line_end, bom)
    expected = (b"\xef\xbb\xbf" if bom else b"") + "".join(made.pieces()).encode("utf-8")
    if by_hand:
        monkeypatch.setattr(os, "copy_file_range", refuse, raising=False)
        monkeypatch.setattr(os, "sendfile", refuse, raising=False)
    write_atomically(path, made.source, made.content())
    assert path.read_bytes() == expected
    after = json.loads(expected.decode("utf-8-sig"))
    assert [index for index, one in enumerate(after) if one != ENTRIES[index]] == WANTED
    assert os.listdir(tmp_path) == ["x.json"]


@pytest.mark.parametrize("index", [0, 1, 199, 399])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_places_are_the_same_from_anywhere(tmp_path: Path, line_end: str, index: int) -> None:
    path = tmp_path / "x.json"
    edited(path, line_end)
    read = read_file(path)
    assert isinstance(read, CaseFile)
    held = read_file_held(path)
    assert locate(read, [index]) == locate(held, [index])
    assert locate(read, range(400)) == locate(held, range(400))


def read_file_held(path: Path) -> CaseFile:
    from opscan.model import Source
    from opscan.reading.cases import read_cases

    read = read_cases(Source(path, path.read_bytes().decode("utf-8")))
    assert isinstance(read, CaseFile)
    return read


def test_a_file_that_changes_while_it_is_copied_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    made = edited(path)
    copy = large_files._copy_bytes

    def meddle(*arguments: Any) -> None:
        copy(*arguments)
        os.utime(path, ns=(1, 1))

    monkeypatch.setattr(large_files, "_copy_bytes", meddle)
    before = path.read_bytes()
    with pytest.raises(StaleFileError):
        write_atomically(path, made.source, made.content())
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.json"]


@pytest.mark.parametrize("wrong", [b"", b"x"])
def test_a_copy_that_is_not_what_was_verified_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: bytes
) -> None:
    path = tmp_path / "x.json"
    made = edited(path)
    copy = large_files._copy_bytes

    def spoil(old: Any, new: Any, begin: int, end: int) -> None:
        copy(old, new, begin + 1, end)
        new.write(wrong)

    monkeypatch.setattr(large_files, "_copy_bytes", spoil)
    before = path.read_bytes()
    with pytest.raises(OSError, match="nothing was written"):
        write_atomically(path, made.source, made.content())
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.json"]
