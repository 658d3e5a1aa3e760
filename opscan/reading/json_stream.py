"""The elements of a long JSON list, from text that comes in pieces: nothing behind the element at hand is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

_BLANKS = re.compile(r"[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
_DECODER = json.JSONDecoder()  # without hooks, so that it stays in C
_SETTLED = 64
"""Code points. An error so far before the end of the text at hand stays one whatever follows."""


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


def stream_elements(pieces: Iterable[str]) -> Iterator[tuple[Any, int, bool]]:
    """The elements of the list as (value, start in the whole text, whether a key stands twice in an object).

    Raises BrokenError at the first place that no JSON has, after the elements before it; NotAListError at once.
    """
    window = _Window(pieces)
    at = window.skip(0)
    if window.character(at) != "[":
        raise NotAListError
    at = window.skip(at + 1)
    if window.character(at) == "]":
        yield from window.finish(at + 1)
        return
    while True:
        value, at, end = window.decode(at)
        text = window.text
        colons = text.count(":", at, end)
        yield value, window.base + at, colons != _near_keys(value) and colons != _keys(value) and _doubled(text, at)
        comma = _COMMA.match(text, end)
        if comma is not None and comma.end() < len(text):
            at = comma.end()
            continue
        at = window.skip(end)
        character = window.character(at)
        if character == "]":
            yield from window.finish(at + 1)
            return
        if character != ",":
            raise window.broken("Expecting ',' delimiter", at)
        at = window.skip(at + 1)


class _Window:
    """The part of the text at hand; `base` is the offset of its first code point."""

    __slots__ = ("_pieces", "base", "exhausted", "text")

    def __init__(self, pieces: Iterable[str]) -> None:
        self.text = ""
        self.base = 0
        self.exhausted = False
        self._pieces = iter(pieces)

    def extend(self, at: int, count: int = 1) -> bool:
        """Forget what is before `at`, where the text then starts, and take in more pieces, if there are any."""
        more = [piece for _ in range(count) if (piece := next(self._pieces, None)) is not None]
        self.exhausted = not more
        if more:
            self.base += at
            self.text = "".join((self.text[at:], *more)) if at < len(self.text) or len(more) > 1 else more[0]
        return bool(more)

    def skip(self, at: int) -> int:
        """The next place without a blank; the end of the text where there is none."""
        while True:
            end = _BLANKS.match(self.text, at).end()  # type: ignore[union-attr]  # it matches no blanks too
            if end < len(self.text) or not self.extend(end):
                return end
            at = 0

    def character(self, at: int) -> str:
        return self.text[at : at + 1]

    def decode(self, at: int) -> tuple[Any, int, int]:
        """The value at `at`, and where it starts and ends in the text that is then at hand."""
        count = 1
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, at)
            except json.JSONDecodeError as error:
                settled = error.pos < len(self.text) - _SETTLED and not error.msg.startswith("Unterminated string")
                if settled or not self.extend(at, count):
                    raise self.broken(error.msg, error.pos) from None
            except RecursionError:
                raise BrokenError("nested too deeply", self.base + at, syntax=False) from None
            except ValueError:
                raise BrokenError("a number has too many digits", self.base + at, syntax=False) from None
            else:
                if end < len(self.text) or self.text[end - 1] in '}]"' or not self.extend(at, count):
                    return value, at, end
            at, count = 0, count * 2

    def broken(self, reason: str, at: int) -> BrokenError:
        cut = at >= len(self.text.rstrip()) or reason.startswith("Unterminated string")
        return BrokenError(reason, self.base + at, cut=cut)

    def finish(self, at: int) -> Iterator[tuple[Any, int, bool]]:
        """Nothing but blanks may follow."""
        at = self.skip(at)
        if at < len(self.text):
            raise self.broken("Extra data", at)
        yield from ()


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
