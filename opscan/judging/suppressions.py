"""Comments in a spec or plugin that silence a rule where they stand, or in the whole file.

    acc: equal  # opscan: ignore[OPS101] compared on one device only
    # opscan: ignore-file[unknown-shapes]

A rule is named in full, by id or name; there is no comment that silences everything. A comment that silences nothing is
itself a finding, and so is one that cannot be read: both would otherwise hide that nobody looks any more.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache

from opscan.dataclass import dataclass
from opscan.judging.findings import from_faults
from opscan.judging.rules import Folders, load_rule, rule_id, rule_names
from opscan.model import Edit, Fault, Finding, Source, Span
from opscan.reading import Comment, comments_of

_DIRECTIVE = re.compile(r"#[ \t]*opscan[ \t]*(?P<colon>:?)[ \t]*(?P<rest>.*)")
_IGNORE = re.compile(r"(?P<word>[\w-]*)[ \t]*(?:\[(?P<rules>[^\]]*)\])?")
_WORDS = ("ignore", "ignore-file")
_OWN = ("unused-suppression", "malformed-suppression")
_START = Span(0, 0, 1, 1, 1, 1)
Witness = tuple[tuple[str | int, ...], object]


@dataclass(frozen=True, slots=True)
class Suppression:
    """One rule of one comment. `line`: the line it speaks of, None for the whole file."""

    rule: str
    written: str
    line: int | None
    comment: Comment


@dataclass(frozen=True, slots=True)
class Outcome:
    """The findings that stand, with those on the comments themselves, and those that comments silence."""

    kept: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]


@dataclass(slots=True)
class _File:
    source: Source
    suppressions: list[Suppression]
    faults: list[Fault]
    used: set[Suppression] = field(default_factory=set)


def suppress(
    findings: Sequence[Finding],
    sources: Mapping[str, Source],
    enabled: Collection[str],
    undecided: Collection[str],
    own: Folders = (),
) -> Outcome:
    """Take away what comments silence, and report comments that silence nothing or cannot be read.

    `sources` by the path that findings carry. `enabled`: the names of the rules that this run reports. `undecided`:
    paths of files that could not be judged, whose suppressions of standards may be needed another time. `own`: the
    folders of the user's rules.
    """
    files = {path: file for path, source in sources.items() if (file := _read(source, own)) is not None}
    kept: list[Finding] = []
    silenced: list[Finding] = []
    for finding in findings:
        file = files.get(finding.path)
        left, gone = (finding, None) if file is None else _split(finding, file)
        kept += [left] if left else []
        silenced += [gone] if gone else []
    for path, file in files.items():
        faults = [*file.faults, *_unused(file, enabled, path in undecided, own)]
        kept += from_faults(path, [fault for fault in faults if fault.rule in enabled])
    return Outcome(tuple(kept), tuple(silenced))


def _read(source: Source, own: Folders) -> _File | None:
    comments = comments_of(source)
    if not comments:
        return None
    file = _File(source, [], [])
    for comment in comments:
        for item in _parse(comment, own):
            (file.suppressions if isinstance(item, Suppression) else file.faults).append(item)  # type: ignore[arg-type]
    return file


def _parse(comment: Comment, own: Folders) -> Iterator[Suppression | Fault]:
    """The suppressions of a comment, and a fault for whatever in it cannot be read."""
    directive = _DIRECTIVE.match(comment.text)
    rest = directive["rest"] if directive else ""
    if directive is None or not directive["colon"]:
        if rest.startswith("ignore"):
            yield _malformed(comment, "a colon is missing: write `# opscan: ignore[RULE]`")
        return
    found = _IGNORE.match(rest)
    word, listed = (found["word"], found["rules"]) if found else ("", None)
    if word not in _WORDS:
        yield _malformed(comment, f"opscan knows `ignore` and `ignore-file`, not {word or rest[:20]!r}{_hint(word)}")
        return
    names = [name.strip() for name in (listed or "").split(",")]
    if names == [""]:
        yield _malformed(comment, f"name the rules: `# opscan: {word}[OPS101]`; nothing silences all of them")
        return
    for name in names:
        known = _known(name, own)
        if known in _OWN:
            yield _malformed(comment, f"{name} cannot be silenced by a comment; put it under `ignore` in the settings")
        elif known is None:
            yield _malformed(comment, f"there is no rule {name!r}{_rule_hint(name, own)}")
        else:
            yield Suppression(known, name, None if word == "ignore-file" else comment.line, comment)


def _malformed(comment: Comment, message: str) -> Fault:
    return Fault("malformed-suppression", f"this comment silences nothing: {message}", comment.span)


@lru_cache(maxsize=1024)
def _known(name: str, own: Folders) -> str | None:
    return next((known for known in rule_names(own) if name in (known, rule_id(known, own))), None)


def _hint(word: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, _WORDS, n=1)
    return f", did you mean {close[0]!r}?" if close else ""


def _rule_hint(name: str, own: Folders) -> str:
    ids = [rule_id(known, own) for known in rule_names(own)]
    if name and any(identifier.startswith(name) for identifier in ids):
        return "; a comment names a whole rule, not a prefix"
    from difflib import get_close_matches

    close = get_close_matches(name, [*rule_names(own), *ids], n=1, cutoff=0.7)
    return f", did you mean {close[0]!r}?" if close else "; `opscan rules` lists them"


def _split(finding: Finding, file: _File) -> tuple[Finding | None, Finding | None]:
    """What of a finding stands and what a comment silences: each of its places is silenced on its own."""
    own = [one for one in file.suppressions if one.rule == finding.name]
    if not own:
        return finding, None
    whole = [one for one in own if one.line is None]
    if whole:
        file.used.update(whole)
        return None, finding
    places = finding.places or ((finding.span,) if finding.span else (_START,))
    gone = []
    for place in places:
        lines = _lines_of(place, file.source.text)
        hit = [one for one in own if one.line in lines]
        file.used.update(hit)
        gone += [place] * bool(hit)
    if not gone:
        return finding, None
    left = tuple(place for place in places if place not in gone)
    if not left:
        return None, finding
    return _only(finding, left, finding.count - len(gone)), _only(finding, tuple(gone), len(gone))


def _only(finding: Finding, places: tuple[Span, ...], count: int) -> Finding:
    edits = tuple(edit for edit in finding.edits if any(p.start <= edit.start <= p.end for p in places))
    return replace(finding, span=places[0], places=places, count=max(count, 1), edits=edits)


def _lines_of(place: Span, text: str) -> set[int]:
    """The lines on which a comment speaks of a place: its first, its last, and that of the key it belongs to."""
    lines = {place.line, place.end_line}
    start = text.rfind("\n", 0, place.start) + 1
    if not text[start : place.start].strip():
        before = text[:start].rstrip()
        above = before[before.rfind("\n") + 1 :].partition(" #")[0].rstrip()
        if above.endswith(":"):
            lines.add(before.count("\n") + 1)
    return lines


def _unused(file: _File, enabled: Collection[str], undecided: bool, own: Folders) -> Iterator[Fault]:
    """A fault for each rule that a comment names and that is reported in this run, but not where the comment stands."""
    by_comment: dict[Comment, list[Suppression]] = {}
    for one in file.suppressions:
        unsure = one.rule not in enabled or load_rule(one.rule, own).catalog
        unsure = unsure or (undecided and rule_id(one.rule, own) >= "OPS1")
        if one not in file.used and not unsure:
            by_comment.setdefault(one.comment, []).append(one)
    witness = _witness(file.source) if by_comment else None
    for comment, useless in by_comment.items():
        edit = _removal(file.source, comment, [one.written for one in useless], witness) if witness else None
        for one in useless:
            where = "in this file" if one.line is None else "here"
            message = (
                f"{rule_id(one.rule, own)} {one.rule} is silenced {where}, but nothing raises it: remove the comment"
            )
            yield Fault("unused-suppression", message, comment.span, edit)


def _removal(source: Source, comment: Comment, useless: Sequence[str], where: Witness) -> Edit:
    """The edit that takes useless rules out of a comment, or all of it, with its line where it stands alone."""
    start, end, text = comment.span.start, comment.span.end, source.text
    opened = text.index("[", start) + 1
    closed = text.index("]", opened)
    left = [name for written in text[opened:closed].split(",") if (name := written.strip()) not in useless]
    if left:
        return Edit(opened, closed, ", ".join(left), *where)
    while start and text[start - 1] in " \t":
        start -= 1
    if start == 0 or text[start - 1] in "\r\n":
        end += 2 if text[end : end + 2] == "\r\n" else 1 if text[end : end + 1] else 0
    return Edit(start, end, "", *where)


def _witness(source: Source) -> Witness | None:
    """A value of the document that must stay as it is: edits are verified by what they leave there."""
    from opscan.reading.values import Tree, read_tree

    if source.path.suffix.lower() not in (".yaml", ".yml"):
        return None
    tree = read_tree(source)
    if not isinstance(tree, Tree) or not isinstance(tree.value, dict):
        return None
    return next((((key,), value) for key, value in tree.value.items() if isinstance(value, str)), None)
