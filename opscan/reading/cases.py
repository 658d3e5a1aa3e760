"""Generated case files: JSON lists of concrete cases, read one by one so that a file of any size can be.

Platforms add keys of their own, so unknown keys mean nothing here. A value of the wrong type makes the case unusable:
it is left out with a fault, since a case without its shapes would look like one that needs no standard.
"""

from __future__ import annotations

import json
import re
from array import array
from typing import Any

from opscan.model import Case, CaseFile, Fault, Source
from opscan.reading.case_spans import lines_within, located
from opscan.reading.case_values import CaseReader
from opscan.reading.json_stream import BrokenError, NotAListError, stream_elements
from opscan.reading.json_text import duplicate_keys
from opscan.reading.passages import span_in

_LOOKS_LIKE_CASES = re.compile(r"\s*\[\s*\{")
_CASE_KEYS = re.compile(r"[\"'](?:inputs|standard)[\"']")
_NEAR_START = 4096


class _Pairs:
    """Builds objects and notices keys that stand twice."""

    def __init__(self) -> None:
        self.duplicates = False

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) != len(pairs):
            self.duplicates = True
        return built


def read_cases(source: Source) -> CaseFile | Fault | None:
    """The cases of a JSON text; None where it is something else, a fault where it is broken before the first case.

    Raises UnicodeDecodeError where a file that is read in pieces is not UTF-8.
    """
    reading = _Reading()
    pairs = _Pairs()
    broken = None
    try:
        for value, start, _ in stream_elements(source.pieces(), json.JSONDecoder(object_pairs_hook=pairs)):
            reading.add(value, start, pairs.duplicates)
            pairs.duplicates = False
    except NotAListError:
        return None
    except BrokenError as error:
        if not looks_like_cases(_beginning(source)):
            return None
        broken = _syntax_fault(source, error)
    if not reading.has_cases:
        return broken
    faults = [broken] if broken else []
    return CaseFile(source, tuple(reading.cases), (*faults, *reading.faults(source)), reading.starts)


class _Reading:
    """What has been read so far."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.starts = array("Q")
        self.has_cases = False
        self._reader = CaseReader()
        self._unusable: dict[int, str] = {}
        self._repeated: dict[int, str] = {}
        self._doubled: list[int] = []
        self._seen: dict[str | None, set[Any]] = {}

    def add(self, entry: Any, start: int, doubled: bool) -> None:
        index = len(self.starts)
        self.starts.append(start)
        self.has_cases = self.has_cases or _is_case(entry)
        if doubled:
            self._doubled.append(index)
        case = self._reader.read(index, entry)
        if isinstance(case, str):
            self._unusable[index] = f"this case is left out: {case}"
            return
        self.cases.append(case)
        if case.id is not None:
            seen = self._seen.setdefault(case.name, set())
            identity = case.id if type(case.id) is int else repr(case.id)
            if identity in seen:
                self._repeated[index] = "this case has the name and id of another one; ATK needs them unique"
            seen.add(identity)

    def faults(self, source: Source) -> list[Fault]:
        """The faults of single cases, with their places."""
        wanted = {*self._unusable, *self._repeated, *self._doubled}
        if not wanted:
            return []
        doubled = set(self._doubled)
        faults, doubles = [], []
        for index, place in located(CaseFile(source, (), (), self.starts), wanted):
            for rule, messages in (("wrong-type", self._unusable), ("duplicate-key", self._repeated)):
                if index in messages:
                    faults.append(Fault(rule, messages[index], place.case))
            if index in doubled:
                lines = lines_within(place)
                doubles += [
                    Fault(
                        "duplicate-key",
                        f"the key {member.key!r} stands twice in one object; readers take this one",
                        lines(member.key_start, member.key_end),
                    )
                    for member in sorted(duplicate_keys(place.text, 0), key=lambda member: member.key_start)
                ]
        return faults + doubles


def _beginning(source: Source) -> str:
    text = ""
    for piece in source.pieces():
        text += piece
        if len(text) >= _NEAR_START:
            break
    return text


def _is_case(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and "inputs" in entry
        and ("name" in entry or "aclnn_name" in entry or "standard" in entry)
    )


def looks_like_cases(text: str) -> bool:
    """Whether a text that is no JSON was meant as a case file."""
    return _LOOKS_LIKE_CASES.match(text) is not None and _CASE_KEYS.search(text[:_NEAR_START]) is not None


def _syntax_fault(source: Source, error: BrokenError) -> Fault:
    span = span_in(source.pieces(), error.offset)
    if not error.syntax:
        return Fault("json-syntax", f"not readable: {error.reason}", span)
    # the decoder's own words end where its position would follow
    reason = error.reason.removesuffix(" at").removesuffix(" starting")
    reason = f"{reason[0].lower()}{reason[1:]}"
    if error.cut:
        return Fault("json-syntax", f"the file is cut off: {reason}; the cases before it are read", span)
    return Fault("json-syntax", f"not JSON: {reason}", span)
