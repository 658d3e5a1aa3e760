"""Comments of YAML and Python files that speak to opscan, with their places.

Only a text that holds the marker is tokenised, so that files without one cost a substring search. A marker inside a
quoted text, a block of text or a string is no comment.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import yaml

from opscan.dataclass import dataclass
from opscan.model import Source, Span
from opscan.reading.positions import Lines
from opscan.reading.texts import may_speak
from opscan.reading.trees import FAST_LOADER, odd_breaks

_COMMENT = re.compile(r"(?:(?<=\s)|^)#[ \t]*opscan\b[^\r\n]*", re.MULTILINE)
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Comment:
    """`text` from its `#` to the end of the line. `alone`: nothing else stands on its line.

    `line` is the line it speaks of: its own, or, where it stands alone, the next one that holds anything.
    """

    text: str
    span: Span
    alone: bool
    line: int


def comments_of(source: Source) -> tuple[Comment, ...]:
    """The comments `# opscan...` of a YAML or Python file; none for other files and for texts that do not parse."""
    if not may_speak(source):
        return ()
    suffix = source.path.suffix.lower()
    starts = [match.start() for match in _COMMENT.finditer(source.text)]
    if not starts:
        return ()
    try:
        inside = _strings(source.text) if suffix == ".py" else _scalars(source.text)
    except (yaml.YAMLError, SyntaxError, RecursionError):
        return ()
    lines, speaking = Lines(source.text), _lines_with_content(source.text)
    return tuple(_comment(source.text, lines, start, speaking) for start in starts if not _within(start, inside))


def _comment(text: str, lines: Lines, start: int, speaking: Sequence[int]) -> Comment:
    end = _LINE_END.search(text, start)
    stop = end.start() if end else len(text)
    span = lines.span(start, stop)
    before = text[lines.offset(span.line, 1) : start]
    alone = not before.strip() or before.lstrip().startswith("#")
    place = bisect_left(speaking, span.line)
    line = speaking[place] if alone and place < len(speaking) else span.line
    return Comment(text[start:stop].rstrip(), span, alone, line)


def _lines_with_content(text: str) -> list[int]:
    """The numbers of the lines that hold more than blanks and a comment."""
    lines = enumerate(map(str.strip, _LINE_END.split(text)), start=1)
    return [number for number, content in lines if content and not content.startswith("#")]


def _scalars(text: str) -> list[tuple[int, int]]:
    """Start and end of every scalar of a YAML text, in order."""
    loader = yaml.SafeLoader if FAST_LOADER is None or odd_breaks(text) else FAST_LOADER
    found = []
    for token in yaml.scan(text, Loader=loader):
        if isinstance(token, yaml.ScalarToken):
            found.append((token.start_mark.index, token.end_mark.index))
    return found


def _strings(text: str) -> list[tuple[int, int]]:
    """Start and end of every string of a Python text, in order; raises SyntaxError where it cannot be tokenised."""
    import tokenize

    unified = text.replace("\r\n", " \n").replace("\r", "\n")  # as long as before, so that offsets hold
    lines = Lines(unified)
    kinds = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(unified).readline):
            if token.type in kinds:
                (line, column), (end_line, end_column) = token.start, token.end
                found.append((lines.offset(line, column + 1), lines.offset(end_line, end_column + 1)))
    except tokenize.TokenError as error:
        raise SyntaxError(str(error)) from None
    return found


def _within(offset: int, stretches: list[tuple[int, int]]) -> bool:
    place = bisect_right(stretches, offset, key=lambda stretch: stretch[0]) - 1
    return place >= 0 and offset < stretches[place][1]
