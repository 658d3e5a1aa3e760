"""Edits on findings: what mends them, and what a file's edits look like as a diff."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opscan import editing
from opscan.model import Audit, Edit, Finding, Source, Spec

if TYPE_CHECKING:
    from opscan.audit import Audited


def of_spec(spec: Spec, proposal: Any, findings: Sequence[Finding], note: str = "") -> list[Finding]:
    """The findings of a spec, with the edit that makes `proposal` of its standard on those that it mends.

    `note`: what derived thresholds hold for; it becomes a comment where there is room for one.
    """
    edit = editing.replace_acc(spec, proposal, f"derived: {note}" if note else "")
    return [_with_edit(finding, edit) for finding in findings]


def _with_edit(finding: Finding, edit: Edit | str) -> Finding:
    """The edit of `standard.acc` on the findings that it mends; a refused edit leaves the reason in the message."""
    if finding.fix not in ("safe", "unsafe") or finding.edits or not finding.rule.startswith("OPS1"):
        return finding
    if isinstance(edit, str):
        return replace(finding, fix="manual", message=f"{finding.message} (not edited: {edit})")
    return replace(finding, edits=(edit,))


def with_diffs(audited: Audited) -> Audit:
    """The audit with each file's edits as a diff: only reports that show diffs pay for verifying them."""
    by_file: dict[str, list[Finding]] = {}
    for finding in audited.audit.findings:
        if finding.edits:
            by_file.setdefault(finding.path, []).append(finding)
    files = tuple(
        replace(report, diff=_diff(report.path, audited.sources[report.path], by_file[report.path]))
        if report.path in by_file
        else report
        for report in audited.audit.files
    )
    return replace(audited.audit, files=files)


def _diff(shown: str, source: Source, findings: Sequence[Finding]) -> str:
    edited = editing.apply_edits(source, unique_edits(findings))
    before, after = (editing.with_bom(source, text) for text in (source.text, edited.text))
    return editing.unified_diff(shown, before, after)


def unique_edits(findings: Sequence[Finding]) -> Iterable[Edit]:
    """The edits of all findings, each once: several findings can be mended by the same edit."""
    return {(edit.start, edit.end, edit.text): edit for finding in findings for edit in finding.edits}.values()
