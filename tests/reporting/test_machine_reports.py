"""JSON, SARIF, JUnit, GitHub and GitLab: the shapes that other programs rely on."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import audit_samples as samples
import pytest

from opscan import __version__
from opscan.model import Audit, Classification
from opscan.numerics.names import Origin
from opscan.reporting import render, render_confirmations, render_explanation, sarif_format

# The keys that the contract lists, written out again: this is what people script against.
FILE_KEYS = ["path", "kind", "operator", "basis", "scenarios", "scenario_source", "backward", "status", "reason"]
FILE_KEYS += ["standard", "tensors"]
TENSOR_KEYS = [
    *("name", "role", "input", "dtypes", "class", "correctly_rounded", "cause", "depends_on", "extent", "stages"),
    *("cases", "present", "effective", "status", "path", "evidence", "traced"),
]
FINDING_KEYS = [
    *("rule", "name", "severity", "path", "line", "column", "end_line", "end_column", "count", "message", "why", "fix"),
]
STATUSES = ["ok", "too-strict", "too-loose", "ambiguous", "unknown", "invalid", "not-applicable"]


def report(audit: Audit, format: str = "json", **options: Any) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(render(audit, format, **options), parse_constant=refuse)


def test_json_has_the_keys_of_the_contract() -> None:
    whole = report(samples.USUAL)
    assert list(whole) == ["schema", "opscan", "atk_version", "files", "findings", "summary"]
    assert (whole["schema"], whole["opscan"], whole["atk_version"]) == (1, __version__, "26.8.8")
    for file in whole["files"]:
        expected = set(FILE_KEYS) | ({"verdicts"} if file["kind"] == "cases" else set())
        assert set(file) == expected
        for tensor in file["tensors"]:
            assert list(tensor) == TENSOR_KEYS
    for finding in whole["findings"]:
        assert list(finding) == FINDING_KEYS
    assert list(whole["summary"]) == ["files", *STATUSES]


def test_json_values_are_those_of_the_contract_example() -> None:
    whole = report(samples.USUAL)
    file = next(file for file in whole["files"] if file["path"] == samples.STRICT_FILE.path)
    assert file["standard"] == {
        "found": "equal",
        "recommended": {"fp32": "double-ten-thousandth"},
        "expression": {"mixed_tolerance_bm": {"fp32_rtol": 1e-4}},
    }
    gradient = file["tensors"][2]
    assert gradient["class"] == "broadcast-reduced"
    assert gradient["extent"] == {"min": 1, "max": 4096}
    assert gradient["stages"] == [{"cause": "broadcast", "extent": {"min": 1, "max": 4096}}]
    assert gradient["cases"] == {"broadcast-reduced": 55, "select-only": 39}
    assert gradient["path"] == ["aten.where.self", "aten.where.self", "aten.sum.dim_IntList"]
    first = next(finding for finding in whole["findings"] if finding["rule"] == "OPS101")
    assert [first[key] for key in ("line", "column", "end_line", "end_column")] == [9, 8, 9, 13]
    cases = next(file for file in whole["files"] if file["kind"] == "cases")
    assert cases["verdicts"] == {"ok": 39, "too-strict": 55}
    assert whole["summary"]["files"] == 7
    assert sum(whole["summary"][status] for status in STATUSES) == 7
    assert [file["path"] for file in whole["files"]] == sorted(file["path"] for file in whole["files"])


def test_json_gives_the_reason_where_nothing_can_be_written() -> None:
    file = report(Audit("26.8.8", (samples.AMBIGUOUS_FILE,), ()))["files"][0]
    assert file["standard"]["recommended"] is None
    assert file["standard"]["expression"] is None
    assert file["standard"]["expression_reason"] == samples.AMBIGUOUS_FILE.expression_reason


def test_json_survives_what_yaml_can_hold() -> None:
    endless: dict[str, Any] = {}
    endless["self"] = endless
    for found in (float("nan"), {1: float("inf"), None: (1, 2)}, {"day"}, b"\xff", endless):
        file = report(Audit("26.8.8", (replace(samples.OK_FILE, found=found),), ()))["files"][0]
        assert file["standard"]["found"] is not None
        for format in ("full", "html", "markdown"):
            assert render(Audit("26.8.8", (replace(samples.OK_FILE, found=found),), ()), format)


def test_json_keeps_paths_to_the_byte() -> None:
    paths = [file["path"] for file in report(samples.HOSTILE)["files"]]
    assert samples.HOSTILE.files[0].path in paths


def test_json_lists_every_place_on_request() -> None:
    found = [finding for finding in report(samples.USUAL, per_case=True)["findings"] if finding["rule"] == "OPS103"]
    assert [(finding["line"], finding["count"]) for finding in found] == [(14, 3), (20, 1), (26, 1)]


def test_explanation_json_has_operator_and_tensors() -> None:
    text = render_explanation(Classification((samples.TENSOR_CLASS,), "golden"), "torch.where", "json")
    explained = json.loads(text)
    assert list(explained) == ["operator", "tensors"]
    assert list(explained["tensors"][0]) == TENSOR_KEYS
    assert explained["tensors"][0]["extent"] == {"min": 4096, "max": 4096}
    assert explained["tensors"][0]["stages"] == [{"cause": "broadcast", "extent": {"min": 4096, "max": 4096}}]
    nothing = json.loads(render_explanation(Classification((), "none", "not in the catalog"), "x", "json"))
    assert nothing == {"operator": "x", "reason": "not in the catalog", "tensors": []}


def test_explanation_json_says_where_the_answer_was_taken_from() -> None:
    origin = Origin("RmsNorm", "catalog/operators/aclnn-norm.yaml", 52, None, "x * rstd")
    text = render_explanation(Classification((samples.TENSOR_CLASS,), "name"), "aclnnRmsNorm", "json", origin=origin)
    explained = json.loads(text)
    assert list(explained) == ["operator", "origin", "tensors"]
    assert explained["origin"] == {
        "entry": "RmsNorm",
        "path": "catalog/operators/aclnn-norm.yaml",
        "line": 52,
        "aten": None,
        "formula": "x * rstd",
    }


def test_confirmations_json() -> None:
    whole = json.loads(render_confirmations(samples.CONFIRMATIONS, "json", "simulated"))
    assert whole["simulated"] is True
    assert whole["summary"] == {"refuted": 1, "not-shown": 0, "skipped": 1, "confirmed": 2}
    assert whole["confirmations"][0]["verdict"] == "refuted"
    removed = [one["counterfactual"] for one in whole["confirmations"] if one["tensor"] == "grad:other"]
    assert removed == [{"runs": 20, "differing": 0}]


# -- SARIF -----------------------------------------------------------------------------------------------------------


def test_sarif_structure() -> None:
    whole = report(samples.USUAL, "sarif")
    assert whole["version"] == "2.1.0"
    (run,) = whole["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["OPS101", "OPS102", "OPS103"]
    assert rules[0]["name"] == "StandardTooStrict"
    assert rules[0]["help"]["text"] == samples.STRICT_FINDING.why
    assert all("helpUri" not in rule for rule in rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert (region["startLine"], region["startColumn"]) < (region["endLine"], region["endColumn"])
    assert [result["level"] for result in run["results"]] == ["error", "warning", "warning"]
    assert len(run["results"][2]["relatedLocations"]) == 2
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert samples.UNKNOWN_FILE.reason in told["message"]["text"]


def test_sarif_addresses_are_addresses() -> None:
    for result in report(samples.HOSTILE, "sarif")["runs"][0]["results"]:
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9_.~/%-]+", uri)
    absolute = Audit("1", (), (replace(samples.STRICT_FINDING, path="/a b/c.yaml"),))
    location = report(absolute, "sarif")["runs"][0]["results"][0]["locations"][0]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "file:///a%20b/c.yaml"


def test_sarif_keeps_the_worst_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif_format, "_MOST_RESULTS", 30)
    run = report(samples.many(60, 3), "sarif")["runs"][0]
    assert len(run["results"]) == 30
    assert {result["level"] for result in run["results"]} == {"error"}
    assert "105 of 135" in run["invocations"][0]["toolExecutionNotifications"][-1]["message"]["text"]


def test_fingerprints_are_unique_and_ignore_lines_and_counts() -> None:
    def prints(audit: Audit, format: str) -> list[str]:
        if format == "gitlab":
            return [issue["fingerprint"] for issue in report(audit, format)]
        results = report(audit, format)["runs"][0]["results"]
        return [result["partialFingerprints"]["opscan/v1"] for result in results]

    audit = samples.many(20, 5)
    moved = tuple(
        replace(finding, span=samples.span(finding.span.line + 40), message=finding.message.replace("55", "56"))
        for finding in audit.findings
        if finding.span
    )
    for format in ("gitlab", "sarif"):
        before = prints(audit, format)
        assert len(set(before)) == len(before) == 75
        assert prints(Audit("1", audit.files, moved), format) == before
    assert prints(audit, "gitlab") == prints(audit, "sarif")


# -- JUnit, GitHub, GitLab -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("audit", [samples.USUAL, samples.CLEAN, samples.EMPTY, samples.HOSTILE, samples.many(30, 4)])
def test_junit_counts_match_its_tests(audit: Audit) -> None:
    root = ET.fromstring(render(audit, "junit"))
    (suite,) = root
    errors = [finding for finding in audit.findings if finding.severity == "error"]
    for element in (root, suite):
        assert int(element.get("tests", "")) == len(suite.findall("testcase"))
        assert int(element.get("failures", "")) == len(suite.findall("testcase/failure")) == len(errors)
        assert int(element.get("skipped", "")) == len(suite.findall("testcase/skipped"))
    told = "".join(root.itertext())
    assert all(finding.rule in told for finding in audit.findings)


def test_junit_skips_what_was_not_decided_and_passes_what_fits() -> None:
    suite = ET.fromstring(render(samples.USUAL, "junit"))[0]
    tests = {test.get("classname"): test for test in suite.findall("testcase")}
    skipped = tests[samples.UNKNOWN_FILE.path].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == samples.UNKNOWN_FILE.reason
    assert len(tests[samples.OK_FILE.path]) == 0


COMMAND = re.compile(r"::(error|warning|notice) ((?:[a-zA-Z]+=[^,:\r\n]*,?)+)::([^\r\n]*)")


def unescape(text: str) -> str:
    for code, character in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_github_commands_cannot_be_forged() -> None:
    lines = render(samples.HOSTILE, "github").splitlines()
    commands = [line for line in lines if line.startswith("::")]
    assert len(commands) == len(samples.HOSTILE.findings)
    assert len(lines) == len(commands) + 1
    for line in commands:
        assert COMMAND.fullmatch(line)
    match = COMMAND.fullmatch(commands[0])
    assert match
    properties = dict(part.split("=", 1) for part in match[2].split(","))
    assert unescape(match[3]).startswith("a<script>alert('x')</script>&\"]]>\n::error::50%, `b`")
    assert unescape(properties["file"]).startswith("dir/a<script>")
    assert (properties["line"], properties["col"], properties["endColumn"]) == ("9", "8", "13")


def test_github_announces_what_it_will_not_annotate() -> None:
    lines = render(samples.many(60), "github").splitlines()
    assert lines[0].startswith("::notice title=opscan::")
    assert lines[1].startswith("::error ")
    assert "25 more findings" in lines[0]


def test_gitlab_issues() -> None:
    issues = report(samples.USUAL, "gitlab")
    assert [issue["severity"] for issue in issues] == ["major", "minor", "minor"]
    assert set(issues[0]) == {"description", "check_name", "fingerprint", "severity", "location"}
    assert issues[0]["location"] == {"path": samples.STRICT_FILE.path, "lines": {"begin": 9, "end": 9}}
