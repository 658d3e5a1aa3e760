"""Unified diffs that `git apply` takes.

The stdlib's differ has no word for a missing final line end and compares long files of like lines slowly; edits are
local, so a walk that finds the next common stretch is enough, and linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from opscan.dataclass import dataclass

CONTEXT = 3
_STRETCH = 3
_REACH = 400


@dataclass(frozen=True, slots=True)
class _Change:
    """Lines [old_start, old_end) become [new_start, new_end)."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def unified_diff(path: PurePath | str, old: str, new: str) -> str:
    """The diff between two texts of one file, empty where they are equal.

    Lines are split at LF only, as git does, so a CR stays part of its line. Give the texts as they stand on disk: of a
    file with a BOM, with it.
    """
    if old == new:
        return ""
    before, after = _lines(old), _lines(new)
    return "".join(
        [_head(path)] + [line for hunk in _hunks(_changes(before, after)) for line in _written(hunk, before, after)]
    )


def _head(path: PurePath | str) -> str:
    name = PurePath(path).as_posix().lstrip("/")
    return f"--- {_quoted('a/' + name)}\n+++ {_quoted('b/' + name)}\n"


def new_file_diff(path: PurePath | str, text: str) -> str:
    """The diff that makes a file which is not there yet."""
    lines = _lines(text)
    name = _quoted("b/" + PurePath(path).as_posix().lstrip("/"))
    return f"--- /dev/null\n+++ {name}\n@@ -0,0 +{line_range(0, len(lines))} @@\n" + "".join(marked("+", lines))


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    whole = [line + "\n" for line in lines[:-1]]
    return [*whole, lines[-1]] if lines[-1] else whole


def _quoted(name: str) -> str:
    """A file name as git writes it: quoted where it holds quotes or control characters, a tab after blanks."""
    if any(character in '"\\' or ord(character) < 32 for character in name):
        escaped = "".join(_escaped(character) for character in name)
        return f'"{escaped}"'
    return name + "\t" if " " in name else name


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return f"\\{ord(character):03o}" if ord(character) < 32 else character


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[_Change]:
    left, right = 0, 0
    while left < len(old) or right < len(new):
        if left < len(old) and right < len(new) and old[left] == new[right]:
            left, right = left + 1, right + 1
            continue
        next_left, next_right = _resume(old, new, left, right)
        yield _Change(left, next_left, right, next_right)
        left, right = next_left, next_right


def _resume(old: Sequence[str], new: Sequence[str], left: int, right: int) -> tuple[int, int]:
    """The nearest place where a few lines agree again; the ends where there is none within reach."""
    for distance in range(1, _REACH):
        for skipped in range(distance + 1):
            a, b = left + skipped, right + distance - skipped
            if a > len(old) or b > len(new):
                continue
            stretch = old[a : a + _STRETCH]
            if stretch == new[b : b + _STRETCH] and (len(stretch) == _STRETCH or a + len(stretch) == len(old)):
                return a, b
    return len(old), len(new)


def _hunks(changes: Iterator[_Change]) -> Iterator[list[_Change]]:
    """Changes whose context lines would touch go together."""
    hunk: list[_Change] = []
    for change in changes:
        if hunk and change.old_start - hunk[-1].old_end > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _written(hunk: Sequence[_Change], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    first, last = hunk[0], hunk[-1]
    lead = min(CONTEXT, first.old_start)
    tail = min(CONTEXT, len(old) - last.old_end)
    old_range = line_range(first.old_start - lead, last.old_end + tail)
    new_range = line_range(first.new_start - lead, last.new_end + tail)
    yield f"@@ -{old_range} +{new_range} @@\n"
    place = first.old_start - lead
    for change in hunk:
        yield from marked(" ", old[place : change.old_start])
        yield from marked("-", old[change.old_start : change.old_end])
        yield from marked("+", new[change.new_start : change.new_end])
        place = change.old_end
    yield from marked(" ", old[place : place + tail])


def line_range(start: int, end: int) -> str:
    return f"{start + 1 if end > start else start},{end - start}"


def marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
