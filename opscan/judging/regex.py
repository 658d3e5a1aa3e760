r"""Regular expressions that always end: the patterns of declared rules, matched in time linear in the text.

A rule file may come from anybody, and Python's `re` can take years over one line of a spec. Here a pattern becomes a
set of states that all advance together, so no pattern can backtrack. What that cannot do (backreferences, lookaround)
is refused when the rule is loaded, and so is a repetition of a repetition such as `(a+)+`: it says nothing that `a+`
does not, and elsewhere it would hang.

Syntax and meaning are those of `re.search`: literals, `.`, `[a-z]`, `[^a-z]`, `\d \w \s \D \W \S`, `^`, `$`, `\b`,
`( )`, `(?: )`, `|`, `*`, `+`, `?`, `{m}`, `{m,}`, `{m,n}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from opscan.judging.regex_syntax import (
    CLASSES,
    MOST_STATES,
    Node,
    One,
    Options,
    Parser,
    PatternError,
    Place,
    Repeat,
    Sequence,
    Test,
)

__all__ = ["Pattern", "PatternError", "compile_pattern"]


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
        word = CLASSES["w"]
        before = place > 0 and word(text[place - 1])
        return before != (place < len(text) and word(text[place]))
    return True


@lru_cache(maxsize=256)
def compile_pattern(text: str) -> Pattern:
    """The pattern of a text. Raises PatternError with the position in the text."""
    node = Parser(text).parse()
    builder = _Builder()
    start, end = builder.state(), builder.state()
    try:
        builder.build(node, start, end)
    except _TooLarge:
        raise PatternError(0, f"the pattern needs more than {MOST_STATES} states; repeat less often") from None
    return Pattern(text, builder.moves, {s: tuple(to) for s, to in builder.jumps.items()}, start, end)


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

    def build(self, node: Node, start: int, end: int) -> None:
        if isinstance(node, One):
            state = self.state()
            self.jump(start, state)
            self.moves[state] = (node.test, end)
        elif isinstance(node, Place):
            self.jump(start, end, node.kind)
        elif isinstance(node, Options):
            for option in node.options:
                self.build(option, start, end)
        elif isinstance(node, Sequence):
            self._chain(node.parts, start, end)
        else:
            self._repeat(node, start, end)

    def _chain(self, parts: tuple[Node, ...], start: int, end: int) -> None:
        for part in parts:
            following = self.state()
            self.build(part, start, following)
            start = following
        self.jump(start, end)

    def _repeat(self, node: Repeat, start: int, end: int) -> None:
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
