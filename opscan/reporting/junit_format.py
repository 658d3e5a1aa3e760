"""JUnit XML: an error is a failed test, a file without errors a passed one, an undecided file a skipped one."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from opscan.model import Audit, Finding
from opscan.reporting.look import Look
from opscan.reporting.order import FileFindings, files_worst_first, place
from opscan.reporting.text import one_line, one_word, visible
from opscan.reporting.words import summary


def write(audit: Audit, look: Look) -> str:  # noqa: ARG001  every format has one signature
    """One suite; per file a test for each error, or one test where there is none."""
    suite = ET.Element("testsuite", name="opscan")
    for file in files_worst_first(audit):
        suite.extend(_tests(file))
    counts = {
        "tests": str(len(suite)),
        "failures": str(len(suite.findall("testcase/failure"))),
        "errors": "0",
        "skipped": str(len(suite.findall("testcase/skipped"))),
    }
    suite.attrib.update(counts)
    # Schema order: the suite's own output follows its tests.
    ET.SubElement(suite, "system-out").text = visible(summary(audit))
    root = ET.Element("testsuites", {"name": "opscan", **counts})
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _tests(file: FileFindings) -> Iterator[ET.Element]:
    path = one_word(file.report.path)
    errors = [finding for finding in file.findings if finding.severity == "error"]
    others = [finding for finding in file.findings if finding.severity != "error"]
    for finding in errors:
        span = place(finding)
        name = f"{finding.rule} {finding.name} ({span.line}:{span.column})"
        test = _test(name, path, span.line)
        kind = f"{finding.rule} {finding.name}"
        failure = ET.SubElement(test, "failure", message=one_line(finding.message), type=kind)
        failure.text = _failure_text(finding)
        yield test
    if errors and not others:
        return
    test = _test("warnings and notes" if errors else "precision standard", path, 1)
    if not errors and file.report.status == "unknown":
        ET.SubElement(test, "skipped", message=one_line(file.report.reason or "could not be decided"))
    if others:
        ET.SubElement(test, "system-out").text = "\n\n".join(map(_failure_text, others))
    yield test


def _test(name: str, path: str, line: int) -> ET.Element:
    return ET.Element("testcase", name=name, classname=path, file=path, line=str(line))


def _failure_text(finding: Finding) -> str:
    span = place(finding)
    where = f"{one_word(finding.path)}:{span.line}:{span.column}: {finding.severity} {finding.rule} {finding.name}"
    return visible("\n".join(filter(None, (where, finding.message, finding.why))))
