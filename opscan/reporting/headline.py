"""The verdict in one sentence and four figures: what a report says first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from opscan.model import Audit
from opscan.reporting.words import digits, listed, plural


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the four numbers. `word` lends it its colour."""

    number: int
    title: str
    meaning: str
    word: str


def headline(audit: Audit) -> str:
    """One sentence: how many standards are wrong and which way, or that all fit; never silent on the undecided."""
    judged = [report for report in audit.files if report.status != "not-applicable"]
    counts = Counter(report.status for report in judged)
    severe = sum(finding.severity == "error" for finding in audit.findings)
    parts = []
    if counts["too-strict"]:
        parts.append(f"{digits(counts['too-strict'])} would fail correct kernels")
    if counts["too-loose"]:
        parts.append(f"{digits(counts['too-loose'])} would pass wrong kernels")
    if counts["ambiguous"]:
        parts.append(
            f"{digits(counts['ambiguous'])} {_verb(counts['ambiguous'], 'changes')} meaning with the ATK version"
        )
    if counts["invalid"]:
        parts.append(f"{digits(counts['invalid'])} will not run")
    if counts["unknown"]:
        parts.append(f"{digits(counts['unknown'])} could not be decided")
    if parts:
        return f"Of {plural(len(judged), 'standard')}, {listed(parts)}."
    if severe:
        return f"The standards fit, but there {'is' if severe == 1 else 'are'} {plural(severe, 'error')} beside them."
    if not judged:
        return "No standard was found to judge."
    return "The one standard fits." if len(judged) == 1 else f"All {digits(len(judged))} standards fit."


def _verb(number: int, singular: str) -> str:
    return singular if number == 1 else singular.removesuffix("s")


def figures(audit: Audit) -> tuple[Figure, ...]:
    """Too strict, too loose, undecided, fits."""
    counts = Counter(report.status for report in audit.files)
    undecided = {word: counts[word] for word in ("ambiguous", "invalid", "unknown") if counts[word]}
    reasons = ", ".join(f"{digits(number)} {word}" for word, number in undecided.items())
    word = next(iter(undecided), "unknown")
    return (
        Figure(counts["too-strict"], "Too strict", "correct kernels fail", "too-strict"),
        Figure(counts["too-loose"], "Too loose", "wrong kernels pass", "too-loose"),
        Figure(sum(undecided.values()), "Undecided", reasons or "nothing left open", word),
        Figure(counts["ok"], "Fits", "correct pass, wrong fail", "ok"),
    )
