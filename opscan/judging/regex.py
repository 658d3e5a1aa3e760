r"""Regular expressions that always end: the patterns of declared rules, matched in time linear in the text.

A rule file may come from anybody, and Python's `re` can take years over one line of a spec. Here a pattern becomes a
set of states that all advance together, so no pattern can backtrack. What that cannot do (backreferences, lookaround)
is refused when the rule is loaded, and so is a repetition of a repetition such as `(a+)+`: it says nothing that `a+`
does not, and elsewhere it would hang.

Syntax and meaning are those of `re.search`: literals, `.`, `[a-z]`, `[^a-z]`, `\d \w \s \D \W \S`, `^`, `$`, `\b`,
`( )`, `(?: )`, `|`, `*`, `+`, `?`, `{m}`, `{m,}`, `{m,n}`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

MOST_STATES = 2_000
MOST_DEPTH = 50
_SPECIAL = ".^$*+?{}[]()|\\"
_CLASSES: dict[str, Callable[[str], bool]] = {
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
class _One:
    """One character that passes a test."""

    test: Test


@dataclass(frozen=True)
class _Place:
    """A place between characters: `^`, `$` or `b`."""

    kind: str


@dataclass(frozen=True)
class _All:
    parts: tuple[_Node, ...]


@dataclass(frozen=True)
class _Any:
    options: tuple[_Node, ...]


@dataclass(frozen=True)
class _Repeat:
    body: _Node
    least: int
    most: int | None


_Node = _One | _Place | _All | _Any | _Repeat


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern. `moves[state]`: a test and the next state; `jumps[state]`: states reached without reading."""

    text: str
    moves: dict[int, tuple[Test, int]]
    jumps: dict[int, tuple[tuple[str, int], ...]]
    start: int
    end: int

    def search(self, text: str) -> bool:
        """Whether the pattern matches anywhere in the text; linear in its length."""
        states: set[int] = set()
        for place in range(len(text) + 1):
            states = self._reached({*states, self.start}, text, place)
            if self.end in states:
                return True
            if place < len(text):
                char = text[place]
                states = {self.moves[s][1] for s in states if s in self.moves and self.moves[s][0](char)}
        return False

    def _reached(self, states: set[int], text: str, place: int) -> set[int]:
        reached, waiting = set(states), list(states)
        while waiting:
            for kind, state in self.jumps.get(waiting.pop(), ()):
                if state not in reached and _holds(kind, text, place):
                    reached.add(state)
                    waiting.append(state)
        return reached


def _holds(kind: str, text: str, place: int) -> bool:
    if kind == "^":
        return place == 0
    if kind == "$":
        return place == len(text) or (place == len(text) - 1 and text[place] == "\n")
    if kind == "b":
        word = _CLASSES["w"]
        before = place > 0 and word(text[place - 1])
        return before != (place < len(text) and word(text[place]))
    return True


@lru_cache(maxsize=256)
def compile_pattern(text: str) -> Pattern:
    """The pattern of a text. Raises PatternError with the position in the text."""
    node = _Parser(text).parse()
    builder = _Builder()
    start, end = builder.state(), builder.state()
    try:
        builder.build(node, start, end)
    except _TooLarge:
        raise PatternError(0, f"the pattern needs more than {MOST_STATES} states; repeat less often") from None
    return Pattern(text, builder.moves, {s: tuple(to) for s, to in builder.jumps.items()}, start, end)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def parse(self) -> _Node:
        node = self._options()
        if self._at < len(self._text):
            raise PatternError(self._at, "this ) closes nothing; write \\)")
        return node

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _options(self) -> _Node:
        options = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            options.append(self._sequence())
        return options[0] if len(options) == 1 else _Any(tuple(options))

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while self._peek() not in ("", "|", ")"):
            start = self._at
            parts.append(self._repeated(self._atom(), start))
        return parts[0] if len(parts) == 1 else _All(tuple(parts))

    def _repeated(self, body: _Node, start: int) -> _Node:
        bounds = self._bounds()
        if bounds is None:
            return body
        if isinstance(body, _Place):
            raise PatternError(start, "a place such as ^ cannot be repeated")
        if bounds[1] is None and _repeats(body):
            inner = self._text[start : self._at]
            raise PatternError(start, f"{inner} repeats a repetition, which can take for ever; one is enough")
        if self._peek() == "?":  # as few as possible: the same texts match
            self._at += 1
        if self._bounds() is not None:
            raise PatternError(start, f"{self._text[start : self._at]} repeats a repetition; put it in one")
        return _Repeat(body, *bounds)

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

    def _atom(self) -> _Node:
        char, start = self._peek(), self._at
        self._at += 1
        if char == "(":
            return self._group(start)
        if char == "[":
            return _One(self._members(start))
        if char == "\\":
            return self._escape(start)
        if char in "^$":
            return _Place(char)
        if char == ".":
            return _One(lambda c: c != "\n")
        if char in "*+?{":
            raise PatternError(start, f"{char} repeats nothing; write \\{char} for the character")
        return _One(char.__eq__)

    def _group(self, start: int) -> _Node:
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
        return _All((node,)) if isinstance(node, _Place) else node

    def _escape(self, start: int) -> _Node:
        char = self._peek()
        self._at += 1
        if char == "b":
            return _Place("b")
        return _One(self._escaped(char, start))

    def _escaped(self, char: str, start: int) -> Test:
        if char and char.lower() in _CLASSES:
            test = _CLASSES[char.lower()]
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
        if escaped and escaped.lower() in _CLASSES:
            return self._escaped(escaped, self._at - 2)
        if escaped in _CONTROL:
            return _CONTROL[escaped]
        if not escaped or escaped.isalnum():
            raise PatternError(self._at - 2, f"\\{escaped} is not supported inside [ ]")
        return escaped


def _between(low: str, high: str) -> Test:
    return lambda char: low <= char <= high


def _repeats(node: _Node) -> bool:
    """Whether a node is nothing but a repetition without end, or can be empty: repeating it again adds nothing."""
    if isinstance(node, _Repeat):
        return node.most is None or _repeats(node.body)
    if isinstance(node, _Any):
        return any(_repeats(option) for option in node.options)
    if isinstance(node, _All):
        return all(_repeats(part) or _is_optional(part) for part in node.parts)
    return False


def _is_optional(node: _Node) -> bool:
    return (isinstance(node, _Repeat) and node.least == 0) or isinstance(node, _Place)


class _TooLarge(Exception):
    pass


class _Builder:
    """Turns a tree into states; counted repetitions are copied."""

    def __init__(self) -> None:
        self.moves: dict[int, tuple[Test, int]] = {}
        self.jumps: dict[int, list[tuple[str, int]]] = {}
        self._count = 0

    def state(self) -> int:
        self._count += 1
        if self._count > MOST_STATES:
            raise _TooLarge
        return self._count

    def jump(self, start: int, end: int, kind: str = "") -> None:
        self.jumps.setdefault(start, []).append((kind, end))

    def build(self, node: _Node, start: int, end: int) -> None:
        if isinstance(node, _One):
            state = self.state()
            self.jump(start, state)
            self.moves[state] = (node.test, end)
        elif isinstance(node, _Place):
            self.jump(start, end, node.kind)
        elif isinstance(node, _Any):
            for option in node.options:
                self.build(option, start, end)
        elif isinstance(node, _All):
            self._chain(node.parts, start, end)
        else:
            self._repeat(node, start, end)

    def _chain(self, parts: tuple[_Node, ...], start: int, end: int) -> None:
        for part in parts:
            following = self.state()
            self.build(part, start, following)
            start = following
        self.jump(start, end)

    def _repeat(self, node: _Repeat, start: int, end: int) -> None:
        for _ in range(node.least):
            following = self.state()
            self.build(node.body, start, following)
            start = following
        if node.most is None:
            loop = self.state()
            self.jump(start, loop)
            self.build(node.body, loop, loop)
            self.jump(loop, end)
            return
        for _ in range(node.most - node.least):
            self.jump(start, end)
            following = self.state()
            self.build(node.body, start, following)
            start = following
        self.jump(start, end)
