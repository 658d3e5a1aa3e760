"""Turn the edits of an audit into new texts, a diff, and files on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from opscan.audit import Audited, audit_catalog
from opscan.editing import (
    StaleFileError,
    alone_in,
    apply_edits,
    check_absent,
    check_replaceable,
    create_atomically,
    is_current,
    new_file_diff,
    remove_leftovers,
    unified_diff,
    with_bom,
    write_atomically,
)
from opscan.editing.diff_names import DiffNames, name_in_diff
from opscan.edits import unique_edits
from opscan.model import Finding, Source
from opscan.opening import absolute, link, path_of
from opscan.reading import read_source

_MOST_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Change:
    """The new text of one file, and how many edits are in it."""

    shown: str
    source: Source
    text: str
    edits: int
    created_like: Path | None = None
    """The file is new, and takes its mode and owner from this one; `source` is then empty."""
    group: str = ""
    """Changes with the same group stand next to each other and are made together or not at all."""
    needs: tuple[Source, ...] = ()
    """Files that must still be as they were read for the change to be right."""

    def diff(self, name: str) -> str:
        """What the change does to the file, which is called `name` there."""
        if self.created_like is not None:
            return new_file_diff(name, with_bom(self.source, self.text))
        before, after = (with_bom(self.source, text) for text in (self.source.text, self.text))
        return unified_diff(name, before, after)


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be written. `refusals`: edits that could not be verified; the counts are findings left as they are."""

    changes: tuple[Change, ...]
    refusals: tuple[str, ...]
    unsafe_left: int
    manual_left: int
    unsplit: tuple[str, ...] = ()
    """Specs that were to be split and were not, and why."""
    notes: tuple[str, ...] = ()
    """What was split, and what is left to do about it."""
    folders: frozenset[Path] = frozenset()
    """Where the files lie that were read, and where a run that was killed may have left something."""

    @property
    def diff(self) -> str:
        """All changes, for `git apply` in `diff_folder`."""
        names = self._named().names
        return "".join(change.diff(names[change.source.path]) for change in self.changes)

    @property
    def diff_folder(self) -> Path:
        """The current folder, or one above it where files lie elsewhere."""
        return self._named().folder

    def _named(self) -> DiffNames:
        return name_in_diff([change.source.path for change in self.changes], Path.cwd())

    def summary(self, written: Written | None = None) -> str:
        """What would be done, or was."""
        changes = self.changes if written is None else written.made
        count = sum(change.edits for change in changes)
        new = sum(change.created_like is not None for change in changes)
        verb = "would be made (--write makes them)" if written is None else "made"
        edits, old = _counted(count, "edit"), _counted(len(changes) - new, "file")
        made = f" and {_counted(new, 'new file')}" if new else ""
        parts = [f"{edits} in {old}{made} {verb}"]
        if len(changes) < len(self.changes):
            parts.append(f"{_counted(len(self.changes) - len(changes), 'file')} could not be written")
        if self.unsafe_left:
            parts.append(f"{self.unsafe_left} more with --unsafe")
        if self.manual_left:
            parts.append(f"{self.manual_left} need a person")
        return "; ".join(parts)


def plan_fixes(audited: Audited, *, unsafe: bool) -> Plan:
    """The safe edits of every file, with `unsafe` also those whose evidence is not certain.

    What an edit brings to light is mended with it: the new texts are audited again until nothing is left to mend, so
    that a second fix finds nothing. A file whose texts never settle is left as it is.
    """
    plan = _plan_once(audited, unsafe=unsafe)
    settling = {change.shown: change for change in plan.changes}
    changes = dict(settling)
    for _ in range(_MOST_ROUNDS):
        if not settling:
            break
        audited = _audit_again(audited, settling)
        settling = {change.shown: change for change in _plan_once(audited, unsafe=unsafe).changes}
        for shown, change in settling.items():
            before = changes[shown]
            changes[shown] = replace(before, text=change.text, edits=before.edits + change.edits)
    unsettled = tuple(f"{shown}: its edits never come to rest; mend it by hand" for shown in settling)
    kept = tuple(change for shown, change in changes.items() if shown not in settling)
    return replace(plan, changes=kept, refusals=plan.refusals + unsettled)


def _audit_again(audited: Audited, changes: Mapping[str, Change]) -> Audited:
    """The audit of files as they would be, under the same settings."""
    new = {}
    for change in changes.values():
        new[absolute(change.source.path)] = read_source(replace(change.source, text=change.text))
    files = [new.get(absolute(path_of(file)), file) for file in audited.catalog.files]
    catalog = replace(link(files), asked=tuple(new.values()))
    (again,) = audit_catalog(catalog, lambda _: audited.settings)
    return again


def _plan_once(audited: Audited, *, unsafe: bool) -> Plan:
    """The edits of one audit."""
    allowed = ("safe", "unsafe") if unsafe else ("safe",)
    by_file: dict[str, list[Finding]] = {}
    for finding in audited.audit.findings:
        if finding.edits and finding.fix in allowed:
            by_file.setdefault(finding.path, []).append(finding)
    changes, refusals = [], []
    planned: set[str] = set()
    for shown, findings in by_file.items():
        source = audited.sources[shown]
        place = os.path.realpath(source.path)
        if place in planned:
            continue  # the same file by another name: a link and its target
        planned.add(place)
        edited = apply_edits(source, unique_edits(findings))
        refusals += [f"{shown}: {refusal.reason}" for refusal in edited.refused]
        if edited.applied and (text := edited.text) != source.text:
            changes.append(Change(shown, source, text, len(edited.applied)))
    held = [finding for finding in audited.audit.findings if finding.fix == "unsafe" and not unsafe]
    manual = [finding for finding in audited.audit.findings if finding.fix == "manual"]
    folders = frozenset(Path(os.path.realpath(source.path)).parent for source in audited.sources.values())
    return Plan(tuple(changes), tuple(refusals), len(held), len(manual), folders=folders)


@dataclass(frozen=True, slots=True)
class Written:
    """The changes that were made, and why the others were not."""

    made: tuple[Change, ...]
    problems: tuple[str, ...]


def merged(plans: Sequence[Plan]) -> Plan:
    """The plans for parts of a catalog as one."""
    if len(plans) == 1:
        return plans[0]
    return Plan(
        tuple(change for plan in plans for change in plan.changes),
        tuple(refusal for plan in plans for refusal in plan.refusals),
        sum(plan.unsafe_left for plan in plans),
        sum(plan.manual_left for plan in plans),
        tuple(reason for plan in plans for reason in plan.unsplit),
        tuple(note for plan in plans for note in plan.notes),
        frozenset(folder for plan in plans for folder in plan.folders),
    )


def write_fixes(plan: Plan) -> Written:
    """Replace each file atomically, those of a group all or none."""
    for folder in plan.folders | _folders(plan.changes):
        remove_leftovers(folder)
    made: list[Change] = []
    problems = []
    for _, group in groupby(plan.changes, key=lambda change: change.group or change.shown):
        changes = list(group)
        problem = _write_together(changes)
        if problem is None:
            made += changes
        else:
            problems.append(problem)
    return Written(tuple(made), tuple(problems))


def _write_together(changes: Sequence[Change]) -> str | None:
    """Make all changes or none, while other processes wait: what one of them did in between could not be undone."""
    try:
        with alone_in(_folders(changes)):
            return _first_obstacle(changes) or _write(changes)
    except OSError as problem:
        return f"{changes[0].shown}: {problem.strerror or problem}"


def _folders(changes: Sequence[Change]) -> frozenset[Path]:
    return frozenset(Path(os.path.realpath(change.source.path)).parent for change in changes)


def _write(changes: Sequence[Change]) -> str | None:
    """Make the changes one after the other; where one fails, those before it are undone. What went wrong, if anything.

    A run that is killed in between leaves the first few: they come in an order in which each is sound without the rest.
    """
    for place, change in enumerate(changes):
        problem = _attempt(change, _make)
        if problem is not None:
            undone = [_attempt(one, _undo) for one in reversed(changes[:place])]
            return "; ".join([problem, *(f"not undone: {left}" for left in undone if left is not None)])
    return None


def _first_obstacle(changes: Sequence[Change]) -> str | None:
    return next((problem for change in changes if (problem := _attempt(change, _check)) is not None), None)


def _attempt(change: Change, act: Callable[[Change], None]) -> str | None:
    try:
        act(change)
    except StaleFileError as problem:
        return str(problem)
    except OSError as problem:
        return f"{change.shown}: {problem.strerror or problem}"
    return None


def _check(change: Change) -> None:
    for source in change.needs:
        if not is_current(source):
            raise StaleFileError(f"{source.path} has changed since it was read; nothing was written, run again")
    if change.created_like is None:
        check_replaceable(Path(change.source.path), change.source)
    else:
        check_absent(Path(change.source.path))


def _make(change: Change) -> None:
    if change.created_like is None:
        write_atomically(Path(change.source.path), change.source, change.text)
    else:
        create_atomically(Path(change.source.path), replace(change.source, text=change.text), change.created_like)


def _undo(change: Change) -> None:
    made = replace(change.source, text=change.text)
    check_replaceable(Path(change.source.path), made)
    if change.created_like is None:
        write_atomically(Path(change.source.path), made, change.source.text)
    else:
        os.unlink(change.source.path)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
