"""One line per finding, clickable, worst first, and one line that sums up; a large run still fits on one screen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import islice

from opscan.model import Audit, Finding
from opscan.reporting.look import Look
from opscan.reporting.order import place, severity_rank, worst_first
from opscan.reporting.palette import faint, paint, strong
from opscan.reporting.text import columns, one_line, one_word
from opscan.reporting.words import digits, plural, summary

_SCREEN = 40
_SHOWN_PLACES = 3
_LEAST_SHOWN = 1
_LEAST_ROOM = 40
"""Columns for file names where many are folded, even if the line then grows beyond the terminal."""

_Group = tuple[str, str]


def write(audit: Audit, look: Look) -> str:
    """The findings and the summary. Beyond one screen the findings of one rule and severity share a line."""
    groups: dict[_Group, list[Finding]] = defaultdict(list)
    for finding in worst_first(audit.findings):
        groups[finding.severity, finding.rule].append(finding)
    shown = {key: len(found) for key, found in groups.items()} if look.per_case else _allot(groups)
    lines = []
    for key, found in groups.items():
        lines += [_line(finding, look) for finding in found[: shown[key]]]
        if shown[key] < len(found):
            lines.append(_rest(found[shown[key] :], look))
    return "\n".join([*lines, _last(audit, look)]) + "\n"


def _allot(groups: Mapping[_Group, list[Finding]]) -> dict[_Group, int]:
    """How many findings of each group are shown: all errors before the first warning, evenly between rules."""
    if sum(map(len, groups.values())) <= _SCREEN:
        return {key: len(found) for key, found in groups.items()}
    shown = {key: min(_LEAST_SHOWN, len(found)) for key, found in groups.items()}
    # Each group that is not shown whole also costs the line that says so.
    room = _SCREEN - 2 * len(groups)
    for severity in sorted({key[0] for key in groups}, key=severity_rank):
        open_groups = [key for key in groups if key[0] == severity]
        while room > 0 and open_groups:
            for key in list(open_groups):
                if shown[key] == len(groups[key]):
                    open_groups.remove(key)
                elif room > 0:
                    shown[key] += 1
                    room -= 1
    # A line for one finding left over is better spent on the finding itself.
    return {key: len(groups[key]) if len(groups[key]) - count == 1 else count for key, count in shown.items()}


def _line(finding: Finding, look: Look) -> str:
    span = place(finding)
    where = f"{one_word(finding.path)}:{span.line}:{span.column}:"
    rule = f"{finding.rule} {finding.name}"
    parts = [
        strong(where, look.color),
        paint(finding.severity, finding.severity, look.color, bold=True),
        rule,
        one_line(finding.message),
    ]
    return " ".join(parts) + faint(_places(finding), look.color)


def _places(finding: Finding) -> str:
    if finding.count < 2:
        return ""
    others = list(islice((span for span in finding.places if span != finding.span), _SHOWN_PLACES))
    if not others:
        return f" [{plural(finding.count, 'place')}]"
    named = ", ".join(f"{span.line}:{span.column}" for span in others)
    more = ", ..." if finding.count - 1 > len(others) else ""
    return f" [{plural(finding.count, 'place')}: also {named}{more}]"


def _rest(found: list[Finding], look: Look) -> str:
    first = found[0]
    paths = sorted({finding.path for finding in found})
    what = plural(len(paths), "more file") if len(paths) == len(found) else f"{digits(len(found))} more"
    start = f"and {what} with {first.severity} {first.rule} {first.name}: "
    end = " (use --format full)"
    room = max(look.width - columns(start) - columns(end), _LEAST_ROOM)
    names: list[str] = []
    for path in paths:
        name = one_word(path.rstrip("/").rpartition("/")[2])
        taken = columns(", ".join([*names, name]))
        if names and taken > room - 5:
            names.append("...")
            break
        names.append(name)
    return faint(f"{start}{', '.join(names)}{end}", look.color)


def _last(audit: Audit, look: Look) -> str:
    severities = {finding.severity for finding in audit.findings}
    worst = min(severities, key=severity_rank) if severities else "ok"
    nothing_sure = not audit.findings and not any(report.status == "ok" for report in audit.files)
    return paint(summary(audit), "unknown" if nothing_sure else worst, look.color, bold=True)
