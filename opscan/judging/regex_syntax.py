"""The syntax of patterns: a text to a tree, refusing what cannot be matched in linear time, with its position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

MOST_STATES = 2_000
MOST_DEPTH = 50
CLASSES: dict[str, Callable[[str], bool]] = {
    "d": str.isdecimal,
    "w": lambda char: char.isalnum() or char == "_",
    "s": str.isspace,
}
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}

Test = Callable[[str], bool]


class PatternError(ValueError):
    """A pattern that is refused; `position` counts its characters from 0."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position


@dataclass(frozen=True)
class One:
    """One character that passes a test."""

    test: Test


@dataclass(frozen=True)
class Place:
    """A place between characters: `^`, `$` or `b`."""

    kind: str


@dataclass(frozen=True)
class Sequence:
    """One after the other; empty for the empty pattern."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Options:
    """Any of them."""

    options: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """A body at least and at most so often; None for without end."""

    body: Node
    least: int
    most: int | None


Node = One | Place | Sequence | Options | Repeat


class Parser:
    """Reads one pattern; `parse` raises PatternError."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def parse(self) -> Node:
        node = self._options()
        if self._at < len(self._text):
            raise PatternError(self._at, "this ) closes nothing; write \\)")
        return node

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _options(self) -> Node:
        options = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Options(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            start = self._at
            parts.append(self._repeated(self._atom(), start))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self, body: Node, start: int) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return body
        if isinstance(body, Place):
            raise PatternError(start, "a place such as ^ cannot be repeated")
        if bounds[1] is None and _repeats(body):
            inner = self._text[start : self._at]
            raise PatternError(start, f"{inner} repeats a repetition, which can take for ever; one is enough")
        if self._peek() == "?":  # as few as possible: the same texts match
            self._at += 1
        if self._bounds() is not None:
            raise PatternError(start, f"{self._text[start : self._at]} repeats a repetition; put it in one")
        return Repeat(body, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        char = self._peek()
        if char and char in "*+?":
            self._at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        if char != "{":
            return None
        start, end = self._at, self._text.find("}", self._at)
        least, comma, most = self._text[start + 1 : end].partition(",")
        if end < 0 or not least.isdecimal() or (most and not most.isdecimal()):
            raise PatternError(start, "write a repetition as {m}, {m,} or {m,n}; a literal { as \\{")
        if int(most or least) < int(least) or int(most or least) > MOST_STATES:
            raise PatternError(start, f"{self._text[start : end + 1]} is no range of repetitions up to {MOST_STATES}")
        self._at = end + 1
        return int(least), int(most) if most else None if comma else int(least)

    def _atom(self) -> Node:
        char, start = self._peek(), self._at
        self._at += 1
        if char == "(":
            return self._group(start)
        if char == "[":
            return One(self._members(start))
        if char == "\\":
            return self._escape(start)
        if char in "^$":
            return Place(char)
        if char == ".":
            return One(lambda c: c != "\n")
        if char in "*+?{":
            raise PatternError(start, f"{char} repeats nothing; write \\{char} for the character")
        return One(char.__eq__)

    def _group(self, start: int) -> Node:
        if self._peek() == "?":
            if self._text[self._at : self._at + 2] != "?:":
                raise PatternError(start, "lookaround, names and flags are not supported; use ( ) or (?: )")
            self._at += 2
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise PatternError(start, f"groups are nested deeper than {MOST_DEPTH}")
        node = self._options()
        if self._peek() != ")":
            raise PatternError(start, "this ( is never closed")
        self._at += 1
        self._depth -= 1
        return Sequence((node,)) if isinstance(node, Place) else node

    def _escape(self, start: int) -> Node:
        char = self._peek()
        self._at += 1
        if char == "b":
            return Place("b")
        return One(self._escaped(char, start))

    def _escaped(self, char: str, start: int) -> Test:
        if char and char.lower() in CLASSES:
            test = CLASSES[char.lower()]
            return test if char.islower() else lambda c: not test(c)
        if char.isdecimal():
            raise PatternError(start, "backreferences are not supported: they cannot be matched in linear time")
        if char in _CONTROL:
            return _CONTROL[char].__eq__
        if not char or char.isalpha():
            raise PatternError(start, f"\\{char} is not supported")
        return char.__eq__

    def _members(self, start: int) -> Test:
        negated = self._peek() == "^"
        self._at += negated
        tests: list[Test] = []
        first = True
        while first or self._peek() != "]":
            first = False
            low = self._member(start)
            if (
                isinstance(low, str)
                and self._peek() == "-"
                and self._text[self._at + 1 : self._at + 2] not in ("]", "")
            ):
                self._at += 1
                high = self._member(start)
                if not isinstance(high, str) or high < low:
                    raise PatternError(start, "a range in [ ] runs from the lower to the higher character")
                tests.append(_between(low, high))
            else:
                tests.append(low.__eq__ if isinstance(low, str) else low)
        self._at += 1
        return (lambda c: not any(test(c) for test in tests)) if negated else (lambda c: any(test(c) for test in tests))

    def _member(self, start: int) -> str | Test:
        char = self._peek()
        if not char:
            raise PatternError(start, "this [ is never closed")
        self._at += 1
        if char != "\\":
            return char
        escaped = self._peek()
        self._at += 1
        if escaped and escaped.lower() in CLASSES:
            return self._escaped(escaped, self._at - 2)
        if escaped in _CONTROL:
            return _CONTROL[escaped]
        if not escaped or escaped.isalnum():
            raise PatternError(self._at - 2, f"\\{escaped} is not supported inside [ ]")
        return escaped


def _between(low: str, high: str) -> Test:
    return lambda char: low <= char <= high


def _repeats(node: Node) -> bool:
    """Whether a node is nothing but a repetition without end, or can be empty: repeating it again adds nothing."""
    if isinstance(node, Repeat):
        return node.most is None or _repeats(node.body)
    if isinstance(node, Options):
        return any(_repeats(option) for option in node.options)
    if isinstance(node, Sequence):
        return all(_repeats(part) or _is_optional(part) for part in node.parts)
    return False


def _is_optional(node: Node) -> bool:
    return (isinstance(node, Repeat) and node.least == 0) or isinstance(node, Place)
