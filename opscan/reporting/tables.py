"""Tables for the console: columns as wide as they need, wrapped where the terminal is too narrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opscan.reporting.palette import faint, paint
from opscan.reporting.text import columns, one_line, pad, wrap

_GAP = "  "
_NARROWEST = 8


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
    lines = [indent + faint(_GAP.join(pad(title, room) for title, room in zip(titles, widths, strict=True)), color)]
    for row in cells:
        lines += [indent + line for line in _row(row, widths, color)]
    return [line.rstrip() for line in lines]


def _widths(titles: list[str], rows: list[list[Cell]], room: int) -> list[int]:
    widths = [max(columns(title), *(columns(row[index].text) for row in rows)) for index, title in enumerate(titles)]
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - room
    while excess > 0:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= max(_NARROWEST, columns(titles[widest])):
            break
        widths[widest] -= 1
        excess -= 1
    return widths


def _row(row: list[Cell], widths: list[int], color: bool) -> list[str]:
    stacks = [wrap(cell.text, room) for cell, room in zip(row, widths, strict=True)]
    height = max((len(stack) for stack in stacks), default=0)
    lines = []
    for level in range(height):
        parts = []
        for cell, stack, room in zip(row, stacks, widths, strict=True):
            text = stack[level] if level < len(stack) else ""
            parts.append(paint(text, cell.word, color and bool(cell.word)) + " " * (room - columns(text)))
        lines.append(_GAP.join(parts))
    return lines
