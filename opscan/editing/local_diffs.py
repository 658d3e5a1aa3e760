"""The diff that edits make of a file that is not held in memory: only the lines that they touch are kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from opscan.editing.diffs import CONTEXT, line_range, marked
from opscan.editing.splicing import splice
from opscan.model import Edit, Source


@dataclass(slots=True)
class _Hunk:
    """Lines of a diff, begun before line `old` of the old text and `new` of the new one; both count from 0."""

    old: int
    new: int
    lines: list[str] = field(default_factory=list)
    removed: int = 0
    added: int = 0
    unchanged: list[str] = field(default_factory=list)
    """What has followed the last change."""

    def take_unchanged(self, count: int | None = None) -> None:
        kept = self.unchanged[:count]
        self.lines += marked(" ", kept)
        self.removed, self.added = self.removed + len(kept), self.added + len(kept)
        self.unchanged = []

    def change(self, before: Sequence[str], after: Sequence[str]) -> None:
        self.take_unchanged()
        self.lines += [*marked("-", before), *marked("+", after)]
        self.removed, self.added = self.removed + len(before), self.added + len(after)

    def written(self) -> Iterator[str]:
        self.take_unchanged(CONTEXT)
        old, new = line_range(self.old, self.old + self.removed), line_range(self.new, self.new + self.added)
        yield f"@@ -{old} +{new} @@\n"
        yield from self.lines


def diff_of_edits(source: Source, edits: Sequence[Edit]) -> Iterator[str]:
    """The hunks of a diff, in order. The edits must not overlap, and lie within the text."""
    pending = deque(sorted(edits, key=lambda edit: (edit.start, edit.end)))
    lines = _lines(source.pieces())
    before: deque[str] = deque(maxlen=CONTEXT)
    hunk: _Hunk | None = None
    offset = number = shift = 0
    for line in lines:
        if not pending or pending[0].start >= offset + len(line):
            shown = _with_mark(source, offset, line)
            if hunk is None:
                before.append(shown)
            else:
                hunk.unchanged.append(shown)
                if len(hunk.unchanged) > 2 * CONTEXT:
                    before.extend(hunk.unchanged[-CONTEXT:])
                    yield from hunk.written()
                    hunk = None
            offset, number = offset + len(line), number + 1
            continue
        block, own = _block(line, lines, offset, pending)
        old = list(_lines((_with_mark(source, offset, block),)))
        new = list(_lines((_with_mark(source, offset, splice(block, own)),)))
        if hunk is None:
            hunk = _Hunk(number - len(before), number - len(before) + shift, unchanged=list(before))
            before.clear()
        hunk.change(old, new)
        offset, number, shift = offset + len(block), number + len(old), shift + len(new) - len(old)
    if hunk is not None:
        yield from hunk.written()


def _block(line: str, more: Iterator[str], offset: int, pending: deque[Edit]) -> tuple[str, list[Edit]]:
    """Whole lines from `line` on that hold whole edits, and these edits, with offsets in the lines."""
    block, own = line, []
    while pending and pending[0].start < offset + len(block):
        edit = pending.popleft()
        own.append(Edit(edit.start - offset, edit.end - offset, edit.text, edit.where, edit.value))
        while edit.end > offset + len(block):
            block += next(more)
        while not splice(block, own).endswith("\n") and (following := next(more, "")):
            block += following
    return block, own


def _with_mark(source: Source, offset: int, text: str) -> str:
    return "\ufeff" + text if source.bom and offset == 0 else text


def _lines(pieces: Iterable[str]) -> Iterator[str]:
    """Lines as git sees them, ended by LF only."""
    rest = ""
    for piece in pieces:
        *whole, last = piece.split("\n")
        for line in whole:
            yield f"{rest}{line}\n"
            rest = ""
        rest += last
    if rest:
        yield rest
