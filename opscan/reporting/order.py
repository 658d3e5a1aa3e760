"""What comes first: severities, statuses and findings worst first, files with their findings, stable fingerprints."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from opscan.dataclass import dataclass
from opscan.model import Audit, FileReport, Finding, Span, TensorReport

STATUSES: tuple[str, ...] = ("ok", "too-strict", "too-loose", "ambiguous", "unknown", "invalid", "not-applicable")
"""The statuses of a file, in the order in which the contract lists them."""

_STATUS_RANK: Mapping[str, int] = {
    status: rank
    for rank, status in enumerate(
        ("invalid", "too-strict", "too-loose", "ambiguous", "shared", "unknown", "ok", "not-applicable")
    )
}
_SEVERITY_RANK: Mapping[str, int] = {"error": 0, "warning": 1, "info": 2}
_START = Span(0, 0, 1, 1, 1, 1)
_DIGITS = re.compile(r"\d+")


def severity_rank(severity: str) -> int:
    """0 for the worst; a severity nobody knows comes last."""
    return _SEVERITY_RANK.get(severity, len(_SEVERITY_RANK))


def status_rank(status: str) -> int:
    """0 for the worst; a status nobody knows comes last."""
    return _STATUS_RANK.get(status, len(_STATUS_RANK))


def place(finding: Finding) -> Span:
    """Where a finding stands; one without a place stands at the start of its file."""
    return finding.span or _START


def by_place(findings: Iterable[Finding]) -> list[Finding]:
    """In reading order: path, line, column, rule."""
    return sorted(findings, key=_place_key)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """By severity, then rule, then place."""
    return sorted(findings, key=lambda finding: (severity_rank(finding.severity), finding.rule, *_place_key(finding)))


def _place_key(finding: Finding) -> tuple[str, int, int, str, str]:
    span = place(finding)
    return finding.path, span.line, span.column, finding.rule, finding.message


def spread(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding per known place. Places that were not kept stay in the count of the first."""
    return tuple(single for finding in findings for single in _spread_one(finding))


def _spread_one(finding: Finding) -> Iterator[Finding]:
    if len(finding.places) < 2:
        yield finding
        return
    first, *others = finding.places
    yield replace(finding, span=first, places=(), count=max(finding.count - len(others), 1))
    for span in others:
        yield replace(finding, span=span, places=(), count=1)


def fingerprints(findings: Iterable[Finding]) -> list[str]:
    """One fingerprint per finding, in order, unique, and the same when lines shift or counts in the message change."""
    from hashlib import sha256

    seen: Counter[tuple[str, ...]] = Counter()
    prints = []
    for finding in findings:
        where = repr(finding.edits[0].where) if finding.edits else ""
        key = (finding.rule, finding.path, where, _DIGITS.sub("#", finding.message))
        text = "\0".join((*key, str(seen[key])))
        seen[key] += 1
        prints.append(sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40])
    return prints


@dataclass(frozen=True)
class FileFindings:
    """One file with its findings, worst first."""

    report: FileReport
    findings: tuple[Finding, ...]

    @cached_property
    def severity(self) -> str:
        """The worst severity among the findings; empty without findings."""
        return self.findings[0].severity if self.findings else ""

    @property
    def failing(self) -> bool:
        """Whether someone has to look at the file."""
        return self.severity in ("error", "warning") or self.report.status in (
            "invalid",
            "too-strict",
            "too-loose",
            "ambiguous",
        )

    @property
    def undecided(self) -> tuple[TensorReport, ...]:
        """The compared tensors of which nothing is known, in a file whose own status says something else."""
        if self.report.status == "unknown":
            return ()
        return tuple(tensor for tensor in self.report.tensors if tensor.status == "unknown")


def files_worst_first(audit: Audit) -> tuple[FileFindings, ...]:
    """Every file with its findings; a file that only findings name gets a report of its own, so none is lost."""
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in worst_first(audit.findings):
        found[finding.path].append(finding)
    known = {report.path for report in audit.files}
    strangers = [FileReport(path, "other", "not-applicable", "") for path in found if path not in known]
    # The same path twice (a cases file audited under two operators) must not show its findings twice.
    pairs = [FileFindings(report, tuple(found.pop(report.path, ()))) for report in (*audit.files, *strangers)]
    return tuple(sorted(pairs, key=_file_key))


def _file_key(file: FileFindings) -> tuple[int, int, int, str]:
    count = sum(finding.count for finding in file.findings if finding.severity == file.severity)
    return severity_rank(file.severity), status_rank(file.report.status), -count, file.report.path
