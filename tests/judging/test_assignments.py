"""Which standard serves which tensor in which scenario, and what a spec of each scenario is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from opscan.audit import Audited, audit_paths
from opscan.config import Settings
from opscan.judging.assignments import compares_values, judged_as, ladder_of, load_assignments
from opscan.judging.standards import load_standards
from opscan.judging.verdicts import need_of
from opscan.model import SCENARIOS, NumericClass, TensorClass

ROWS = yaml.safe_load((Path(__file__).parent / "assigned.yaml").read_text(encoding="utf-8"))
SPEC = """\
name: {name}
generate: {generate}
backward: {backward}
standard:
  acc: {acc}
inputs:
  - name: input
    type: tensor
    dtypes: {{values: [fp32]}}
    ranges: {{valid: {{values: [[{low}, {high}]]}}}}
    shapes: {{dim_numbers: {{values: [2]}}, dim_values: {{values: [64]}}}}
"""
EMBEDDING = """\
name: torch.nn.functional.embedding
generate: keep
backward: true
standard: {acc: equal}
inputs:
  - name: input
    type: tensor
    dtypes: {values: [int64]}
    ranges: {valid: {values: [[0, 3]]}}
    shapes: {dim_numbers: {values: [1]}, dim_values: {values: [4]}}
  - name: weight
    type: tensor
    dtypes: {values: [fp32]}
    ranges: {valid: {values: [[-5, 5]]}}
    shapes: {dim_numbers: {values: [2]}, dim_values: {values: [4]}}
"""
KEEP = """\
from atk.case_generator import GENERATOR_REGISTRY, CaseGenerator


@GENERATOR_REGISTRY.register("keep")
class Keep(CaseGenerator):
    def after_case_config(self, case_config):
        return case_config
"""


def spec(name: str = "torch.tanh", acc: str = "equal", bound: str = "5") -> str:
    return SPEC.format(name=name, generate="default", backward="false", acc=acc, low=f"-{bound}", high=bound)


def audit(folder: Path, **files: str) -> Audited:
    for name, text in files.items():
        (folder / name).write_text(text)
    return audit_paths([folder / name for name in files], Settings())


@pytest.mark.parametrize("row", ROWS, ids=[" ".join(map(str, row["in"])) for row in ROWS])
def test_what_is_assigned(row: dict[str, Any]) -> None:
    scenario, kind, dtype, more = row["in"]
    more = {**more, "depends_on": tuple(more.get("depends_on", ()))}
    tensor = TensorClass("output:0", "output", dtype, (8,), NumericClass(kind), extent=64, **more)
    assert need_of(tensor, scenario, load_assignments()) == row["needs"]
    assert ladder_of(tensor, scenario, load_assignments()) == (row["ladder"] and tuple(row["ladder"]))


def test_the_ladders_of_small_values_loosen_step_by_step() -> None:
    data = load_standards()
    entries = [e for e in load_assignments().entries if "small-value" in e.words.get("scenario", ()) and e.standards]
    dtypes = [dtype for entry in entries for dtype in entry.words["dtype"]]
    assert sorted(dtypes) == sorted(data.ladders)
    for entry in entries:
        for dtype in entry.words["dtype"]:
            rules = [data.rule(step, dtype) for step in entry.standards or ()]
            widths = [(rule.rtol, rule.atol) for rule in rules if rule]
            assert widths == sorted(widths)


def test_every_scenario_says_what_it_compares() -> None:
    assert tuple(load_assignments().scenarios) == SCENARIOS
    assert judged_as(("accuracy", "small-value", "memory"), load_assignments()) == "small-value"
    assert judged_as(("accuracy", "memory"), load_assignments()) == "accuracy"
    assert judged_as(("memory", "determinism"), load_assignments()) == "memory"
    assert not compares_values(("memory", "determinism", "performance"), load_assignments())


def test_small_values_get_an_absolute_term_that_fits_them(tmp_path: Path) -> None:
    small = spec(bound="1.0e-5")
    (report,) = audit(tmp_path, **{"float_small_torch.tanh.yaml": small}).audit.files
    assert (report.status, report.recommended) == ("too-strict", {"fp32": "small-value"})
    assert report.expression["mixed_tolerance_bm"]["fp32_atol"] == 2**-30


def test_a_tolerance_that_passes_zeros_at_small_values_is_vacuous(tmp_path: Path) -> None:
    loose = spec("torch.sum", acc="{mixed_tolerance_bm: {fp32_atol: 1.0e-2}}", bound="1.0e-5")
    audited = audit(tmp_path, **{"float_small_torch.sum.yaml": loose})
    assert [finding.name for finding in audited.audit.findings] == ["standard-vacuous"]


@pytest.mark.parametrize(
    ("name", "recommended", "reason"),
    [
        ("torch.tanh_mem.yaml", None, "a memory run compares no values"),
        ("torch.tanh_perf.yaml", None, "a performance run compares no values"),
        ("torch.tanh_deterministic.yaml", {"fp32": "run-to-run"}, "bitwise is right"),
    ],
)
def test_runs_that_compare_no_golden_are_told_so(
    name: str, recommended: dict[str, str] | None, reason: str, tmp_path: Path
) -> None:
    audited = audit(tmp_path, **{name: spec()})
    (report,) = audited.audit.files
    assert (report.status, report.recommended, report.expression) == ("ok", recommended, None)
    assert reason in report.reason
    assert [tensor.status for tensor in report.tensors] == ["ok"]
    assert audited.audit.findings == ()


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        ("", ["scatter-determinism"]),
        ("run_modes: [deterministic]", []),
        ("run_modes: [eager]", ["scatter-determinism"]),
    ],
)
def test_scatter_repeats_only_in_the_deterministic_mode(modes: str, expected: list[str], tmp_path: Path) -> None:
    files = {
        "torch.embedding.yaml": EMBEDDING,
        "keep.py": KEEP,
        "nodes_dc.yaml": f"nodes:\n  - backend: npu\n    task: [accuracy_dc]\n    {modes}\n",
        "run.sh": "#!/bin/bash\natk task -c result/torch.embedding/json/all_torch.embedding.json -n nodes_dc.yaml\n",
    }
    audited = audit(tmp_path, **files)
    assert next(r.scenarios for r in audited.audit.files if r.kind == "spec") == ("determinism",)
    assert [f.name for f in audited.audit.findings] == expected
