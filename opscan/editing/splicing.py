"""Edits into a text: spliced where they say, kept only where the whole file then means what they intend."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import groupby

from opscan.dataclass import dataclass
from opscan.editing.meaning import Meaning, Unreadable, check_intended, read_meaning
from opscan.model import Edit, KeyPath, Source
from opscan.reading.json_stream import BrokenError, NotAListError, elements


@dataclass(frozen=True, slots=True)
class Refusal:
    """An edit that was not applied, and why."""

    edit: Edit
    reason: str


@dataclass(frozen=True, slots=True)
class Edited:
    """A text with the edits that are in it and those that are not."""

    source: Source
    applied: Sequence[Edit] = ()
    refused: tuple[Refusal, ...] = ()

    @property
    def text(self) -> str:
        """All of the new text."""
        return splice(self.source.text, self.applied)


def apply_edits(source: Source, edits: Iterable[Edit]) -> Edited:
    """Apply every edit that can be verified. Of two that overlap the first one given wins.

    Each edit's offsets are those of `source.text`. The new text is read again, and only the values that the edits name
    may differ; an edit for which that does not hold is refused.
    """
    edits = list(edits)
    if edits and all(edit.within is not None for edit in edits):
        return _apply_by_element(source, edits)
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


def _apply_by_element(source: Source, edits: Sequence[Edit]) -> Edited:
    """As `apply_edits`, in a JSON list whose elements the edits are within: each element is verified by itself.

    A list means what its elements mean, one by one; a text that is no list as a whole is left as it is.
    """
    try:
        bounds = {(start, end) for _, start, end, _ in elements(source.text)}
    except (BrokenError, NotAListError) as error:
        return Edited(source, (), tuple(Refusal(edit, f"the file cannot be read: {error}") for edit in edits))
    applied: list[Edit] = []
    refused: list[Refusal] = []
    for within, group in groupby(sorted(edits, key=lambda edit: edit.within or (0, 0)), key=lambda edit: edit.within):
        own = list(group)
        if within not in bounds or within is None:
            refused += [Refusal(edit, "the edit lies outside of its element") for edit in own]
            continue
        start, end = within
        moved = [Edit(e.start - start, e.end - start, e.text, e.where[1:], e.value) for e in own]
        original = dict(zip(map(id, moved), own, strict=True))
        edited = apply_edits(Source(source.path, source.text[start:end]), moved)
        applied += [original[id(edit)] for edit in edited.applied]
        refused += [Refusal(original[id(one.edit)], one.reason) for one in edited.refused]
    return Edited(source, tuple(applied), tuple(refused))


def splice(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits in it; they must not overlap."""
    parts, kept = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        parts += [text[kept : edit.start], edit.text]
        kept = edit.end
    return "".join([*parts, text[kept:]])


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
