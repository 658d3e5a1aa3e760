"""Where the cases of a case file stand, for the few of which it matters: found in one walk through the text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from opscan.dataclass import dataclass
from opscan.model import CaseFile, Span
from opscan.reading.json_stream import BrokenError, NotAListError, elements
from opscan.reading.json_text import last_member
from opscan.reading.positions import Lines, Walk

_DECODER = json.JSONDecoder()
_KEYS = {key: re.compile(rf'"{key}"[ \t\r\n]*:[ \t\r\n]*') for key in ("standard", "acc")}


@dataclass(frozen=True, slots=True)
class CaseSpans:
    """Where one case stands, and its `standard` and `standard.acc` values where it has them. `text`: of the case."""

    case: Span
    standard: Span | None = None
    acc: Span | None = None
    text: str = ""


def locate(case_file: CaseFile, indices: Collection[int]) -> Mapping[int, CaseSpans]:
    """The spans of the cases with these positions in the file; positions it does not have are left out."""
    return dict(located(case_file, indices))


def located(case_file: CaseFile, indices: Collection[int]) -> Iterator[tuple[int, CaseSpans]]:
    """As `locate`, one by one in the order of the file, so that not all their texts are held at once."""
    whole = case_file.source.text
    starts, walk = case_file.starts or _starts(whole), Walk(whole)
    for index in sorted(set(indices)):
        if 0 <= index < len(starts):
            start = starts[index]
            _, end = _DECODER.raw_decode(whole, start)
            yield index, _case_spans(whole[start:end], start, *walk.place(start))


def lines_within(place: CaseSpans) -> Callable[[int, int], Span]:
    """From offsets in the text of a case to spans of the file."""
    return _Shifted(place.text, place.case.start, place.case.line, place.case.column).span


def values_of(case_file: CaseFile) -> Iterator[tuple[int, Any]]:
    """The cases as they are written, one by one, with their positions; up to the first that is not whole."""
    try:
        for index, (value, *_) in enumerate(elements(case_file.source.text)):
            yield index, value
    except (BrokenError, NotAListError):
        return


def _starts(text: str) -> list[int]:
    found = []
    try:
        for _, start, *_ in elements(text):
            found.append(start)
    except (BrokenError, NotAListError):
        pass
    return found


class _Shifted:
    """The lines of a part of a text, counted as in the whole of it."""

    def __init__(self, text: str, start: int, line: int, column: int) -> None:
        self._lines = Lines(text)
        self._start, self._line, self._column = start, line, column

    def span(self, start: int, end: int) -> Span:
        return Span(self._start + start, self._start + end, *self._place(start), *self._place(end))

    def _place(self, offset: int) -> tuple[int, int]:
        line, column = self._lines.place(offset)
        return self._line + line - 1, column + (self._column - 1 if line == 1 else 0)


def _case_spans(text: str, start: int, line: int, column: int) -> CaseSpans:
    lines = _Shifted(text, start, line, column)
    case = lines.span(0, len(text))
    standard = _last_value(text, 0, len(text), "standard")
    if standard is None:
        return CaseSpans(case, text=text)
    acc = _last_value(text, *standard, "acc")
    return CaseSpans(case, lines.span(*standard), lines.span(*acc) if acc else None, text)


def _last_value(text: str, start: int, end: int, key: str) -> tuple[int, int] | None:
    """The value that counts for a reader, as (start, end): that of the last member of that key."""
    if text.count(f'"{key}"', start, end) == 1 and "\\" not in text:
        value, _ = _DECODER.raw_decode(text, start)
        found = _KEYS[key].search(text, start, end)
        if found is not None and isinstance(value, dict) and key in value:
            _, stop = _DECODER.raw_decode(text, found.end())
            return found.end(), stop  # the only place where the key is written is its own
    member = last_member(text, start, key)
    return None if member is None else (member.start, member.end)
