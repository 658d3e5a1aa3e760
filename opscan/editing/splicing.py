"""Edits into a text: spliced where they say, kept only where the whole file then means what they intend."""

from __future__ import annotations

from abc import ABC
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO

from opscan.dataclass import dataclass
from opscan.editing.meaning import Meaning, Unreadable, check_intended, read_meaning
from opscan.model import Edit, KeyPath, Source
from opscan.reading.stored import StoredSource


@dataclass(frozen=True, slots=True)
class Refusal:
    """An edit that was not applied, and why."""

    edit: Edit
    reason: str


class EditsInOrder(ABC, Iterable[Edit]):
    """Edits of a large file that come in the order of the elements they are in, so that not all are held at once."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A text with the edits that are in it and those that are not."""

    source: Source
    applied: Sequence[Edit] = ()
    refused: tuple[Refusal, ...] = ()

    @property
    def text(self) -> str:
        """All of the new text."""
        return "".join(self.pieces())

    def pieces(self) -> Iterator[str]:
        """The new text from start to end, as it comes: a large file is not held in memory."""
        return splice_pieces(self.source.pieces(), self.applied)

    def content(self) -> Iterator[str] | Callable[[IO[bytes]], None]:
        """What `write_atomically` writes: the pieces, or what copies a large file with the edits in it."""
        from opscan.editing.large_files import Splices

        return self.applied.write_into if isinstance(self.applied, Splices) else self.pieces()


def apply_edits(source: Source, edits: Iterable[Edit]) -> Edited:
    """Apply every edit that can be verified. Of two that overlap the first one given wins.

    Each edit's offsets are those of `source.text`. The new text is read again, and only the values that the edits name
    may differ; an edit for which that does not hold is refused.
    """
    if isinstance(source, StoredSource):
        from opscan.editing.large_files import apply_by_element

        return apply_by_element(source, edits if isinstance(edits, EditsInOrder) else sorted(edits, key=_element_of))
    edits = list(edits)
    fitting, refused = _without_overlaps(source.text, edits)
    if not fitting:
        return Edited(source, (), tuple(refused))
    try:
        before = read_meaning(source)
    except Unreadable as error:
        reason = f"the file cannot be read: {error}"
        return Edited(source, (), (*refused, *(Refusal(edit, reason) for edit in fitting)))
    settling = _Settling(source, before)
    settling.settle(fitting)
    applied = tuple(settling.accepted)
    return Edited(source, applied, (*refused, *settling.refused))


def _element_of(edit: Edit) -> tuple[int, int]:
    return edit.within or (0, 0)


def splice(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits in it; they must not overlap."""
    return "".join(splice_pieces((text,), edits))


def splice_pieces(pieces: Iterable[str], edits: Sequence[Edit]) -> Iterator[str]:
    """As `splice`, for a text that comes in pieces."""
    pending = deque(sorted(edits, key=lambda edit: (edit.start, edit.end)))
    base, kept = 0, 0
    for piece in pieces:
        end = base + len(piece)
        while pending and pending[0].start < end:
            edit = pending.popleft()
            yield piece[max(kept - base, 0) : edit.start - base]
            yield edit.text
            kept = edit.end
        if kept < end:
            yield piece[max(kept - base, 0) :]
        base = end
    for edit in pending:
        yield edit.text


class _Settling:
    """Finds the edits that hold: all at once if possible, else by halves, so that one bad edit costs little."""

    def __init__(self, source: Source, before: Meaning) -> None:
        self.accepted: list[Edit] = []
        self.refused: list[Refusal] = []
        self._source = source
        self._before = before

    def settle(self, edits: Sequence[Edit]) -> None:
        reason = self._objection([*self.accepted, *edits])
        if reason is None:
            self.accepted.extend(edits)
        elif len(edits) == 1:
            self.refused.append(Refusal(edits[0], reason))
        else:
            middle = len(edits) // 2
            self.settle(edits[:middle])
            self.settle(edits[middle:])

    def _objection(self, edits: Sequence[Edit]) -> str | None:
        text = splice(self._source.text, edits)
        try:
            text.encode("utf-8")
            after = read_meaning(Source(self._source.path, text, self._source.bom))
            check_intended(self._before, after, edits)
        except Unreadable as error:
            return str(error)
        except UnicodeEncodeError:
            return "the new text cannot be written as UTF-8"
        return None


def _without_overlaps(text: str, edits: Sequence[Edit]) -> tuple[list[Edit], list[Refusal]]:
    kept: list[Edit] = []
    refused: list[Refusal] = []
    taken: list[tuple[int, int]] = []
    seen: set[tuple[int, int, str, KeyPath]] = set()
    for edit in edits:
        stretch = (edit.start, edit.end)
        if (*stretch, edit.text, edit.where) in seen:
            continue
        place = bisect_left(taken, stretch)
        if not 0 <= edit.start <= edit.end <= len(text):
            refused.append(Refusal(edit, "the edit lies outside the text"))
        elif any(_overlap(stretch, other) for other in taken[max(place - 2, 0) : place + 2]):
            refused.append(Refusal(edit, "the edit overlaps an earlier one"))
        else:
            taken.insert(place, stretch)
            seen.add((*stretch, edit.text, edit.where))
            kept.append(edit)
    return kept, refused


def _overlap(left: tuple[int, int], right: tuple[int, int]) -> bool:
    """Whether two stretches share text; an insertion at the edge of a replacement does not, one inside it does."""
    if left[0] == left[1] or right[0] == right[1]:
        return left == right or right[0] < left[0] < right[1] or left[0] < right[0] < left[1]
    return max(left[0], right[0]) < min(left[1], right[1])
