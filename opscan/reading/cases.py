"""Generated case files: JSON lists of concrete cases, read one by one: a hundred thousand of them take little room.

Platforms add keys of their own, so unknown keys mean nothing here. A value of the wrong type makes the case unusable:
it is left out with a fault, since a case without its shapes would look like one that needs no standard.
"""

from __future__ import annotations

import json
import re
from array import array
from typing import Any

from opscan.model import CaseFile, Fault, Source
from opscan.reading.case_checks import Slip, slips
from opscan.reading.case_spans import CaseSpans, lines_within, located
from opscan.reading.case_table import CaseCollector, CaseTable
from opscan.reading.case_values import UnusableError, read_case
from opscan.reading.json_stream import BrokenError, NotAListError, elements
from opscan.reading.json_text import duplicate_keys
from opscan.reading.positions import span_at

_LOOKS_LIKE_CASES = re.compile(r"\s*\[\s*\{")
_CASE_KEYS = re.compile(r"[\"'](?:inputs|standard)[\"']")
_NEAR_START = 4096


def read_cases(source: Source) -> CaseFile | Fault | None:
    """The cases of a JSON text; None where it is something else, a fault where it is broken before the first case."""
    reading = _Reading()
    broken = None
    try:
        for value, start, _, doubled in elements(source.text):
            reading.add(value, start, doubled)
    except NotAListError:
        return None
    except BrokenError as error:
        if not looks_like_cases(source.text):
            return None
        broken = _syntax_fault(source, error)
    if not reading.has_cases:
        return broken
    faults = [broken] if broken else []
    return CaseFile(source, reading.table, (*faults, *reading.faults(source)), reading.starts)


class _Identities:
    """The ids of the cases of one operator. Those that count up, as most do, are kept as one range."""

    __slots__ = ("_first", "_next", "_others")

    def __init__(self) -> None:
        self._first = self._next = 0
        self._others: set[Any] = set()

    def is_new(self, identity: Any) -> bool:
        """Whether an id is the first of its value; it is taken in."""
        if type(identity) is int:
            if identity == self._next and identity not in self._others:
                self._next += 1
                return True
            if self._first == self._next:
                self._first, self._next = identity, identity + 1
                return True
            if self._first <= identity < self._next:
                return False
        else:
            identity = repr(identity)
        count = len(self._others)
        self._others.add(identity)
        return len(self._others) > count


class _Reading:
    """What has been read so far."""

    def __init__(self) -> None:
        self.starts = array("Q")
        self.has_cases = False
        self._collector = CaseCollector(read_case)
        self._unusable: dict[int, str] = {}
        self._repeated: dict[int, str] = {}
        self._doubled: list[int] = []
        self._seen: dict[str | None, _Identities] = {}
        self._slips: dict[Slip, array[int]] = {}

    @property
    def table(self) -> CaseTable:
        return self._collector.table

    def add(self, entry: Any, start: int, doubled: bool) -> None:
        index = len(self.starts)
        self.starts.append(start)
        self.has_cases = self.has_cases or _is_case(entry)
        if doubled:
            self._doubled.append(index)
        for slip in slips(entry):
            self._slips.setdefault(slip, array("I")).append(index)
        try:
            self._collector.add(index, entry)
        except UnusableError as error:
            self._unusable[index] = f"this case is left out: {error}"
            return
        except RecursionError:
            self._unusable[index] = "this case is left out: it is nested too deeply"
            return
        identity = entry.get("id")
        if identity is not None:
            seen = self._seen.get(entry.get("name")) or self._seen.setdefault(entry.get("name"), _Identities())
            if not seen.is_new(identity):
                self._repeated[index] = "this case has the name and id of another one; ATK needs them unique"

    def faults(self, source: Source) -> list[Fault]:
        """The faults of single cases, with their places."""
        if not self.has_cases:
            return []
        slipped: dict[int, list[Slip]] = {}
        for slip, indices in self._slips.items():
            for index in indices:
                slipped.setdefault(index, []).append(slip)
        wanted = {*self._unusable, *self._repeated, *self._doubled, *slipped}
        if not wanted:
            return []
        doubled = set(self._doubled)
        faults, doubles = [], []
        for index, place in located(CaseFile(source, (), (), self.starts), wanted):
            for rule, messages in (("wrong-type", self._unusable), ("duplicate-key", self._repeated)):
                if index in messages:
                    faults.append(Fault(rule, messages[index], place.case))
            faults += [_fault_of(slip, place) for slip in slipped.get(index, ())]
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


def _fault_of(slip: Slip, place: CaseSpans) -> Fault:
    written = json.dumps(slip.written, ensure_ascii=False)
    start = place.text.find(written)
    span = place.case if start < 0 else lines_within(place)(start, start + len(written))
    return Fault(slip.rule, slip.message, span, severity=slip.severity)


def _is_case(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and "inputs" in entry
        and ("name" in entry or "aclnn_name" in entry or "standard" in entry)
    )


def looks_like_cases(text: str) -> bool:
    """Whether a text that is no JSON was meant as a case file."""
    return _LOOKS_LIKE_CASES.match(text[:_NEAR_START]) is not None and _CASE_KEYS.search(text[:_NEAR_START]) is not None


def _syntax_fault(source: Source, error: BrokenError) -> Fault:
    span = span_at(source.text, error.offset)
    if not error.syntax:
        return Fault("json-syntax", f"not readable: {error.reason}", span)
    # the decoder's own words end where its position would follow
    reason = error.reason.removesuffix(" at").removesuffix(" starting")
    reason = f"{reason[0].lower()}{reason[1:]}"
    if error.cut:
        return Fault("json-syntax", f"the file is cut off: {reason}; the cases before it are read", span)
    return Fault("json-syntax", f"not JSON: {reason}", span)
