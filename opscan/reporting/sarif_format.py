"""SARIF 2.1.0, worst first, because code scanning keeps only the first results of a run.

Columns count code points, as everywhere in opscan. Files that could not be decided are notifications of the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from opscan import __version__
from opscan.model import Audit, Finding, Span
from opscan.reporting.json_format import dumps
from opscan.reporting.look import Look
from opscan.reporting.order import fingerprints, place, worst_first
from opscan.reporting.text import one_line
from opscan.reporting.words import digits, judged_for

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_MOST_RESULTS = 25_000
"""What GitHub accepts in one run."""


def write(audit: Audit, look: Look) -> str:  # noqa: ARG001  every format has one signature
    findings = [*worst_first(audit.findings), *worst_first(audit.suppressed)]
    rules = _rules(findings)
    index = {rule["id"]: position for position, rule in enumerate(rules)}
    pairs = list(zip(findings, fingerprints(findings), strict=True))
    silenced = set(map(id, audit.suppressed))
    run = {
        "tool": {"driver": {"name": "opscan", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _notifications(audit, len(pairs))}],
        "results": [
            _result(finding, print_, index[finding.rule], silenced=id(finding) in silenced)
            for finding, print_ in pairs[:_MOST_RESULTS]
        ],
        "properties": {"atkVersion": audit.atk_version, "judgedFor": judged_for(audit)},
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return dumps({"$schema": schema, "version": "2.1.0", "runs": [run]})


def _rules(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """One descriptor per rule that occurs; its text is the reason that the first finding of the rule gives."""
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.rule, finding)
    return [_rule(first[rule]) for rule in sorted(first)]


def _rule(finding: Finding) -> dict[str, Any]:
    short = finding.name.replace("-", " ").capitalize()
    help_text = finding.why or finding.message
    return {
        "id": finding.rule,
        "name": "".join(part.capitalize() for part in finding.name.split("-")),
        "shortDescription": {"text": f"{short}."},
        "fullDescription": {"text": one_line(help_text)},
        "help": {"text": help_text, "markdown": help_text},
        "defaultConfiguration": {"level": _LEVELS.get(finding.severity, "note")},
        "properties": {"tags": ["precision-standard"]},
    }


def _result(finding: Finding, fingerprint: str, rule_index: int, *, silenced: bool) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": _LEVELS.get(finding.severity, "note"),
        "message": {"text": finding.message or finding.name},
        "locations": [_location(finding.path, place(finding))],
        "partialFingerprints": {"opscan/v1": fingerprint},
        "occurrenceCount": max(finding.count, 1),
        "properties": {"fix": finding.fix},
    }
    if silenced:
        result["suppressions"] = [{"kind": "inSource"}]
    others = [span for span in finding.places if span != finding.span]
    if others:
        result["relatedLocations"] = [_location(finding.path, span) for span in others]
    return result


def _location(path: str, span: Span) -> dict[str, Any]:
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": region}}


def _uri(path: str) -> str:
    pure = PurePath(path)
    quoted = quote(pure.as_posix().encode("utf-8", "surrogateescape"))
    if pure.is_absolute():
        return "file://" + (quoted if quoted.startswith("/") else f"/{quoted}")
    return quoted


def _notifications(audit: Audit, results: int) -> list[dict[str, Any]]:
    notifications = [
        {
            "level": "note",
            "message": {"text": f"Not checked: {report.reason or 'no reason given'}"},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(report.path)}}}],
        }
        for report in sorted(audit.files, key=lambda report: report.path)
        if report.status == "unknown"
    ]
    if results > _MOST_RESULTS:
        text = f"{digits(results - _MOST_RESULTS)} of {digits(results)} results are left out; the worst come first."
        notifications.append({"level": "warning", "message": {"text": text}})
    return notifications
