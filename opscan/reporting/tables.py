"""Tables for the console: columns as wide as they need, wrapped where the terminal is too narrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opscan.reporting.palette import faint, paint
from opscan.reporting.text import columns, one_line, pieces, wrap

_GAP = "  "
_SHORT_WORD = 12
_LONGEST_PIECE = 24


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, and the word whose colour it takes."""

    text: str
    word: str = ""


def table(
    head: Sequence[str], rows: Sequence[Sequence[Cell]], *, width: int, color: bool, indent: str = ""
) -> list[str]:
    """Lines of at most `width` columns where the columns can shrink to that; an empty column is left out."""
    kept = [index for index in range(len(head)) if any(row[index].text for row in rows)]
    cells = [[Cell(one_line(row[index].text), row[index].word) for index in kept] for row in rows]
    titles = [head[index] for index in kept]
    widths = _widths(titles, cells, width - columns(indent))
    lines = [faint(line, color) for line in _row([Cell(title) for title in titles], widths, color)]
    lines += [line for row in cells for line in _row(row, widths, color)]
    return [indent + line for line in lines]


def _widths(titles: list[str], rows: list[list[Cell]], room: int) -> list[int]:
    stacks = [[title, *(row[index].text for row in rows)] for index, title in enumerate(titles)]
    words = [[word for text in stack for word in text.split()] or [""] for stack in stacks]
    widths = [max(map(columns, stack)) for stack in stacks]
    # First only lines are wrapped; where that is not enough, words break at their hyphens, dots and slashes too.
    for breaking in (False, True):
        _shrink(widths, [max(_least(word, breaking) for word in column) for column in words], room)
    return widths


def _shrink(widths: list[int], least: list[int], room: int) -> None:
    """Take from the widest columns until all fit, as long as one is wider than it must be."""
    while sum(widths) + len(_GAP) * (len(widths) - 1) > room:
        wide = [index for index, width in enumerate(widths) if width > least[index]]
        if not wide:
            return
        widths[max(wide, key=widths.__getitem__)] -= 1


def _least(word: str, breaking: bool) -> int:
    """Columns below which a word would be cut where it hurts."""
    width = columns(word)
    if not breaking and width <= _SHORT_WORD:
        return width
    return min(max(map(columns, pieces(word))), _LONGEST_PIECE)


def _row(row: list[Cell], widths: list[int], color: bool) -> list[str]:
    stacks = [wrap(cell.text, room) for cell, room in zip(row, widths, strict=True)]
    height = max((len(stack) for stack in stacks), default=0)
    lines = []
    for level in range(height):
        parts = []
        for cell, stack, room in zip(row, stacks, widths, strict=True):
            text = stack[level] if level < len(stack) else ""
            parts.append(paint(text, cell.word, color and bool(cell.word)) + " " * (room - columns(text)))
        lines.append(_GAP.join(parts).rstrip())
    return lines
