"""Edits in a file that is too large to be held in memory: verified element by element, written as a copy with splices.

What no edit touches is copied as bytes by the system and never decoded; what was verified is looked at again in the
file that was written.
"""

from __future__ import annotations

import contextlib
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import groupby
from typing import IO, Any, overload

from opscan.editing.splicing import Edited, Refusal, apply_edits, splice
from opscan.model import Edit, KeyPath, Source
from opscan.reading.passages import Passage
from opscan.reading.stored import StoredSource, check_unchanged

_SMALL = 1 << 16
"""Bytes up to which a stretch is copied through a buffer: a system call for each would take longer."""
_HELD = 1 << 20


class Splices(Sequence[Edit]):
    """Verified edits in the order of the file, as numbers; an edit is put together when it is asked for."""

    def __init__(self, source: StoredSource) -> None:
        self._source = source
        self._starts, self._ends = array("Q"), array("Q")
        self._first_bytes, self._last_bytes = array("Q"), array("Q")
        self._heads, self._told, self._elements = array("I"), array("I"), array("I")
        self._texts: list[tuple[str, KeyPath, Any]] = []
        """What edits can say: text, key path within the element, value."""
        self._numbers: dict[tuple[str, KeyPath], int] = {}
        self._within: list[array[int]] = [array("Q"), array("Q")]
        self._places, self._sizes, self._digests = array("Q"), array("Q"), array("Q")
        """Of each element: its first byte, its new number of bytes, and their digest."""

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, position: int) -> Edit: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Edit]: ...
    def __getitem__(self, position: int | slice) -> Edit | Sequence[Edit]:
        if isinstance(position, slice):
            return [self[place] for place in range(*position.indices(len(self)))]
        text, tail, value = self._texts[self._told[position]]
        element = self._elements[position]
        within = self._within[0][element], self._within[1][element]
        where = (self._heads[position], *tail)
        return Edit(self._starts[position], self._ends[position], text, where, value, within)

    def add(self, element: str, place: int, edits: Iterable[Edit]) -> None:
        """Take in the verified edits of one element, which begins at byte `place`; their offsets are of the file."""
        within: tuple[int, int] | None = None
        own = []
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            within = edit.within or (0, 0)
            start, end = edit.start - within[0], edit.end - within[0]
            first = place + _size(element[:start])
            self._starts.append(edit.start)
            self._ends.append(edit.end)
            self._first_bytes.append(first)
            self._last_bytes.append(first + _size(element[start:end]))
            self._heads.append(int(edit.where[0]))
            self._told.append(self._number(edit))
            self._elements.append(len(self._places))
            own.append(Edit(start, end, edit.text, (), None))
        if within is None:
            return
        for bounds, bound in zip(self._within, within, strict=True):
            bounds.append(bound)
        written = splice(element, own).encode("utf-8")
        self._places.append(place)
        self._sizes.append(len(written))
        self._digests.append(_digest(written))

    def _number(self, edit: Edit) -> int:
        key = edit.text, edit.where[1:]
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._texts)
            self._texts.append((*key, edit.value))
        return number

    def write_into(self, file: IO[bytes]) -> None:
        """Write the new file from its start, and look at the changed elements in it.

        Raises StaleFileError where the old one is no longer what was read, OSError where something cannot be written.
        """
        path, signature = self._source.path, self._source.signature
        with open(path, "rb", buffering=_HELD) as old:
            check_unchanged(path, os.fstat(old.fileno()), signature)
            size = self._copy(old, file)
            check_unchanged(path, os.fstat(old.fileno()), signature)
        if os.fstat(file.fileno()).st_size != size:
            raise OSError(f"{path}: the new file has not the size it must have; nothing was written")
        self._check_written(file.fileno())

    def _copy(self, old: IO[bytes], new: IO[bytes]) -> int:
        """The number of bytes that are then written."""
        written = behind = 0
        for position, (first, last) in enumerate(zip(self._first_bytes, self._last_bytes, strict=True)):
            text = self._texts[self._told[position]][0].encode("utf-8")
            _copy_bytes(old, new, behind, first)
            new.write(text)
            written, behind = written + first - behind + len(text), last
        end = os.fstat(old.fileno()).st_size
        _copy_bytes(old, new, behind, end)
        new.flush()
        return written + end - behind

    def _check_written(self, handle: int) -> None:
        with open(handle, "rb", buffering=_HELD, closefd=False) as new:
            for place, size, digest in zip(self._new_places(), self._sizes, self._digests, strict=True):
                new.seek(place)
                if _digest(new.read(size)) != digest:
                    raise OSError(f"{self._source.path}: the new file is not what was verified; nothing was written")

    def _new_places(self) -> Iterator[int]:
        """Where each element begins in the new file."""
        shift = position = 0
        for number, place in enumerate(self._places):
            yield place + shift
            while position < len(self) and self._elements[position] == number:
                text = self._texts[self._told[position]][0]
                shift += _size(text) - (self._last_bytes[position] - self._first_bytes[position])
                position += 1


def apply_by_element(source: StoredSource, edits: Iterable[Edit]) -> Edited:
    """As `apply_edits`, in a JSON list that is too large to be read twice: each element is verified by itself.

    The reader has found the elements, and a list means what its elements mean, one by one. The edits come in the order
    of their elements.
    """
    splices, refused = Splices(source), []
    passage = Passage(source)
    last = 0
    try:
        for within, group in groupby(edits, key=lambda edit: edit.within):
            own = list({(edit.start, edit.end, edit.text): edit for edit in group}.values())
            if within is None:
                refused += [Refusal(edit, "the file is too large for this edit to be verified") for edit in own]
                continue
            start, last_end = within
            if start < last:
                refused += [Refusal(edit, "the edit overlaps an earlier one") for edit in own]
                continue
            last = last_end
            passage.go(start)
            element = passage.text_to(last_end)
            moved = [Edit(e.start - start, e.end - start, e.text, e.where[1:], e.value) for e in own]
            edited = apply_edits(Source(source.path, element), moved)
            original = dict(zip(map(id, moved), own, strict=True))
            splices.add(element, passage.byte, [original[id(edit)] for edit in edited.applied])
            refused += [Refusal(original[id(refusal.edit)], refusal.reason) for refusal in edited.refused]
    except OSError as problem:
        return Edited(source, (), (Refusal(Edit(0, 0, "", (), None), str(problem)),))
    return Edited(source, splices, tuple(refused))


def _copy_bytes(old: IO[bytes], new: IO[bytes], begin: int, end: int) -> None:
    """Copy a stretch to where `new` stands, in the system where it is long."""
    if end - begin > _SMALL:
        new.flush()
        for step in (_copy_range, _send_file):
            with contextlib.suppress(OSError, AttributeError):  # not everywhere, nor between all file systems
                while begin < end and (count := step(old, new, begin, end)):
                    begin += count
    old.seek(begin)
    while begin < end and (data := old.read(min(end - begin, _HELD))):
        new.write(data)
        begin += len(data)


def _copy_range(old: IO[bytes], new: IO[bytes], begin: int, end: int) -> int:
    return os.copy_file_range(old.fileno(), new.fileno(), min(end - begin, 1 << 30), begin)


def _send_file(old: IO[bytes], new: IO[bytes], begin: int, end: int) -> int:
    return os.sendfile(new.fileno(), old.fileno(), begin, min(end - begin, 1 << 30))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))


def _digest(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")
