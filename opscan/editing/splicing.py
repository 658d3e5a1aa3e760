"""Edits into a text: spliced where they say, kept only where the whole file then means what they intend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opscan.editing.meaning import Meaning, Unreadable, check_intended, read_meaning
from opscan.model import Edit, Source


@dataclass(frozen=True, slots=True)
class Refusal:
    """An edit that was not applied, and why."""

    edit: Edit
    reason: str


@dataclass(frozen=True, slots=True)
class Edited:
    """The new text, with the edits that are in it and those that are not."""

    text: str
    applied: tuple[Edit, ...] = ()
    refused: tuple[Refusal, ...] = ()


def apply_edits(source: Source, edits: Sequence[Edit]) -> Edited:
    """Apply every edit that can be verified. Of two that overlap the first one given wins.

    Each edit's offsets are those of `source.text`. The new text is read again, and only the values that the edits name
    may differ; an edit for which that does not hold is refused.
    """
    fitting, refused = _without_overlaps(source.text, edits)
    if not fitting:
        return Edited(source.text, (), tuple(refused))
    try:
        before = read_meaning(source)
    except Unreadable as error:
        reason = f"the file cannot be read: {error}"
        return Edited(source.text, (), (*refused, *(Refusal(edit, reason) for edit in fitting)))
    settling = _Settling(source, before)
    settling.settle(fitting)
    applied = tuple(settling.accepted)
    return Edited(splice(source.text, applied), applied, (*refused, *settling.refused))


def splice(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits in it; they must not overlap."""
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


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
    for edit in edits:
        if edit in kept:
            continue
        if not 0 <= edit.start <= edit.end <= len(text):
            refused.append(Refusal(edit, "the edit lies outside the text"))
        elif any(_overlap(edit, other) for other in kept):
            refused.append(Refusal(edit, "the edit overlaps an earlier one"))
        else:
            kept.append(edit)
    return kept, refused


def _overlap(left: Edit, right: Edit) -> bool:
    if left.start == left.end and right.start == right.end:
        return left.start == right.start
    return (
        max(left.start, right.start) < min(left.end, right.end)
        or (left.start == left.end and right.start < left.start < right.end)
        or (right.start == right.end and left.start < right.start < left.end)
    )
