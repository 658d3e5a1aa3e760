"""Where the results of `atk case` lie decides nothing: moved anywhere, a verdict stays or becomes unknown."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from opscan.audit import audit_paths
from opscan.config import Settings
from opscan.model import FileReport

SPEC = """\
name: torch.add
backward: true
generate: {generate}
dtype_numbers: 4
standard: {{acc: equal, perf: not_key}}
inputs:
  - &input
    name: input
    type: tensor
    dtypes: {{values: [fp32]}}
    ranges: {{valid: {{values: [[-5, 5]]}}, invalid: {{values: [[-5, 5]]}}}}
    shapes: {{dim_numbers: {{values: [2]}}, dim_values: {{values: [4, 8]}}}}
  - {{<<: *input, name: other}}
"""
GENERATOR = """\
from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY


@GENERATOR_REGISTRY.register("one_row")
class OneRow(CaseGenerator):
    def after_case_config(self, case_config):
        first, second = case_config.inputs
        second.shape = [1] + list(first.shape[1:])
        return case_config
"""
NODES = "nodes:\n  - {{backend: npu, task: [{0}], devices: [0]}}\n  - {{backend: cpu, task: [{0}], is_compare: true}}\n"
RUN = """\
#!/bin/bash
task() {{ atk task -c $1 -n $2 --task $3; }}
for s in torch.add torch.add_again torch.add_watched; do
    atk case -f 1000/$s.yaml -p 0000/generate_rows.py
done
atk task -c {result}/torch.add/json/all_torch.add.json -n 0000/npu_cpu.yaml --task accuracy
atk task -c {result}/torch.add_again/json/all_torch.add_again.json -n 0000/npu_dc.yaml
mssanitizer --tool=memcheck -- atk task \\
    -c {result}/torch.add_watched/json/all_torch.add_watched.json -n 0000/npu.yaml --task run
"""
STEMS = ("torch.add", "torch.add_again", "torch.add_watched")
SCENARIOS = {"torch.add": ("accuracy",), "torch.add_again": ("determinism",), "torch.add_watched": ("memory",)}
STATUSES = {"torch.add": "too-strict", "torch.add_again": "ok", "torch.add_watched": "ok"}


def tensor(name: str, shape: list[int]) -> dict[str, object]:
    return {"name": name, "type": "tensor", "dtype": "fp32", "shape": shape, "range_values": [-5, 5], "backward": True}


def case(number: int) -> dict[str, object]:
    inputs = [tensor("input", [8, 4]), tensor("other", [1, 4])]
    standard = {"acc": "equal", "perf": "not_key"}
    return {"id": number, "name": "torch.add", "backward": True, "standard": standard, "inputs": inputs}


def lay_out(root: Path) -> None:
    files = {f"1000/{stem}.yaml": SPEC.format(generate="one_row") for stem in STEMS}
    files |= {"0000/generate_rows.py": GENERATOR, "0000/npu_cpu.yaml": NODES.format("accuracy")}
    files |= {"0000/npu_dc.yaml": NODES.format("accuracy_dc"), "0000/npu.yaml": NODES.format("run")}
    files |= {"run.sh": RUN.format(result="result")}
    files |= {f"result/{stem}/json/all_{stem}.json": json.dumps([case(n) for n in range(3)]) for stem in STEMS}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def reports(*paths: Path) -> dict[str, FileReport]:
    return {Path(one.path).name: one for one in audit_paths(paths, Settings()).audit.files}


PLACES = (
    "result", "results", "out/result", "1000/result", "0000", "1000", "old/2026-11-30/result", "a/b/c", "../beside",
    "../beside/deep/result", "../../outside",
)  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_the_verdict_stays_or_becomes_unknown(place: str, tmp_path: Path) -> None:
    root = tmp_path / "work" / "catalog"
    lay_out(root)
    moved = root / place
    if place != "result":
        moved.parent.mkdir(parents=True, exist_ok=True)
        if moved.exists():
            for folder in (root / "result").iterdir():
                shutil.move(folder, moved)
        else:
            shutil.move(root / "result", moved)
    found = reports(root, *([moved] if ".." in place else []))
    for stem in STEMS:
        spec, cases = found[f"{stem}.yaml"], found[f"all_{stem}.json"]
        assert (spec.scenarios, spec.status) == (SCENARIOS[stem], STATUSES[stem])
        assert (cases.scenarios, cases.status) == (SCENARIOS[stem], STATUSES[stem]), cases.reason
        assert spec.scenario_source is not None
        assert spec.tensors[0].evidence == "cases"
    alone = reports(moved / "torch.add_watched" if (moved / "torch.add_watched").is_dir() else moved)[
        "all_torch.add_watched.json"
    ]
    assert alone.status in ("ok", "unknown")
    assert alone.status == "unknown" or alone.scenarios == ("memory",)


def test_nothing_is_edited_whose_scenario_nobody_knows(tmp_path: Path) -> None:
    lay_out(tmp_path / "catalog")
    lonely = tmp_path / "far" / "away" / "from" / "it"
    shutil.move(tmp_path / "catalog" / "result", lonely)
    audit = audit_paths([lonely], Settings()).audit
    assert {(report.status, report.scenario_source) for report in audit.files} == {("unknown", None)}
    assert {finding.name for finding in audit.findings} == {"scenario-unknown"}
    assert all("torch.add" in finding.message and not finding.edits for finding in audit.findings)


def test_a_spec_alone_is_judged_as_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    together = reports(Path())
    for stem in STEMS:
        for path in (Path("1000", f"{stem}.yaml"), Path("result", stem, "json", f"all_{stem}.json")):
            alone = reports(path)[path.name]
            same = together[path.name]
            assert (alone.status, alone.scenarios, alone.tensors) == (same.status, same.scenarios, same.tensors)
