"""A baseline: the findings a catalog has today, so that a run reports only what is new.

One JSON file: fingerprint -> number of places. A fingerprint holds the rule, the file and the message without its
numbers, and no line, so that it survives edits above it. Where more places turn up than the baseline counts, the
finding is reported; entries that nothing matches any more are stale.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from opscan.model import Finding

_SCHEMA = 1
_NUMBERS = re.compile(r"\d[\d.,]*")


class BaselineError(Exception):
    """A baseline file that cannot be used; the message begins with its path."""


@dataclass(frozen=True, slots=True)
class Compared:
    """`new`: findings that the baseline does not cover. `stale`: its entries that no finding matches."""

    new: tuple[Finding, ...]
    covered: int
    stale: tuple[str, ...]


def fingerprint(finding: Finding) -> str:
    return f"{finding.rule} {finding.path}: {_NUMBERS.sub('#', finding.message)}"


def compare(findings: Sequence[Finding], path: Path) -> Compared:
    """Hold findings against the baseline at `path`. Raises BaselineError."""
    known = _read(path)
    counts: Counter[str] = Counter()
    for finding in findings:
        counts[fingerprint(finding)] += finding.count
    new = tuple(f for f in findings if counts[fingerprint(f)] > known.get(fingerprint(f), 0))
    stale = tuple(sorted(key for key in known if key not in counts))
    return Compared(new, len(findings) - len(new), stale)


def write(findings: Sequence[Finding], path: Path) -> None:
    """Make `path` the baseline of exactly these findings. Raises BaselineError."""
    counts: Counter[str] = Counter()
    for finding in findings:
        counts[fingerprint(finding)] += finding.count
    text = json.dumps({"schema": _SCHEMA, "findings": dict(sorted(counts.items()))}, indent=1, ensure_ascii=False)
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as problem:
        raise BaselineError(f"{path}: cannot be written: {problem.strerror}") from None


def _read(path: Path) -> dict[str, int]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        hint = "; --write-baseline makes it" if isinstance(problem, FileNotFoundError) else ""
        raise BaselineError(f"{path}: cannot be read: {problem.strerror}{hint}") from None
    except ValueError as problem:
        raise BaselineError(f"{path}: is no JSON: {problem}") from None
    findings = data.get("findings") if isinstance(data, dict) else None
    if (
        not isinstance(findings, dict)
        or data.get("schema") != _SCHEMA
        or any(type(n) is not int for n in findings.values())
    ):
        raise BaselineError(f"{path}: is no baseline of schema {_SCHEMA}; --write-baseline makes one")
    return dict(findings)
