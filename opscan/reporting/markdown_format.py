"""Markdown for reviews and step summaries: the same order of content as the HTML report, in plain tables."""

from __future__ import annotations

import re

from opscan.model import Audit, FileReport, TensorReport
from opscan.reporting.headline import figures, headline
from opscan.reporting.look import Look
from opscan.reporting.order import FileFindings, files_worst_first, place
from opscan.reporting.palette import sign
from opscan.reporting.text import one_line, one_word, visible
from opscan.reporting.words import as_written, digits, per_dtype, plural, sentence, share, span_of, summary

_DETAILED = 40
"""Files told in full; the others keep their findings, so that a comment stays readable."""

_SPECIAL = re.compile(r"([\\`*_\[\]{}|~$#])")


def write(audit: Audit, look: Look) -> str:  # noqa: ARG001  every format has one signature
    """Headline and figures, files that need a look worst first, files that fit, what was not checked."""
    files = files_worst_first(audit)
    failing = [file for file in files if file.failing]
    fine = [file for file in files if not file.failing and file.report.status != "unknown"]
    blocks = [f"## {_words(headline(audit))}", _figures(audit)]
    for number, file in enumerate(failing):
        blocks += _file(file, detailed=number < _DETAILED)
    blocks += _fine(fine)
    blocks += _unchecked(files)
    return "\n\n".join([*blocks, _words(summary(audit))]) + "\n"


def _figures(audit: Audit) -> str:
    rows = figures(audit)
    head = " | ".join(figure.title for figure in rows)
    body = " | ".join(f"**{digits(figure.number)}**" for figure in rows)
    return f"| {head} |\n|{' ---: |' * len(rows)}\n| {body} |"


def _file(file: FileFindings, *, detailed: bool) -> list[str]:
    report = file.report
    title = f"### {sign(report.status)} {_code(report.path)} {_words(report.status)}"
    blocks = [title + (f", {_code(report.operator)}" if report.operator else "")]
    blocks += [_ticked(report.reason)] if report.reason else []
    blocks.append(_findings(file))
    if detailed:
        blocks += _evidence(report)
    return [block for block in blocks if block]


def _findings(file: FileFindings) -> str:
    lines = []
    for finding in file.findings:
        span = place(finding)
        count = f" ({plural(finding.count, 'place')})" if finding.count > 1 else ""
        head = f"**{sign(finding.severity)} {finding.severity}** `{finding.rule}` {_words(finding.name)}"
        lines.append(f"- {head} at {span.line}:{span.column}{count}: {_ticked(finding.message)}")
        lines += [f"  <br>{_ticked(finding.why)}"] if finding.why else []
    return "\n".join(lines)


def _evidence(report: FileReport) -> list[str]:
    blocks = []
    sentences = [f"- {_ticked(sentence(tensor))}" for tensor in report.tensors if tensor.status not in ("ok", "shared")]
    blocks += ["\n".join(sentences)] if sentences else []
    if report.tensors:
        head = "| tensor | class | cause | extent | share | rule in force | status |\n|---|---|---|---|---|---|---|"
        blocks.append("\n".join([head, *(_row(tensor) for tensor in report.tensors)]))
    if report.recommended:
        found = f"Found {_code(as_written(report.found))}, recommended {_words(per_dtype(report.recommended))}"
        write_ = f"; write {_code(as_written(report.expression))}" if report.expression is not None else ""
        blocks.append(f"{found}{write_}.")
    return [*blocks, _fenced(report.diff)] if report.diff else blocks


def _row(tensor: TensorReport) -> str:
    kind = tensor.numeric_class.value
    cells = [
        _code(tensor.name),
        f"{sign(kind)} {kind}",
        _words(tensor.cause or ""),
        span_of(tensor.extent),
        share(tensor),
        _words(per_dtype(tensor.effective)),
        f"{sign(tensor.status)} {_words(tensor.status)}",
    ]
    return f"| {' | '.join(cells)} |"


def _fine(files: list[FileFindings]) -> list[str]:
    if not files:
        return []
    lines = [f"<details><summary>{plural(len(files), 'file')} without complaint</summary>", ""]
    for file in files:
        lines.append(f"- {sign(file.report.status)} {_code(file.report.path)} {_words(file.report.status)}")
        lines += [f"  {line}" for line in _findings(file).splitlines()]
    return ["\n".join([*lines, "", "</details>"])]


def _unchecked(files: tuple[FileFindings, ...]) -> list[str]:
    lines = []
    for file in files:
        if file.report.status == "unknown":
            lines.append(f"- {_code(file.report.path)}: {_ticked(file.report.reason or 'no reason given')}")
            lines += [] if file.failing else [f"  {line}" for line in _findings(file).splitlines()]
        for tensor in file.undecided:
            sentences = _words(tensor.reason or "class unknown")
            lines.append(f"- {_code(file.report.path)}, {_code(tensor.name)}: {sentences}")
    return ["### Not checked", "\n".join(lines)] if lines else []


def _words(text: str) -> str:
    """Running text: nothing in it is markup, links or HTML, and it stays on its line."""
    return _escaped(one_line(text))


def _escaped(text: str) -> str:
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")
    return _SPECIAL.sub(r"\\\1", plain)


def _ticked(text: str) -> str:
    """Like `_words`, but names between single back-ticks stay code."""
    parts = one_line(text).split("`")
    if len(parts) % 2 == 0:
        return _words(text)
    return "".join(_code(part) if position % 2 else _escaped(part) for position, part in enumerate(parts))


def _code(text: str) -> str:
    """A code span that holds any text: fenced by more back-ticks than it has, a bar escaped for tables."""
    word = one_word(text).replace("|", "\\|")
    ticks = "`" * (_longest(word) + 1)
    space = " " if word.startswith("`") or word.endswith("`") else ""
    return f"{ticks}{space}{word or ' '}{space}{ticks}"


def _fenced(diff: str) -> str:
    fence = "`" * max(_longest(diff) + 1, 3)
    return f"{fence}diff\n{visible(diff).rstrip()}\n{fence}"


def _longest(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
