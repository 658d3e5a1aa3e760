"""Findings of the user's own rules, each with the edit that its rule asks for."""

from __future__ import annotations

from collections.abc import Iterable

from opscan.editing import yaml_scalar
from opscan.judging import find
from opscan.judging.declared import Hit, Match, hits
from opscan.judging.rules import RuleText
from opscan.model import Edit, Finding, KeyPath, Spec
from opscan.reading.values import Tree, read_tree


def declared_findings(spec: Spec, shown: str, rules: Iterable[RuleText]) -> list[Finding]:
    """One finding per rule and message. A fix of the standard itself is unsafe: nothing shows that it is adequate."""
    tree = read_tree(spec.source)
    if not isinstance(tree, Tree):
        return []
    findings = []
    for rule in rules:
        grouped: dict[str, list[Hit]] = {}
        for hit in hits(rule.match, tree.value) if rule.match else ():
            grouped.setdefault(hit.message, []).append(hit)
        findings += [_finding(rule, message, same, tree, shown) for message, same in grouped.items()]
    return findings


def _finding(rule: RuleText, message: str, same: list[Hit], tree: Tree, shown: str) -> Finding:
    spans = [tree.span(hit.where) for hit in same]
    edits = [_edit(hit.where, rule.match, tree) for hit in same] if rule.match and rule.match.fixes else []
    made = [edit for edit in edits if edit is not None]
    label = "none" if not edits else "manual" if len(made) < len(edits) else "safe"
    if label == "safe" and any(edit.where[:2] == ("standard", "acc") for edit in made):
        label = "unsafe"
    return find(rule.name, shown, message, spans=spans, fix=label, edits=made if label != "manual" else ())


def _edit(where: KeyPath, match: Match, tree: Tree) -> Edit | None:
    """The edit of a scalar that is written in place; what stands behind an alias is for a person."""
    leaf, span = tree.leaves.get(where), tree.spans.get(where)
    if leaf is None or span is None or where in tree.indirect or leaf.style in ("|", ">"):
        return None
    quote = leaf.style if isinstance(match.fix, str) and leaf.style else ""
    return Edit(span.start, span.end, yaml_scalar(match.fix, quote), where, match.fix)
