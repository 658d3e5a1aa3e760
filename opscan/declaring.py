"""Findings of the user's own rules, each with the edit that its rule asks for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from opscan import reading
from opscan.editing import yaml_scalar
from opscan.judging import find
from opscan.judging.declared import Hit, Match, hits
from opscan.judging.rules import RuleText
from opscan.model import CaseFile, Edit, Finding, KeyPath, Span, Spec
from opscan.reading.case_spans import CaseSpans, lines_within
from opscan.reading.json_text import place_of
from opscan.reading.values import Tree, read_tree

_MESSAGES = 20
"""Messages of one rule in one case file; what differs in every case would fill the screen."""
_FURTHER = ""
_STANDARD = ("standard", "acc")


def declared_findings(spec: Spec, shown: str, rules: Iterable[RuleText]) -> list[Finding]:
    """One finding per rule and message. A fix of the standard itself is unsafe: nothing shows that it is adequate."""
    tree = read_tree(spec.source)
    if not isinstance(tree, Tree):
        return []
    findings = []
    for rule in rules:
        grouped: dict[str, list[Hit]] = {}
        for hit in hits(rule.match, tree.value) if rule.match and not rule.match.cases else ():
            grouped.setdefault(hit.message, []).append(hit)
        findings += [_finding(rule, message, same, tree, shown) for message, same in grouped.items()]
    return findings


def _finding(rule: RuleText, message: str, same: list[Hit], tree: Tree, shown: str) -> Finding:
    spans = [tree.span(hit.where) for hit in same]
    edits = [_edit(hit.where, rule.match, tree) for hit in same] if rule.match and rule.match.fixes else []
    return _with_edits(rule, message, shown, spans, edits)


def _with_edits(
    rule: RuleText, message: str, shown: str, spans: Sequence[Span | None], edits: Sequence[Edit | None]
) -> Finding:
    """The finding with its edits, if all of its places have one; an edit of the standard itself is not safe."""
    made = [edit for edit in edits if edit is not None]
    label = "none" if not edits else "manual" if len(made) < len(edits) else "safe"
    if label == "safe" and any(_STANDARD in (edit.where[:2], edit.where[1:3]) for edit in made):
        label = "unsafe"
    return find(rule, shown, message, spans=spans, fix=label, edits=made if label != "manual" else ())


def declared_in_cases(case_file: CaseFile, shown: str, rules: Iterable[RuleText]) -> list[Finding]:
    """What rules with `in: cases` find: one finding per rule and message, and one for what is beyond the first few.

    The text is read once more, case by case, but only where there is such a rule.
    """
    asked = [(rule, rule.match) for rule in rules if rule.match is not None and rule.match.cases]
    grouped: dict[str, dict[str, list[tuple[int, KeyPath]]]] = {rule.name: {} for rule, _ in asked}
    for index, case in reading.values_of(case_file) if asked else ():
        for rule, match in asked:
            for hit in hits(match, case):
                groups = grouped[rule.name]
                message = hit.message if hit.message in groups or len(groups) < _MESSAGES else _FURTHER
                groups.setdefault(message, []).append((index, hit.where))
    found = [(rule, match, message, same) for rule, match in asked for message, same in grouped[rule.name].items()]
    spots: dict[int, list[tuple[int, KeyPath]]] = {}
    for number, (_, _, _, same) in enumerate(found):
        for index, where in same:
            spots.setdefault(index, []).append((number, where))
    spans: list[list[Span]] = [[] for _ in found]
    edits: list[list[Edit | None]] = [[] for _ in found]
    for index, place in reading.located(case_file, spots):
        shifted = lines_within(place)
        for number, where in spots[index]:
            match, (start, end) = found[number][1], place_of(place.text, where)
            spans[number].append(shifted(start, end))
            if match.fixes:
                edits[number].append(_case_edit(index, where, place, spans[number][-1], match))
    return [
        _with_edits(rule, rule.summary if message == _FURTHER else message, shown, places, mends)
        for (rule, _, message, _), places, mends in zip(found, spans, edits, strict=True)
    ]


def _case_edit(index: int, where: KeyPath, place: CaseSpans, span: Span, match: Match) -> Edit | None:
    """The edit of a scalar of a case; a list or an object is for a person."""
    first = place.text[span.start - place.case.start]
    if first in "[{":
        return None
    written = json.dumps(match.fix, ensure_ascii=place.text.isascii())
    return Edit(span.start, span.end, written, (index, *where), match.fix, (place.case.start, place.case.end))


def _edit(where: KeyPath, match: Match, tree: Tree) -> Edit | None:
    """The edit of a scalar that is written in place; what stands behind an alias is for a person."""
    leaf, span = tree.leaves.get(where), tree.spans.get(where)
    if leaf is None or span is None or where in tree.indirect or leaf.style in ("|", ">"):
        return None
    quote = leaf.style if isinstance(match.fix, str) and leaf.style else ""
    return Edit(span.start, span.end, yaml_scalar(match.fix, quote), where, match.fix)
