"""Everything the audit knows, file by file: status, compared tensors, why, path, recommendation, diff.

What was not checked stands at the end, with the reason.
"""

from __future__ import annotations

from opscan.model import Audit, FileReport, Finding, TensorReport
from opscan.reporting.look import Look
from opscan.reporting.order import FileFindings, files_worst_first, place
from opscan.reporting.palette import faint, paint, strong
from opscan.reporting.paths import path_lines
from opscan.reporting.tables import Cell, table
from opscan.reporting.text import one_word, visible, wrap
from opscan.reporting.words import as_written, digits, per_dtype, plural, sentence, share, span_of, summary, verdicts

_HEAD = ("tensor", "class", "cause", "extent", "share", "rule in force", "status")


def write(audit: Audit, look: Look) -> str:
    """Every file worst first, then what was not checked, then the summary line."""
    files = files_worst_first(audit)
    lines: list[str] = []
    for file in files:
        lines += [*_file(file, look), ""]
    lines += _unchecked(files, look)
    return "\n".join([*lines, strong(summary(audit), look.color)]) + "\n"


def _file(file: FileFindings, look: Look) -> list[str]:
    report = file.report
    lines = [_status_line(report, look)]
    lines += wrap(report.reason, look.width, "  ") if report.reason else []
    lines += _standard(report, look)
    if report.tensors:
        rows = [_tensor_row(tensor) for tensor in report.tensors]
        lines += ["", *table(_HEAD, rows, width=look.width, color=look.color, indent="  ")]
    for finding in file.findings:
        lines += ["", *_finding(finding, look)]
    lines += _paths(report, look)
    if report.diff:
        lines += ["", *_diff(report.diff, look)]
    return lines


def _status_line(report: FileReport, look: Look) -> str:
    about = [one_word(report.operator)] if report.operator else []
    about += [f"basis {report.basis}"] if report.operator else []
    about += ["traced with PyTorch"] if any(tensor.traced for tensor in report.tensors) else []
    about += ["backward"] if report.backward else []
    about += [one_word(scenario) for scenario in report.scenarios]
    status = paint(report.status, report.status, look.color, bold=True)
    tail = f"  ({', '.join(about)})" if about else ""
    return f"{strong(one_word(report.path), look.color)}  {status}  {report.kind}{tail}"


def _standard(report: FileReport, look: Look) -> list[str]:
    lines: list[str] = []
    if report.found is not None or report.recommended:
        lines += wrap(f"standard found: {as_written(report.found)}", look.width, "  ")
    if report.recommended:
        lines += wrap(f"recommended: {per_dtype(report.recommended)}", look.width, "  ")
        if report.expression is not None:
            lines += wrap(f"write: {as_written(report.expression)}", look.width, "  ")
    if report.recommended and report.expression is None and report.expression_reason:
        lines += wrap(f"no single standard to write: {report.expression_reason}", look.width, "  ")
    if report.verdicts:
        counts = ", ".join(f"{digits(count)} {status}" for status, count in verdicts(report.verdicts).items())
        lines += wrap(f"cases: {counts}", look.width, "  ")
    return lines


def _tensor_row(tensor: TensorReport) -> list[Cell]:
    kind = tensor.numeric_class.value
    rounded = " (correctly rounded)" if tensor.correctly_rounded else ""
    return [
        Cell(one_word(tensor.name)),
        Cell(kind + rounded, kind),
        Cell(tensor.cause or ""),
        Cell(span_of(tensor.extent)),
        Cell(share(tensor)),
        Cell(per_dtype(tensor.effective)),
        Cell(tensor.status, tensor.status),
    ]


def _finding(finding: Finding, look: Look) -> list[str]:
    span = place(finding)
    severity = paint(finding.severity, finding.severity, look.color, bold=True)
    count = f"  [{plural(finding.count, 'place')}]" if finding.count > 1 else ""
    where = f"{one_word(finding.path)}:{span.line}:{span.column}:"
    lines = [f"  {where} {severity} {finding.rule} {finding.name}{count}"]
    lines += wrap(finding.message, look.width, "    ")
    lines += [faint(line, look.color) for line in wrap(finding.why, look.width, "    ")] if finding.why else []
    others = [f"{spot.line}:{spot.column}" for spot in finding.places if spot != finding.span]
    lines += wrap(f"also at {', '.join(others)}", look.width, "    ") if others else []
    if finding.fix != "none":
        lines.append(f"    fix: {paint(finding.fix, finding.fix, look.color)}")
    return lines


def _paths(report: FileReport, look: Look) -> list[str]:
    lines: list[str] = []
    for tensor in report.tensors:
        if tensor.path and tensor.status != "ok":
            lines += ["", *wrap(sentence(tensor), look.width, "  "), *path_lines(tensor.path, "    ", look)]
    return lines


def _diff(diff: str, look: Look) -> list[str]:
    words = {"+": "ok", "-": "error", "@": "info"}
    lines = []
    for line in diff.splitlines():
        header = line.startswith(("+++", "---"))
        word = "" if header else words.get(line[:1], "")
        lines.append("  " + paint(visible(line), word, look.color and bool(word)))
    return lines


def _unchecked(files: tuple[FileFindings, ...], look: Look) -> list[str]:
    lines: list[str] = []
    for file in files:
        path = one_word(file.report.path)
        if file.report.status == "unknown":
            lines += wrap(f"{path}: {file.report.reason or 'no reason given'}", look.width, "  ")
        for tensor in file.undecided:
            lines += wrap(f"{path}, {one_word(tensor.name)}: {tensor.reason or 'class unknown'}", look.width, "  ")
    return [strong("Not checked", look.color), *lines, ""] if lines else []
