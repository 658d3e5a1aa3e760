"""The HTML report: one self-contained file, rendered here once, so that it needs neither network nor scripts.

The order of content follows Lighthouse: verdict, four numbers, what fails (worst first), what passes (folded), what was
not checked. The script in the page only filters and copies.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from opscan import __version__
from opscan.data import data_path
from opscan.model import Audit, FileReport, Finding, Step, TensorReport
from opscan.reporting.headline import figures, headline
from opscan.reporting.look import Look
from opscan.reporting.order import STATUSES, FileFindings, files_worst_first, place, severity_rank, status_rank
from opscan.reporting.palette import sign
from opscan.reporting.svg import path_drawing, shares_bar
from opscan.reporting.text import one_word, visible
from opscan.reporting.words import (
    DECIDERS,
    MEANINGS,
    as_written,
    digits,
    judged_for,
    listed,
    per_dtype,
    plural,
    sentence,
    share,
    shares,
    span_of,
    verdicts,
)

_DETAILED = 500
"""Failing files told in full; beyond, a browser would need seconds for what nobody reads."""
_OPEN = 25
"""Failing files that stand open at first; a reader of hundreds wants the list before the details."""
_DRAWN = 3
"""Drawings per file; further paths are told in words."""
_LISTED = 12
"""Findings of one file that stand open; the rest of it is folded."""
_FIX_WORDS: Mapping[str, str] = {
    "safe": "safe: the shapes are certain",
    "unsafe": "unsafe: read it before you apply it",
    "manual": "by hand: there is no single edit",
}


def write(audit: Audit, look: Look) -> str:  # noqa: ARG001  every format has one signature
    """The whole report as one HTML document."""
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(
        loader=FileSystemLoader(data_path("reports", "templates")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters |= {"digits": digits, "ticked": _ticked}
    files = files_worst_first(audit)
    failing = [file for file in files if file.failing]
    rest = [file for file in files if not file.failing]
    return (
        environment.get_template("report.html.jinja").render(
            version=__version__,
            atk_version=audit.atk_version,
            judged_for=judged_for(audit),
            headline=headline(audit),
            figures=figures(audit),
            overview=_overview(audit),
            filters=_filters(audit),
            failing=[_file(file, opened=number < _OPEN) for number, file in enumerate(failing[:_DETAILED])],
            listed=[_short(file) for file in failing[_DETAILED:]],
            passing=[_short(file) for file in rest if file.report.status == "ok"],
            aside=[_short(file) for file in rest if file.report.status not in ("ok", "unknown")],
            unchecked=[_short(file) for file in rest if file.report.status == "unknown"],
            undecided=[_undecided(file) for file in failing if file.report.status == "unknown" or file.undecided],
            meanings=MEANINGS,
            sign=sign,
            plural=plural,
        )
        + "\n"
    )


def _shown(value: Any) -> Any:
    """What a template prints: plain text with its hidden characters made visible; markup stays as it is."""
    return visible(value) if type(value) is str else value


def _ticked(text: str) -> Any:
    """Running text in which names stand between back-ticks: these become code."""
    from markupsafe import Markup, escape

    parts = [escape(part) for part in visible(text).split("`")]
    if len(parts) % 2 == 0:
        return escape(visible(text))
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def _overview(audit: Audit) -> dict[str, Any]:
    counts = verdicts(Counter(report.status for report in audit.files))
    return {"bar": _markup(shares_bar(counts, 1000, 14)), "counts": counts, "files": len(audit.files)}


def _filters(audit: Audit) -> dict[str, Any]:
    rules = Counter((finding.rule, finding.name) for finding in audit.findings)
    severities = Counter(finding.severity for finding in audit.findings)
    statuses = Counter(report.status for report in audit.files)
    return {
        "severity": [(name, f"{name} ({digits(severities[name])})") for name in sorted(severities, key=severity_rank)],
        "rule": [(rule, f"{rule} {name} ({digits(count)})") for (rule, name), count in sorted(rules.items())],
        "status": [
            (name, f"{name} ({digits(statuses[name])})") for name in sorted(STATUSES, key=status_rank) if statuses[name]
        ],
    }


def _file(file: FileFindings, *, opened: bool) -> dict[str, Any]:
    report = file.report
    short = _short(file)
    findings = short["findings"]
    return {
        **short,
        "opened": opened,
        "listed": findings[:_LISTED],
        "folded": findings[_LISTED:],
        "kind": report.kind,
        "basis": report.basis,
        "backward": report.backward,
        "scenarios": report.scenarios,
        "verdict_bar": _markup(shares_bar(verdicts(report.verdicts))),
        "verdicts": verdicts(report.verdicts),
        "tensors": [_tensor(tensor) for tensor in report.tensors],
        "evidence": [_evidence(tensor) for tensor in _telling(report)],
        "drawings": _drawings([tensor for tensor in _telling(report) if tensor.status != "shared"]),
        "edit": _edit(file),
    }


def _short(file: FileFindings) -> dict[str, Any]:
    report = file.report
    folder, slash, name = one_word(report.path).rpartition("/")
    classes = Counter(tensor.numeric_class.value for tensor in report.tensors)
    return {
        "folder": folder + slash,
        "name": name,
        "status": report.status,
        "severity": " ".join(dict.fromkeys(finding.severity for finding in file.findings)),
        "rules": " ".join(dict.fromkeys(finding.rule for finding in file.findings)),
        "operator": report.operator,
        "reason": report.reason,
        "found": None if report.found is None else as_written(report.found),
        "classes": shares(classes),
        "findings": _findings(file),
    }


def _findings(file: FileFindings) -> list[dict[str, Any]]:
    """The findings of a file; a reason that several give is told once."""
    unsettled: set[str] = set()
    findings = []
    for finding in file.findings:
        findings.append(_finding(finding) | ({"why": ""} if finding.why in unsettled else {}))
        unsettled.add(finding.why)
    return findings


def _finding(finding: Finding) -> dict[str, Any]:
    span = place(finding)
    others = [f"{spot.line}:{spot.column}" for spot in finding.places if spot != finding.span]
    return {
        "severity": finding.severity,
        "rule": finding.rule,
        "name": finding.name,
        "line": span.line,
        "column": span.column,
        "others": others,
        "count": finding.count,
        "message": finding.message,
        "why": finding.why,
    }


def _telling(report: FileReport) -> list[TensorReport]:
    """The tensors that explain the status, worst first."""
    unsettled = [tensor for tensor in report.tensors if tensor.status not in ("ok", "not-applicable")]
    return sorted(unsettled, key=lambda tensor: status_rank(tensor.status))


def _evidence(tensor: TensorReport) -> dict[str, Any]:
    counts = shares(tensor.cases)
    return {
        "sentence": one_word(sentence(tensor)),
        "status": tensor.status,
        "bar": _markup(shares_bar(counts)),
        "shares": counts,
        "depends_on": listed([DECIDERS.get(word, word) for word in tensor.depends_on]),
        "source": tensor.evidence,
    }


def _drawings(tensors: Sequence[TensorReport]) -> dict[str, Any]:
    """One drawing for all tensors with the same path."""
    paths: dict[tuple[Step, ...], list[str]] = {}
    for tensor in tensors:
        if tensor.path:
            paths.setdefault(tensor.path, []).append(tensor.name)
    ordered = list(paths.items())
    drawn = [(", ".join(names), _markup(_drawing(path, ", ".join(names)))) for path, names in ordered[:_DRAWN]]
    unsettled = [(", ".join(names), " → ".join(step.op for step in path)) for path, names in ordered[_DRAWN:]]
    return {"drawn": drawn, "told": unsettled}


@lru_cache(maxsize=1024)
def _drawing(path: tuple[Step, ...], target: str) -> str:
    return path_drawing(path, target)


def _tensor(tensor: TensorReport) -> dict[str, Any]:
    counts = shares(tensor.cases)
    return {
        "name": tensor.name,
        "class": tensor.numeric_class.value,
        "rounded": tensor.correctly_rounded,
        "cause": tensor.cause,
        "extent": span_of(tensor.extent).replace("..", " – "),
        "share": share(tensor),
        "bar": _markup(shares_bar(counts, 72, 6)) if len(counts) > 1 else "",
        "effective": per_dtype(tensor.effective),
        "status": tensor.status,
    }


def _edit(file: FileFindings) -> dict[str, Any]:
    report = file.report
    fixes = {finding.fix for finding in file.findings}
    label = next((word for word in ("unsafe", "safe", "manual") if word in fixes), "none")
    flag = " --unsafe" if label == "unsafe" else ""
    mended = label in ("safe", "unsafe")
    # A path with hidden characters is shown with escapes, which a shell would not understand.
    copyable = one_word(report.path) == report.path
    return {
        "label": label,
        "label_words": _FIX_WORDS.get(label, ""),
        "found": as_written(report.found),
        "recommended": per_dtype(report.recommended) if report.recommended else "",
        "expression": None if report.expression is None else as_written(report.expression),
        "expression_reason": report.expression_reason,
        "diff": [(_diff_word(line), line) for line in report.diff.splitlines()],
        "command": f"opscan fix --write{flag} {shlex.quote(report.path)}" if mended and copyable else "",
    }


def _diff_word(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "head"
    return {"+": "add", "-": "del", "@": "hunk"}.get(line[:1], "")


def _undecided(file: FileFindings) -> dict[str, Any]:
    tensors = [(tensor.name, tensor.reason or "class unknown") for tensor in file.undecided]
    return {**_short(file), "tensors": tensors}


def _markup(svg: str) -> Any:
    """Markup of our own making, which the template must not escape."""
    from markupsafe import Markup

    return Markup(svg)
