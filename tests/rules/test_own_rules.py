"""A folder of rules of one's own: what it changes in an audit, and that whatever is wrong in it is said at load."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from opscan.audit import Audited, audit_paths
from opscan.config import ConfigError, Settings, load_settings
from opscan.fixing import plan_fixes
from opscan.judging import folders
from opscan.judging.declared import hits, path_text, read_match
from opscan.judging.profiles import load_profiles
from opscan.judging.rulebook import open_rulebook
from opscan.judging.rules import load_rule, read_rule, rule_names
from opscan.judging.standards import load_standards, standards_of
from opscan.judging.standards_file import Document, StandardsError, read_document
from opscan.reporting.exports import export

RULE = """\
severity: warning
summary: A dtype that no kernel has
why: no unit of the NPU computes it
match:
  at: inputs[*].dtypes.values[*]
  one-of: [fp64]
  when:
    - {at: 'inputs[*].type', is: tensor}
message: "{at}: `{value}` has no kernel"
fix: fp32
bad: |
  name: torch.exp
  inputs: [{type: tensor, dtypes: {values: [fp64]}}]
good: |
  name: torch.exp
  inputs: [{type: tensor, dtypes: {values: [fp16]}}, {type: attr, dtypes: {values: [fp64]}}]
"""
STANDARDS = """\
standards:
  house:
    extends: double-thousandth
    dtypes: {fp16: {rtol: 2.0e-3}, fp32: {share: 0.0, max_ulp: 65536}}
  house-loose:
    extends: house
    meaning: twice as loose
ladders:
  fp32: [value-equal, house]
"""
ASSIGN = """\
assign:
  - {class: arithmetic, dtype: fp16, extent: {most: 64}, needs: tolerance, standards: [house]}
"""
PROFILES = """\
profiles:
  gate:
    extends: strict
    severity:
      no-fp64: error
  night:
    extends: gate
    without: [OPS101]
"""
EXPORTS = """\
exports:
  ttk:
    - {standard: house, is: close}
"""
FILES = {
    "exports.yaml": EXPORTS,
    "HOUSE001-no-fp64.yaml": RULE,
    "standards.yaml": STANDARDS,
    "assign.yaml": ASSIGN,
    "profiles.yaml": PROFILES,
}
BROKEN = yaml.safe_load((Path(__file__).parent / "broken_folders.yaml").read_text(encoding="utf-8"))
SPEC = """\
name: torch.tanh
standard:
  acc: equal
inputs:
  - name: input
    type: tensor
    dtypes: {values: [fp32, fp64, fp16]}   # all of them
    ranges: {valid: {values: [[-5, 5]]}}
    shapes: {dim_numbers: {values: [2, 3]}, dim_values: {values: [4, 8]}}
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    folder = tmp_path / "house"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def audit(folder: Path, text: str = SPEC, **settings: Any) -> Audited:
    path = folder.parent / "spec.yaml"
    path.write_text(text)
    return audit_paths([path], Settings(rules=(folder,), **settings))


@pytest.mark.parametrize("case", BROKEN, ids=[f"{c['file'][:5]}-{c['message'][:40]}" for c in BROKEN])
def test_what_is_wrong_is_said_at_load(case: dict[str, str], house: Path) -> None:
    path = house / case["file"]
    assert FILES[case["file"]].count(case["old"]) == 1
    path.write_text(FILES[case["file"]].replace(case["old"], case["new"]))
    with pytest.raises(StandardsError) as refused:
        open_rulebook((house,), "recommended")
    assert str(refused.value).startswith(f"{path}:{case['at']}"), str(refused.value)
    assert case["message"] in str(refused.value)


def variants(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every tree that differs from `value` in one place, where something of another kind stands."""
    for other in (None, [["x"]], {"a": {"b": 1}}):
        yield path, other
    items = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    for key, item in items:
        for where, changed in variants(item, (*path, key)):
            copy = dict(value) if isinstance(value, dict) else list(value)
            copy[key] = changed
            yield where, copy


@pytest.mark.parametrize("name", [name for name in FILES if name != "HOUSE001-no-fp64.yaml"])
def test_whatever_stands_in_a_data_file_never_raises_anything_else(name: str, house: Path, tmp_path: Path) -> None:
    refused = 0
    for number, (_, changed) in enumerate(variants(yaml.safe_load(FILES[name]))):
        folder = tmp_path / str(number)
        folder.mkdir()
        for own in (house / "standards.yaml", house / "HOUSE001-no-fp64.yaml"):
            (folder / own.name).write_text(own.read_text())
        (folder / name).write_text(yaml.safe_dump(changed))
        try:
            open_rulebook((folder,), "recommended")
        except StandardsError as problem:
            refused += 1
            assert str(problem).startswith(f"{folder / name}:")  # noqa: PT017  most variants are refused, not all
    assert refused > 10


def test_whatever_stands_in_a_rule_never_raises_anything_else(tmp_path: Path) -> None:
    refused = 0
    for _, changed in variants(yaml.safe_load(RULE)):
        path = tmp_path / "HOUSE001-x.yaml"
        path.write_text(yaml.safe_dump(changed))
        try:
            read_rule(read_document(path), own=True)
        except StandardsError:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("OPS900-mine.yaml", "ids that begin with OPS belong to opscan"),
        ("HOUSE002-no-fp64.yaml", "has that id or name already"),
        ("HOUSE001-other.yaml", "has that id or name already"),
        ("HOUSE3-x.yaml", "neither a rule nor one of"),
        ("standard.yaml", "did you mean standards.yaml?"),
    ],
)
def test_files_that_are_nothing_are_refused(name: str, message: str, house: Path) -> None:
    (house / name).write_text(RULE)
    with pytest.raises(StandardsError, match=message):
        open_rulebook((house,), "recommended")


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StandardsError, match="no such folder of rules"):
        open_rulebook((tmp_path / "none",), "recommended")


def test_a_declared_rule_finds_and_mends(house: Path) -> None:
    audited = audit(house)
    (found,) = (f for f in audited.audit.findings if f.rule == "HOUSE001")
    assert (found.severity, found.fix, found.why) == ("warning", "safe", "no unit of the NPU computes it")
    assert found.message == "inputs[0].dtypes.values[1]: `fp64` has no kernel"
    assert found.span is not None
    assert (found.span.line, found.span.column) == (7, 29)
    assert "values: [fp32, fp32, fp16]}   # all of them" in plan_fixes(audited, unsafe=False).changes[0].text


def test_a_fix_of_the_standard_itself_is_unsafe(house: Path) -> None:
    own = (
        RULE.replace("at: inputs[*].dtypes.values[*]", "at: standard.acc")
        .replace("one-of: [fp64]", "is: equal")
        .replace("  when:\n    - {at: 'inputs[*].type', is: tensor}\n", "")
        .replace("fix: fp32", "fix: single_bm")
        .replace("name: torch.exp\n  inputs: [{type: tensor, dtypes: {values: [fp64]}}]", "standard: {acc: equal}")
    )
    (house / "HOUSE001-no-fp64.yaml").write_text(own)
    assert {f.fix for f in audit(house).audit.findings if f.rule == "HOUSE001"} == {"unsafe"}


def test_a_declared_rule_can_be_silenced_selected_and_explained(house: Path) -> None:
    silenced = SPEC.replace("# all of them", "# opscan: ignore[HOUSE001]")
    assert "HOUSE001" not in {f.rule for f in audit(house, silenced).audit.findings}
    assert {f.rule for f in audit(house, select=("HOUSE",)).audit.findings} == {"HOUSE001"}
    assert load_rule("no-fp64", (house,)).summary == "A dtype that no kernel has"
    assert rule_names((house,))[-1] == "no-fp64"


def test_profiles_of_ones_own(house: Path) -> None:
    assert {f.rule: f.severity for f in audit(house, profile="gate").audit.findings}["HOUSE001"] == "error"
    night = {f.rule: f.severity for f in audit(house, profile="night").audit.findings}
    assert night["HOUSE001"] == "error"
    assert "OPS101" not in night
    assert {"strict", "recommended", "lenient", "gate", "night"} == set(load_profiles((house,)))


def test_standards_and_assignments_of_ones_own(house: Path) -> None:
    (report,) = audit(house, standard="named").audit.files
    assert report.recommended is not None
    assert (report.recommended["fp16"], report.recommended["fp32"]) == ("house", "house")
    assert report.expression["mixed_tolerance_bm"]["fp16_rtol"] == 2e-3
    assert report.expression["mixed_tolerance_bm"]["fp16_atol"] == 1e-3
    loose = standards_of((house,)).rule("house-loose", "fp32")
    assert loose is not None
    assert (loose.share, loose.rtol, loose.max_ulp) == (0.0, 1e-3, 65536)
    assert "house" not in load_standards().standards


def test_names_of_other_tools_of_ones_own(house: Path) -> None:
    (file,) = json.loads(export(audit(house, standard="named").audit, "ttk", (house,)))["files"]
    named = {dtype: row["is"] for dtype, row in file["tensors"]["output:0"].items()}
    assert named == {"fp32": "close", "fp64": "mix_tolerance", "fp16": "close"}


def test_a_standard_may_extend_the_one_it_replaces(house: Path) -> None:
    (house / "standards.yaml").write_text(
        "standards: {double-thousandth: {extends: double-thousandth, dtypes: {fp16: {rtol: 3.0e-3}}}, "
        "house: {extends: double-thousandth}}\n"
    )
    own = open_rulebook((house,), "recommended").standards
    rules = [own.rule(name, "fp16") for name in ("double-thousandth", "house")]
    assert [rule and (rule.rtol, rule.atol) for rule in rules] == [(3e-3, 1e-3)] * 2


def test_the_folders_that_a_setting_names_lie_beside_it(house: Path) -> None:
    project = house.parent / "pyproject.toml"
    project.write_text('[tool.opscan]\nrules = ["house"]\nprofile = "night"\n')
    settings = load_settings(house.parent)
    assert (settings.rules, settings.profile) == ((house.parent.resolve() / "house",), "night")
    for wrong in ("rules = [3]", 'rules = "house"', "upstream = [1]", "ignore = [1]", 'profile = ["x"]'):
        project.write_text(f"[tool.opscan]\n{wrong}\n")
        with pytest.raises(ConfigError, match=r"pyproject\.toml:2: \[tool\.opscan\]"):
            load_settings(house.parent)


def test_an_installed_package_offers_rules_without_being_imported(
    house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "house_rules"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    house.rename(package / "rules")
    info = tmp_path / "site" / "house_rules-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: house-rules\nVersion: 1.0\n")
    points = info / "entry_points.txt"
    points.write_text("[opscan.rules]\nhouse = house_rules.rules\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])
    folders.installed_folders.cache_clear()
    try:
        assert folders.installed_folders() == (package / "rules",)
        rulebook = open_rulebook((), "night")
        assert "no-fp64" in rule_names(rulebook.folders)
        assert rulebook.assignments.entries[0].standards == ("house",)
        points.write_text("[opscan.rules]\nhouse = house_rules.elsewhere\n")
        folders.installed_folders.cache_clear()
        with pytest.raises(StandardsError, match=r"entry point 'house' of opscan\.rules"):
            open_rulebook((), "recommended")
    finally:
        folders.installed_folders.cache_clear()


DOCUMENT = {
    "name": "torch.add",
    "backward": True,
    "dtype_numbers": 700,
    "standard": {"acc": {"single_bm": {"mare_ratio": 10}}, "perf": "not_key"},
    "inputs": [
        {"name": "x", "type": "tensor", "dtypes": {"values": ["fp32", "fp64"]}},
        {"name": "n", "type": "attr", "dtypes": {"values": ["int"]}},
    ],
}


@pytest.mark.parametrize(
    ("match", "found"),
    [
        ({"at": "name", "matches": "^torch[.]"}, ["name"]),
        ({"at": "name", "matches-not": "^torch[.]"}, []),
        ({"at": "backward", "is": True}, ["backward"]),
        ({"at": "backward", "is": 1}, []),
        ({"at": "backward", "is-not": False}, ["backward"]),
        ({"at": "dtype_numbers", "above": 500, "below": 800}, ["dtype_numbers"]),
        ({"at": "name", "above": 500}, []),
        ({"at": "standard.mem", "absent": True}, ["standard.mem"]),
        ({"at": "standard.perf", "absent": True}, []),
        ({"at": "strategy.mode", "absent": True}, []),
        ({"at": "standard.mem", "is-not": 1}, []),
        ({"at": "standard.acc.*", "type": "mapping"}, ["standard.acc.single_bm"]),
        ({"at": "standard.acc.*.*", "above": 5}, ["standard.acc.single_bm.mare_ratio"]),
        ({"at": "inputs[*].shapes", "absent": True}, ["inputs[0].shapes", "inputs[1].shapes"]),
        ({"at": "inputs[1].name", "is": "n"}, ["inputs[1].name"]),
        ({"at": "inputs[7].name", "is": "n"}, []),
        ({"at": "inputs[*].dtypes.values[*]", "none-of": ["fp32", "int"]}, ["inputs[0].dtypes.values[1]"]),
        (
            {"at": "inputs[*].name", "type": "text", "when": [{"at": "inputs[*].type", "is": "attr"}]},
            ["inputs[1].name"],
        ),
        ({"at": "name", "type": "text", "when": [{"at": "inputs[*].type", "is": "attr"}]}, ["name"]),
        ({"at": "name", "type": "text", "when": [{"at": "inputs[*].type", "is": "scalar"}]}, []),
        ({"at": "name", "type": "text", "when": [{"at": "tensor_input", "absent": True}]}, ["name"]),
    ],
)
def test_the_match_language(match: dict[str, Any], found: list[str]) -> None:
    read = read_match(Document(Path("r.yaml"), {}), {"match": match}, "s")
    assert [path_text(hit.where) for hit in hits(read, DOCUMENT)] == found


def test_no_pattern_and_no_wildcard_takes_long() -> None:
    match = {"at": "a[*].b[*]", "matches": "^(x|xx|xxx)*y$", "when": [{"at": "a[*].c", "is": 1}]}
    read = read_match(Document(Path("r.yaml"), {}), {"match": match}, "s")
    tree = {"a": [{"b": ["x" * 1000] * 5, "c": 1}] * 4}
    assert list(hits(read, tree)) == []
