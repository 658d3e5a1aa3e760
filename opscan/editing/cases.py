"""The edit that makes one case of a case file say another standard, in the file's own formatting."""

from __future__ import annotations

import json
from typing import Any

from opscan.model import CaseFile, Edit
from opscan.reading.cases import CaseSpans
from opscan.reading.json_text import members


def replace_case_acc(case_file: CaseFile, index: int, value: Any, spans: CaseSpans) -> Edit | str:
    """The edit after which `standard.acc` of the case at `index` is `value`, or the reason why none can be given."""
    text = case_file.source.text
    written = _compact(text, spans, value)
    if spans.acc is not None:
        if text[spans.acc.start : spans.acc.end] == written:
            return "the case already says this"
        return Edit(spans.acc.start, spans.acc.end, written, (index, "standard", "acc"), value)
    colon = ": " if _blank_after_colon(text, spans) else ":"
    if spans.standard is not None:
        entry = f'"acc"{colon}{written}'
        return _insert(text, spans.standard.start, entry, (index, "standard", "acc"), value)
    entry = f'"standard"{colon}{{"acc"{colon}{written}}}'
    return _insert(text, spans.case.start, entry, (index, "standard"), {"acc": value})


def _insert(text: str, start: int, entry: str, where: tuple[str | int, ...], value: Any) -> Edit | str:
    """A new first member of the object at `start`, set off as the member after it is."""
    if text[start : start + 1] != "{":
        return "`standard` is not an object"
    first = next(members(text, start), None)
    if first is None:
        return Edit(start + 1, start + 1, entry, where, value)
    gap = text[start + 1 : first.key_start]
    return Edit(first.key_start, first.key_start, f"{entry},{gap or _gap_after_comma(text, start)}", where, value)


def _gap_after_comma(text: str, start: int) -> str:
    found = list(members(text, start))[:2]
    between = text[found[0].end : found[1].key_start] if len(found) == 2 else ", "
    return between.partition(",")[2]


def _compact(text: str, spans: CaseSpans, value: Any) -> str:
    """The value on one line, with blanks after ':' and ',' where the file has them."""
    blank = " " if _blank_after_colon(text, spans) else ""
    return json.dumps(value, ensure_ascii=text.isascii(), separators=(f",{blank}", f":{blank}"))


def _blank_after_colon(text: str, spans: CaseSpans) -> bool:
    around = spans.standard or spans.case
    found = next(members(text, around.start), None)
    return found is None or text[found.key_end : found.start].partition(":")[2] != ""
