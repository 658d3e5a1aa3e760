"""Places in JSON text: the members of objects and the elements of lists, with their offsets.

The stdlib decoder skips whole values at C speed, so only the objects on the way to a place are looked at here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from opscan.dataclass import dataclass
from opscan.model import KeyPath

_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Member:
    """One `"key": value` of an object: offsets of the key's quotes and of the value."""

    key: str
    key_start: int
    key_end: int
    start: int
    end: int


def skip_blanks(text: str, offset: int) -> int:
    match = _BLANKS.match(text, offset)
    return match.end() if match else offset


def value_end(text: str, start: int, decoder: json.JSONDecoder = _DECODER) -> tuple[Any, int]:
    """The value that starts at `start` and where it ends; ValueError or RecursionError where it is cut off."""
    value, end = decoder.raw_decode(text, start)
    return value, end


def elements(text: str, start: int, decoder: json.JSONDecoder = _DECODER) -> Iterator[tuple[Any, int, int]]:
    """The elements of the list at `start` as (value, start, end), up to the first that is not whole."""
    if text[start : start + 1] != "[":
        return
    offset = skip_blanks(text, start + 1)
    while offset < len(text) and text[offset] != "]":
        try:
            value, end = value_end(text, offset, decoder)
        except (ValueError, RecursionError):
            return
        yield value, offset, end
        offset = skip_blanks(text, end)
        if text[offset : offset + 1] != ",":
            return
        offset = skip_blanks(text, offset + 1)


def members(text: str, start: int) -> Iterator[Member]:
    """The members of the object at `start`, duplicates included, up to the first that is not whole."""
    if text[start : start + 1] != "{":
        return
    offset = skip_blanks(text, start + 1)
    while text[offset : offset + 1] == '"':
        try:
            key, key_end = value_end(text, offset)
            colon = skip_blanks(text, key_end)
            if text[colon : colon + 1] != ":":
                return
            begin = skip_blanks(text, colon + 1)
            _, end = value_end(text, begin)
        except (ValueError, RecursionError):
            return
        yield Member(key, offset, key_end, begin, end)
        offset = skip_blanks(text, end)
        if text[offset : offset + 1] != ",":
            return
        offset = skip_blanks(text, offset + 1)


def last_member(text: str, start: int, key: str) -> Member | None:
    """The member that counts for a reader: the last one of that key."""
    found = None
    for member in members(text, start):
        if member.key == key:
            found = member
    return found


def place_of(text: str, path: KeyPath) -> tuple[int, int]:
    """Start and end of the value at a key path, or of the deepest value on the way to it that is there."""
    start, end = 0, value_end(text, 0)[1]
    for part in path:
        if isinstance(part, int):
            element = next(islice(elements(text, start), part, None), None)
            found = element[1:] if element is not None else None
        else:
            member = last_member(text, start, part)
            found = (member.start, member.end) if member is not None else None
        if found is None:
            break
        start, end = found
    return start, end


def duplicate_keys(text: str, start: int) -> Iterator[Member]:
    """Every member, at any depth, whose key stands earlier in the same object."""
    stack = [start]
    while stack:
        offset = stack.pop()
        if text[offset : offset + 1] == "[":
            stack.extend(begin for value, begin, _ in elements(text, offset) if isinstance(value, (dict, list)))
            continue
        seen = set()
        for member in members(text, offset):
            if member.key in seen:
                yield member
            seen.add(member.key)
            if text[member.start] in "[{":
                stack.append(member.start)
