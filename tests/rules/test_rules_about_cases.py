"""Rules of one's own that are about cases: where they hit in a case file, what they mend, and how little they print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opscan.audit import Audited, audit_paths
from opscan.config import Settings
from opscan.fixing import plan_fixes

RULE = """\
severity: warning
summary: A dtype that no kernel has
why: no unit of the NPU computes it
match:
  in: cases
  at: inputs[*].dtype
  is: fp64
  when:
    - {at: 'inputs[*].type', is: tensor}
message: "{at}: `{value}` has no kernel"
fix: fp32
bad: |
  [{"inputs": [{"type": "tensor", "dtype": "fp32"}]}, {"inputs": [{"type": "tensor", "dtype": "fp64"}]}]
good: |
  {"inputs": [{"type": "attr", "dtype": "fp64"}]}
"""


def case(number: int, dtype: str, size: int = 4, acc: str = "single_bm") -> dict[str, Any]:
    given = {"name": "input", "type": "tensor", "dtype": dtype, "shape": [size, 4], "range_values": [-5, 5]}
    return {"id": number, "name": "torch.abs", "standard": {"acc": acc}, "inputs": [given]}


def audit(folder: Path, cases: list[dict[str, Any]], rule: str = RULE) -> Audited:
    house = folder / "house"
    house.mkdir(exist_ok=True)
    (house / "HOUSE001-no-fp64.yaml").write_text(rule)
    path = folder / "all_torch.abs.json"
    path.write_text(json.dumps(cases, indent=2))
    return audit_paths([path], Settings(rules=(house,), select=("HOUSE",)))


def test_it_hits_and_mends_the_place_in_each_case(tmp_path: Path) -> None:
    audited = audit(tmp_path, [case(0, "fp32"), case(1, "fp64"), case(2, "fp16"), case(3, "fp64")])
    (found,) = audited.audit.findings
    assert (found.rule, found.count, found.fix, len(found.places)) == ("HOUSE001", 2, "safe", 2)
    assert found.message == "inputs[0].dtype: `fp64` has no kernel"
    lines = (tmp_path / "all_torch.abs.json").read_text().splitlines()
    for span in found.places:
        assert lines[span.line - 1][span.column - 1 : span.end_column - 1] == '"fp64"'
    (change,) = plan_fixes(audited, unsafe=False).changes
    assert json.loads(change.text) == [
        case(0, "fp32"), case(1, "fp32"), case(2, "fp16"), case(3, "fp32")
    ]  # fmt: skip


def test_it_says_nothing_of_specs(tmp_path: Path) -> None:
    audit(tmp_path, [])
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "name: torch.abs\ninputs:\n  - {name: input, type: tensor, dtype: fp64, dtypes: {values: [fp64]}}\n"
    )
    audited = audit_paths([spec], Settings(rules=(tmp_path / "house",), select=("HOUSE",)))
    assert not audited.audit.findings


def test_a_fix_of_a_case_s_standard_is_unsafe(tmp_path: Path) -> None:
    rule = (
        RULE.replace("at: inputs[*].dtype\n  is: fp64", "at: standard.acc\n  is: md5")
        .replace("  when:\n    - {at: 'inputs[*].type', is: tensor}\n", "")
        .replace("fix: fp32", "fix: equal")
        .replace('[{"type": "tensor", "dtype": "fp64"}]}]', '[], "standard": {"acc": "md5"}}]')
    )
    (found,) = audit(tmp_path, [case(0, "fp32", acc="md5")], rule).audit.findings
    assert found.fix == "unsafe"


def test_what_differs_in_every_case_does_not_fill_the_screen(tmp_path: Path) -> None:
    rule = (
        RULE.replace("at: inputs[*].dtype\n  is: fp64", "at: inputs[*].shape[0]\n  above: 9")
        .replace("fix: fp32\n", "")
        .replace('"dtype": "fp64"}]}]', '"shape": [10]}]}]')
    )
    found = audit(tmp_path, [case(n, "fp32", 10 + n) for n in range(50)], rule).audit.findings
    assert len(found) == 21
    assert sum(finding.count for finding in found) == 50
    assert {f.message for f in found if f.count == 30} == {"A dtype that no kernel has"}
    assert {f.fix for f in found} == {"none"}


def test_an_absent_key_is_reported_on_what_lacks_it(tmp_path: Path) -> None:
    rule = (
        RULE.replace("at: inputs[*].dtype\n  is: fp64", "at: inputs[*].format\n  absent: true")
        .replace("fix: fp32\n", "")
        .replace('"dtype": "fp32"}', '"format": "ND"}')
        .replace('{"type": "attr", "dtype": "fp64"}', '{"type": "attr", "format": "ND"}')
    )
    (found,) = audit(tmp_path, [case(0, "fp32")], rule).audit.findings
    lines = (tmp_path / "all_torch.abs.json").read_text().splitlines()
    assert found.span is not None
    assert lines[found.span.line - 1].strip() == "{"
    assert lines[found.span.end_line - 1].strip() == "}"
