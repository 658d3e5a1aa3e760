"""Turn the edits of an audit into new texts, a diff, and files on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from opscan.audit import Audited
from opscan.editing import StaleFileError, apply_edits, unified_diff, with_bom, write_atomically
from opscan.edits import unique_edits
from opscan.model import Finding, Source


@dataclass(frozen=True, slots=True)
class Change:
    """The new text of one file, and how many edits are in it."""

    shown: str
    source: Source
    text: str
    edits: int

    @property
    def diff(self) -> str:
        before, after = (with_bom(self.source, text) for text in (self.source.text, self.text))
        return unified_diff(self.shown, before, after)


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be written. `refusals`: edits that could not be verified; the counts are findings left as they are."""

    changes: tuple[Change, ...]
    refusals: tuple[str, ...]
    unsafe_left: int
    manual_left: int

    @property
    def diff(self) -> str:
        return "".join(change.diff for change in self.changes)

    def summary(self, *, written: bool) -> str:
        count = sum(change.edits for change in self.changes)
        verb = "made" if written else "would be made (--write makes them)"
        parts = [f"{count} edit{'' if count == 1 else 's'} in {len(self.changes)} file"
                 f"{'' if len(self.changes) == 1 else 's'} {verb}"]  # fmt: skip
        if self.unsafe_left:
            parts.append(f"{self.unsafe_left} more with --unsafe")
        if self.manual_left:
            parts.append(f"{self.manual_left} need a person")
        return "; ".join(parts)


def plan_fixes(audited: Audited, *, unsafe: bool) -> Plan:
    """The safe edits of every file, with `unsafe` also those whose evidence is not certain."""
    allowed = ("safe", "unsafe") if unsafe else ("safe",)
    by_file: dict[str, list[Finding]] = {}
    for finding in audited.audit.findings:
        if finding.edits and finding.fix in allowed:
            by_file.setdefault(finding.path, []).append(finding)
    changes, refusals = [], []
    for shown, findings in by_file.items():
        source = audited.sources[shown]
        edited = apply_edits(source, unique_edits(findings))
        refusals += [f"{shown}: {refusal.reason}" for refusal in edited.refused]
        if edited.text != source.text:
            changes.append(Change(shown, source, edited.text, len(edited.applied)))
    held = [finding for finding in audited.audit.findings if finding.fix == "unsafe" and not unsafe]
    manual = [finding for finding in audited.audit.findings if finding.fix == "manual"]
    return Plan(tuple(changes), tuple(refusals), len(held), len(manual))


def write_fixes(plan: Plan) -> Iterator[str]:
    """Replace each file atomically; yields what could not be written, and why."""
    for change in plan.changes:
        try:
            write_atomically(Path(change.source.path), change.source, change.text)
        except StaleFileError as problem:
            yield str(problem)
        except OSError as problem:
            yield f"{change.shown}: {problem.strerror or problem}"
