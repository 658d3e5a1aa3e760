"""Text from strangers, made safe to print and measured in columns.

A path or a message can hold line ends, escape sequences, bidirectional overrides, undecodable bytes and wide
characters. None of them may break a line, a terminal or a table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

# C0 and C1 controls without tab and line ends; lone surrogates (undecodable bytes of a path); overrides of the reading
# direction, with which a text can show something else than it holds; two noncharacters that XML forbids.
_HIDDEN = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
_PIECES = r"[^\s./_:-]*[./_:-]*|\s+"
_BREAKS = "[\t\n\r\u2028\u2029]"
_DEEPEST = 32
_SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def visible(text: str) -> str:
    """The text with every hidden character written as an escape; tabs and line ends stay."""
    # what can be printed hides nothing
    return text if text.isprintable() else re.sub(_HIDDEN, _escape, text)


def one_line(text: str) -> str:
    """A message as a single line: runs of white space become one space, hidden characters become escapes."""
    return visible(" ".join(text.split()))


def one_word(text: str) -> str:
    """A path or a name on a single line: nothing is dropped, line ends and tabs become escapes too."""
    return text if text.isprintable() else re.sub(_BREAKS, _escape, visible(text))


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def columns(text: str) -> int:
    """How many terminal columns the text takes: wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def _columns_of(character: str) -> int:
    import unicodedata

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shorten(text: str, width: int) -> str:
    """The text cut to `width` columns, with an ellipsis where something is missing."""
    return text if columns(text) <= width else _cut(text, width - 1)[0] + "…"


def pieces(text: str) -> list[str]:
    """What a line may not break within unless it must: words, and their parts up to a dot, slash, hyphen or colon."""
    return [piece for piece in re.findall(_PIECES, text) if piece.strip()] or [""]


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most `width` columns, each led by `indent`; line ends in the text stay, long words are cut."""
    lines = []
    room = max(width - columns(indent), 2)
    for paragraph in visible(text).splitlines() or [""]:
        line = ""
        for word in paragraph.split():
            rest = word
            while rest:
                joined = f"{line} {rest}" if line else rest
                if columns(joined) <= room:
                    line, rest = joined, ""
                elif line:
                    lines.append(line)
                    line = ""
                else:
                    line, rest = _cut_kindly(rest, room)
                    lines.append(line)
                    line = ""
        lines.append(line)
    return [f"{indent}{line}".rstrip() for line in lines]


def _cut_kindly(text: str, width: int) -> tuple[str, str]:
    """Cut at the last dot, slash, hyphen or colon that fits, if there is one."""
    head = ""
    for piece in pieces(text):
        if columns(head + piece) > width:
            break
        head += piece
    return (head, text[len(head) :]) if head else _cut(text, width)


def _cut(text: str, width: int) -> tuple[str, str]:
    taken = 0
    for position, character in enumerate(text):
        taken += _columns_of(character)
        if taken > width:
            return text[:position], text[position:]
    return text, ""


def plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON can hold it: what YAML knows beyond JSON (dates, .nan, keys that are no text) becomes text."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return str(value)
    if depth >= _DEEPEST:
        return "..."  # a YAML anchor may hold itself
    if isinstance(value, Mapping):
        return {str(key): plain(member, depth + 1) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(member, depth + 1) for member in value]
    return str(value)
