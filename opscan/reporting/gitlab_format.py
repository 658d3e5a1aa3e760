"""GitLab's code quality report. Its fingerprints hold no line numbers, so a shifted line is no new finding."""

from __future__ import annotations

from opscan.model import Audit
from opscan.reporting.json_format import dumps
from opscan.reporting.look import Look
from opscan.reporting.order import fingerprints, place, worst_first
from opscan.reporting.text import one_line

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def write(audit: Audit, look: Look) -> str:  # noqa: ARG001  every format has one signature
    findings = worst_first(audit.findings)
    return dumps(
        [
            {
                "description": f"{finding.rule} {finding.name}: {one_line(finding.message)}",
                "check_name": finding.rule,
                "fingerprint": fingerprint,
                "severity": _SEVERITIES.get(finding.severity, "info"),
                "location": {
                    "path": finding.path.removeprefix("./"),
                    "lines": {"begin": place(finding).line, "end": place(finding).end_line},
                },
            }
            for finding, fingerprint in zip(findings, fingerprints(findings), strict=True)
        ]
    )
