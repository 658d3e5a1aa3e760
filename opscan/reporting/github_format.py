"""Workflow commands of GitHub Actions, worst first: only the first ten of a kind become annotations."""

from __future__ import annotations

from collections import Counter

from opscan.model import Audit, Finding
from opscan.reporting.look import Look
from opscan.reporting.order import place, worst_first
from opscan.reporting.text import visible
from opscan.reporting.words import digits, summary

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_ANNOTATIONS = 10


def write(audit: Audit, look: Look) -> str:  # noqa: ARG001  every format has one signature
    """One command per finding, then the summary as a line of the log."""
    findings = worst_first(audit.findings)
    lines = [_command(finding) for finding in findings]
    counts = Counter(_COMMANDS.get(finding.severity, "notice") for finding in findings)
    more = sum(max(count - _ANNOTATIONS, 0) for count in counts.values())
    if more:
        # GitHub drops what exceeds ten of a kind without a word, so the word comes first.
        text = f"GitHub annotates ten of a kind; {digits(more)} more findings stand in this log. SARIF shows them all."
        lines.insert(0, f"::notice title=opscan::{_data(text)}")
    return "\n".join([*lines, summary(audit)]) + "\n"


def _command(finding: Finding) -> str:
    span = place(finding)
    properties = {"file": finding.path, "line": str(span.line)}
    if span.line == span.end_line:
        # Columns are honoured on one-line annotations only.
        properties |= {"col": str(span.column), "endColumn": str(span.end_column)}
    else:
        properties["endLine"] = str(span.end_line)
    properties["title"] = f"{finding.rule} {finding.name}"
    named = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    message = finding.message if finding.count < 2 else f"{finding.message} [{digits(finding.count)} places]"
    return f"::{_COMMANDS.get(finding.severity, 'notice')} {named}::{_data(message)}"


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
