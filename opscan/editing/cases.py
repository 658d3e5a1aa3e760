"""The edit that makes one case of a case file say another standard, in the file's own formatting."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

from opscan.model import Edit
from opscan.reading.case_spans import CaseSpans
from opscan.reading.json_text import members


def replace_case_acc(index: int, value: Any, place: CaseSpans) -> Edit | str:
    """The edit after which `standard.acc` of the case at `index` is `value`, or the reason why none can be given."""
    text, start = place.text, place.case.start
    written = _compact(place, value)
    if place.acc is not None:
        if text[place.acc.start - start : place.acc.end - start] == written:
            return "the case already says this"
        where = (index, "standard", "acc")
        return Edit(place.acc.start, place.acc.end, written, where, value, (start, place.case.end))
    colon = ": " if _blank_after_colon(place) else ":"
    if place.standard is not None:
        entry = f'"acc"{colon}{written}'
        return _insert(place, place.standard.start - start, entry, (index, "standard", "acc"), value)
    entry = f'"standard"{colon}{{"acc"{colon}{written}}}'
    return _insert(place, 0, entry, (index, "standard"), {"acc": value})


def _insert(place: CaseSpans, start: int, entry: str, where: tuple[str | int, ...], value: Any) -> Edit | str:
    """A new first member of the object at `start` in the case, set off as the member after it is."""
    text, base, within = place.text, place.case.start, (place.case.start, place.case.end)
    if text[start : start + 1] != "{":
        return "`standard` is not an object"
    first = next(members(text, start), None)
    if first is None:
        return Edit(base + start + 1, base + start + 1, entry, where, value, within)
    gap = text[start + 1 : first.key_start] or _gap_after_comma(text, start)
    return Edit(base + first.key_start, base + first.key_start, f"{entry},{gap}", where, value, within)


def _gap_after_comma(text: str, start: int) -> str:
    found = list(islice(members(text, start), 2))
    between = text[found[0].end : found[1].key_start] if len(found) == 2 else ", "
    return between.partition(",")[2]


def _compact(place: CaseSpans, value: Any) -> str:
    """The value on one line, with blanks after ':' and ',' where the case has them."""
    blank = " " if _blank_after_colon(place) else ""
    return json.dumps(value, ensure_ascii=place.text.isascii(), separators=(f",{blank}", f":{blank}"))


def _blank_after_colon(place: CaseSpans) -> bool:
    around = place.standard or place.case
    found = next(members(place.text, around.start - place.case.start), None)
    return found is None or place.text[found.key_end : found.start].partition(":")[2] != ""
