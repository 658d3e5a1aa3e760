"""The elements of a JSON list one by one, so that those before a broken place are still read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()  # without hooks, so that it stays in C


class NotAListError(ValueError):
    """The text does not begin as a JSON list."""


class BrokenError(ValueError):
    """The text is no JSON: `reason` at `offset`. `cut`: it ends too soon."""

    def __init__(self, reason: str, offset: int, *, cut: bool = False, syntax: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset
        self.cut = cut
        self.syntax = syntax


def elements(text: str) -> Iterator[tuple[Any, int, int, bool]]:
    """The elements of the list as (value, start, end, whether a key stands twice in an object).

    Raises BrokenError at the first place that no JSON has, after the elements before it; NotAListError at once.
    """
    at = _skip(text, 0)
    if text[at : at + 1] != "[":
        raise NotAListError
    at = _skip(text, at + 1)
    more = text[at : at + 1] != "]"
    while more:
        value, end = _decode(text, at)
        colons = text.count(":", at, end)
        yield value, at, end, colons != _near_keys(value) and colons != _keys(value) and _doubled(text, at)
        at = _skip(text, end)
        more = text[at : at + 1] != "]"
        if more:
            if text[at : at + 1] != ",":
                raise _broken("Expecting ',' delimiter", text, at)
            at = _skip(text, at + 1)
    behind = _skip(text, at + 1)
    if behind < len(text):
        raise _broken("Extra data", text, behind)


def _skip(text: str, at: int) -> int:
    """The next place without a blank; the end of the text where there is none."""
    return _BLANKS.match(text, at).end()  # type: ignore[union-attr]  # it matches no blanks too


def _decode(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise _broken(error.msg, text, error.pos) from None
    except RecursionError:
        raise BrokenError("nested too deeply", at, syntax=False) from None
    except ValueError:
        raise BrokenError("a number has too many digits", at, syntax=False) from None


def _broken(reason: str, text: str, at: int) -> BrokenError:
    cut = not text[at:].strip() or reason.startswith("Unterminated string")
    return BrokenError(reason, at, cut=cut)


def _near_keys(value: Any) -> int:
    """The keys of an object, of the objects in it, and of those in its lists: in most elements all there are."""
    if type(value) is not dict:
        return -1
    count = len(value)
    for member in value.values():
        kind = type(member)
        if kind is dict:
            count += len(member)
        elif kind is list:
            for item in member:
                if type(item) is dict:
                    count += len(item)
    return count


def _keys(value: Any) -> int:
    """The keys of all objects in a value; where one stands twice there are fewer than colons."""
    count, left = 0, [value]
    while left:
        one = left.pop()
        if type(one) is dict:
            count += len(one)
            left += one.values()
        elif type(one) is list:
            left += one
    return count


def _doubled(text: str, at: int) -> bool:
    """Whether a key stands twice in an object of the value at `at`; else its texts hold the colons too many."""
    found = False

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        built = dict(pairs)
        found = found or len(built) != len(pairs)
        return built

    json.JSONDecoder(object_pairs_hook=build).raw_decode(text, at)
    return found
