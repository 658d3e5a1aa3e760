"""Findings on the comparator itself: not registered, misspelt, keywords without effect, numbers read as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opscan.judging.effective import Effective
from opscan.judging.findings import find
from opscan.judging.messages import acc_text
from opscan.judging.standards import did_you_mean, load_standards
from opscan.judging.verdicts import CaseVerdict
from opscan.model import Finding, Span, Spec

_KEYWORDS = ("max_re_ratio", "avg_re_ratio", "root_mean_squared_ratio", "mare_ratio")


def comparator_findings(spec: Spec, shown: str, verdicts: Sequence[CaseVerdict]) -> list[Finding]:
    """What ATK makes of `standard.acc` beyond its thresholds. One finding per kind."""
    rules = [verdict.effective for case in verdicts for verdict in case.tensors]
    if not rules:
        return []
    span = spec.spans.get(("standard", "acc")) or spec.spans.get(("standard",))
    crash = next((rule.crash for rule in rules if rule.crash), "")
    findings = []
    if crash and any(rule.text_numbers for rule in rules) and _told_by_reader(spec, span):
        return []
    if crash:
        findings.append(find("unknown-comparator", shown, f"{acc_text(spec.acc)} will not run: {crash}", spans=[span]))
    elif custom := unregistered(spec.acc, spec.api_type, rules):
        message, severity = custom
        findings.append(find("unknown-comparator", shown, message, spans=[span], severity=severity))
    if message := ignored_keywords(spec.acc, rules):
        first = next(key for rule in rules for key in rule.ignored)
        findings.append(find("ignored-keyword", shown, message, spans=[_keyword_span(spec, first) or span]))
    return findings


def unregistered(acc: Any, api_type: str, rules: Sequence[Effective]) -> tuple[str, str] | None:
    """What to say of a comparator that ATK does not register, and how severe it is: a plugin may bring its own."""
    custom = next((rule.detail for rule in rules if rule.rule is None and not rule.crash), "")
    if not custom:
        return None
    name = next(iter(acc), "") if isinstance(acc, dict) else str(acc)
    invented = name not in load_standards().comparators and name != "default"
    sure = did_you_mean(name) is not None or (invented and api_type == "function")
    return custom, "error" if sure else "info"


def ignored_keywords(acc: Any, rules: Sequence[Effective]) -> str:
    """What to say of keywords that the comparator ignores; empty where there are none, or nothing runs at all."""
    ignored = dict.fromkeys(key for rule in rules for key in rule.ignored)
    if not ignored or any(rule.crash for rule in rules):
        return ""
    listed = ", ".join(f"`{key}`" for key in ignored)
    meant = [hint for key in ignored if (hint := did_you_mean(key, _KEYWORDS))]
    hint = f"; did you mean {meant[0]}? Its default is in force" if meant else ""
    return f"{listed} has no effect on {acc_text(acc)} in this ATK version{hint}"


def _told_by_reader(spec: Spec, span: Span | None) -> bool:
    """Whether the reader has already said which number of the standard is text; one in a range is another matter."""
    texts = [fault.span for fault in spec.faults if fault.rule == "number-as-text" and fault.span]
    return span is not None and any(span.start <= text.start < span.end for text in texts)


def _keyword_span(spec: Spec, key: str) -> Span | None:
    for where, span in spec.key_spans.items():
        if where[:2] == ("standard", "acc") and where[-1] == key:
            return span
    return None
