"""Make findings: the rule gives the id, the severity and the reason, the place gives the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from opscan.interface import SEVERITIES
from opscan.judging.rules import RuleText, load_rule
from opscan.model import Edit, Fault, Finding, Span


def find(
    rule: str | RuleText,
    path: str,
    message: str,
    *,
    spans: Sequence[Span | None] = (),
    count: int | None = None,
    severity: str | None = None,
    fix: str = "none",
    edits: Iterable[Edit] = (),
) -> Finding:
    """A finding of a rule, by its name where it ships. `spans` are its places, the first of which it stands at."""
    text = load_rule(rule) if isinstance(rule, str) else rule
    places = tuple(span for span in spans if span is not None)
    return Finding(
        rule=text.id,
        name=text.name,
        severity=severity or text.severity,
        path=path,
        message=message,
        why=text.why,
        span=places[0] if places else None,
        count=count if count is not None else max(1, len(spans)),
        places=places,
        fix=fix,
        edits=tuple(edits),
    )


def from_faults(path: str, faults: Sequence[Fault]) -> list[Finding]:
    """One finding per kind of fault and message, with the number of places."""
    grouped: dict[tuple[str, str], list[Fault]] = {}
    for fault in faults:
        grouped.setdefault((fault.rule, fault.message), []).append(fault)
    findings = []
    for (rule, message), same in grouped.items():
        edits = [fault.edit for fault in same if fault.edit is not None]
        fix = "safe" if len(edits) == len(same) else "manual"
        spans = [fault.span for fault in same]
        findings.append(find(rule, path, message, spans=spans, fix=fix, edits=edits, severity=same[0].severity))
    return findings


def at_most(finding: Finding, severity: str) -> Finding:
    """The finding, not more severe than `severity`."""
    if SEVERITIES.index(finding.severity) >= SEVERITIES.index(severity):
        return finding
    return replace(finding, severity=severity)
