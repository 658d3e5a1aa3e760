"""The JSON of `audit`: the public contract. Keys and shapes here are what people script against."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from opscan import __version__
from opscan.model import Audit, FileReport, Finding, TensorReport
from opscan.reporting.look import Look
from opscan.reporting.order import STATUSES, by_place, place
from opscan.reporting.text import plain
from opscan.reporting.words import shares


def write(audit: Audit, look: Look) -> str:  # noqa: ARG001  every format has one signature
    """The whole audit as one JSON object, ASCII only, files by path and findings by place."""
    return dumps(audit_object(audit))


def dumps(value: Any) -> str:
    # ASCII escapes carry undecodable path bytes (lone surrogates), which no UTF-8 stream could take.
    return json.dumps(plain(value), indent=2, allow_nan=False) + "\n"


def audit_object(audit: Audit) -> dict[str, Any]:
    return {
        "schema": 1,
        "opscan": __version__,
        "atk_version": audit.atk_version,
        **({"device": audit.device} if audit.device else {}),
        "files": [_file(report) for report in sorted(audit.files, key=lambda report: report.path)],
        "findings": [_finding(finding) for finding in by_place(audit.findings)],
        "summary": _summary(audit),
    }


def _file(report: FileReport) -> dict[str, Any]:
    standard: dict[str, Any] = {
        "found": report.found,
        "recommended": None if report.recommended is None else dict(report.recommended),
        "expression": report.expression,
    }
    if report.expression is None:
        standard["expression_reason"] = report.expression_reason
    verdicts = {"verdicts": dict(report.verdicts)} if report.kind == "cases" else {}
    return {
        "path": report.path,
        "kind": report.kind,
        "operator": report.operator,
        "basis": report.basis,
        "scenarios": list(report.scenarios),
        "scenario_source": report.scenario_source,
        "backward": report.backward,
        "status": report.status,
        "reason": report.reason,
        "standard": standard,
        **verdicts,
        "tensors": [tensor_object(tensor) for tensor in report.tensors],
    }


def tensor_object(tensor: TensorReport) -> dict[str, Any]:
    """One compared tensor under the contract's keys."""
    return {
        "name": tensor.name,
        "role": tensor.role,
        "input": tensor.input,
        "dtypes": list(tensor.dtypes),
        "class": tensor.numeric_class.value,
        "correctly_rounded": tensor.correctly_rounded,
        "cause": tensor.cause,
        "depends_on": list(tensor.depends_on),
        "extent": _between(tensor.extent),
        "stages": [{"cause": stage.cause, "extent": _between(stage.extent)} for stage in tensor.stages],
        "cases": shares(tensor.cases),
        "present": tensor.present,
        "effective": dict(tensor.effective),
        "status": tensor.status,
        "path": [step.op for step in tensor.path],
        "evidence": tensor.evidence,
        "traced": tensor.traced,
    }


def _between(extent: tuple[int, int]) -> dict[str, int]:
    return {"min": extent[0], "max": extent[1]}


def _finding(finding: Finding) -> dict[str, Any]:
    span = place(finding)
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity,
        "path": finding.path,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "count": finding.count,
        "message": finding.message,
        "why": finding.why,
        "fix": finding.fix,
    }


def _summary(audit: Audit) -> dict[str, int]:
    counts = Counter(report.status for report in audit.files)
    silenced = sum(finding.count for finding in audit.suppressed)
    found = {"files": len(audit.files), **{status: counts[status] for status in STATUSES}}
    return {**found, "suppressed": silenced} if silenced else found
