"""How far composed arithmetic drifts: predicted, and held against devices that torch emulates."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

torch = pytest.importorskip("torch")

from benchmarks import held_out  # noqa: E402
from benchmarks.composed import JUDGE, Cell, case_of, cells, interval, standards  # noqa: E402
from benchmarks.composed import Emulated as Kept  # noqa: E402
from opscan.audit import audit_paths  # noqa: E402
from opscan.config import Settings  # noqa: E402
from opscan.emulating.confirming import Emulation  # noqa: E402
from opscan.emulating.rates import Draws  # noqa: E402
from opscan.judging.adequacy import spread_failure  # noqa: E402
from opscan.judging.drifts.draw import Draw  # noqa: E402
from opscan.judging.drifts.levels import levels_of  # noqa: E402
from opscan.judging.drifts.spread import spread_of  # noqa: E402
from opscan.judging.pass_rules import Rule  # noqa: E402
from opscan.judging.verdicts import judge_case  # noqa: E402
from opscan.numerics.classify import classify  # noqa: E402
from opscan.validating.simulated.emulated import ORDERS, Emulated  # noqa: E402

WIDE = {"shape": [64, 256]}
CALLS: dict[str, dict[str, Any]] = {
    "torch.cumsum": {"input": {"shape": [8, 512]}, "dim": -1},
    "torch.nn.functional.layer_norm": {"input": WIDE, "normalized_shape": [256], "weight": {"shape": [256]}},
    "torch.nn.functional.softmax": {"input": WIDE, "dim": -1},
    "torch.nn.functional.gelu": {"input": WIDE},
    "torch.nn.functional.mse_loss": {"input": WIDE, "target": {"shape": [64, 256], "backward": False}},
    "torch.addcmul": {"input": WIDE, "tensor1": WIDE, "tensor2": WIDE},
}


@pytest.mark.parametrize("name", CALLS)
def test_predictions_are_within_a_factor_of_what_is_emulated(name: str) -> None:
    """Fewer draws than benchmarks/composed.py makes, so that only what is far off shows."""
    case = case_of({"name": name, "inputs": CALLS[name]}, "fp32")
    found = list(cells(case, "fp32", standards("fp32"), Kept(Draws(40, JUDGE.upstream, 7))))
    far = [cell for cell in found if (cell.counts or not cell.failed) and not _near(cell)]
    assert found
    assert not far, "\n".join(map(str, far))


@pytest.mark.parametrize(
    ("failed", "draws", "ends"), [(0, 100, (0, 0.0362)), (10, 100, (0.0490, 0.1762)), (100, 100, (0.9638, 1))]
)
def test_a_count_has_the_uncertainty_of_the_tables(failed: int, draws: int, ends: tuple[float, float]) -> None:
    """Clopper and Pearson's limits, as printed."""
    assert interval(failed, draws) == pytest.approx(ends, abs=1e-4)


def test_held_out_calls_are_the_same_for_a_seed_and_others_for_another() -> None:
    def first(seed: int) -> list[str]:
        return [str(row) for row in itertools.islice(held_out.rows(seed), 8)]

    assert first(5) == first(5)
    assert not set(first(5)) & set(first(6))


def test_a_family_is_proven_by_its_own_figures_alone() -> None:
    families = yaml.safe_load(Path("rules/families.yaml").read_text())["families"]
    assert families
    for name, score in families.items():
        near = score["counting"] > 0 and score["within"] >= 0.95 * score["counting"]
        quiet = score["silent"] > 0 and score["quiet"] == score["silent"]
        assert score["proven"] is (near and quiet), name


def _near(cell: Cell) -> bool:
    return cell.fits or (cell.failed < 4 and cell.predicted < 0.3)


@pytest.mark.parametrize("order", ORDERS)
def test_an_emulated_device_copies_exactly_and_adds_in_another_order(order: str) -> None:
    x = torch.rand(64, 300, dtype=torch.float64).sub(0.5).float()
    with Emulated(3, order):
        copied = torch.where(x > 0, x, -x).t().flip(0)
        summed, product = x.sum(-1), x @ x.T
    assert torch.equal(copied, torch.where(x > 0, x, -x).t().flip(0))
    for other, native in ((summed, x.sum(-1)), (product, x @ x.T)):
        assert not torch.equal(other, native)
        assert (other.double() - native.double()).abs().max() < 1e-4


def test_outliers_are_drawn_as_they_are_added() -> None:
    """Against float32 sums of such data, added one after the other."""
    rule = Rule("share-within-tolerance", "fp32", 1e-4, 1e-4, 1e-4)
    formula = (("input", (), (0, "x"), ""), ("total", (0,), ((-1,), 2048), "float32"))
    spread = spread_of(levels_of(formula, lambda _: Draw(-5, 5, outliers=(0.001, 1000.0)), Draw(-5, 5)))
    rng, failed = np.random.default_rng(5), 0
    for _ in range(60):
        rows = rng.uniform(-5, 5, (256, 2048))
        rows[rng.random(rows.shape) < 0.001] *= 1000
        held = rows.astype(np.float32)
        golden = torch.from_numpy(held).sum(-1).numpy().astype(np.float64)
        apart = np.abs(np.add.accumulate(held, axis=1)[:, -1] - golden)
        failed += bool((apart > 1e-4 + 1e-4 * np.abs(golden)).any())
    predicted = spread_failure(rule, "fp32", spread, 256)
    assert failed / 60 / 3 <= predicted <= 3 * failed / 60


def test_what_is_rounded_once_by_every_device_does_not_drift() -> None:
    for formula in (
        (("input", (), (0, "x"), ""), ("upstream", (), (0,), ""), ("add", (0, 1), (), "float32")),
        (
            ("input", (), (0, "x"), ""),
            ("number", (), (0.25,), ""),
            ("mul", (0, 1), (), "float32"),
            ("neg", (2,), (), ""),
        ),
    ):
        spread = spread_of(levels_of(formula, lambda _: Draw(-5, 5), Draw(-5, 5)))
        assert spread.alpha == spread.beta == 0


def test_no_difference_is_larger_than_the_roundings_of_a_short_format() -> None:
    """A golden that writes exp(x) in fp16 differs by half a unit of it, never more: 1e-3 is wide enough."""
    case = replace(case_of({"name": "torch.exp", "inputs": {"input": WIDE}}, "fp16"), backward=True)
    rows = {"fp16_rtol": 1e-3, "fp16_atol": 1e-3, "fp16_required_matched_ratio": 0.999}
    verdicts = judge_case(case, classify(case), {"mixed_tolerance_bm": rows}, JUDGE)
    assert all(verdict.failure < 0.01 for verdict in verdicts.tensors)


SPEC = """\
name: {name}
standard: {{acc: {acc}}}
backward: {backward}
inputs:
  - name: input
    type: tensor
    dtypes: {{values: [fp32]}}
    ranges: {{valid: {{values: [[-5, 5]]}}}}
    shapes: {{dim_numbers: {{values: [2]}}, dim_values: [{{values: [8]}}, {{values: [512]}}]}}
{more}"""
DIM = "  - {name: dim, type: attr, dtypes: {values: [int]}, ranges: {valid: {values: [-1]}}}\n"


def audited(folder: Path, text: str, **settings: Any) -> Any:
    (folder / "spec.yaml").write_text(text)
    return audit_paths([folder / "spec.yaml"], Settings(**settings)).audit


def test_what_emulation_bears_out_is_said_with_its_count(tmp_path: Path) -> None:
    text = SPEC.format(name="torch.cumsum", acc="single_bm", backward="true", more=DIM)
    (finding,) = [f for f in audited(tmp_path, text, confirm=True).findings if f.rule == "OPS109"]
    failed, draws = map(int, finding.message.partition("emulated: ")[2].split(" draws")[0].split(" of "))
    assert draws >= 100
    assert failed / draws > 0.05


def test_emulation_settles_what_a_family_does_not_prove(tmp_path: Path) -> None:
    """The standard that is written fails correct kernels, the one that fits passes them: both are run."""
    text = SPEC.format(name="torch.nn.functional.log_softmax", acc="single_bm", backward="true", more=DIM)
    (doubted,) = [f for f in audited(tmp_path, text).findings if f.rule == "OPS109"]
    assert (doubted.severity, doubted.fix) == ("warning", "unsafe")
    assert "not sure" in doubted.message
    (settled,) = [f for f in audited(tmp_path, text, confirm=True).findings if f.rule == "OPS109"]
    assert (settled.severity, settled.fix) == ("error", "safe")
    assert "not sure" not in settled.message
    assert "0 of 240 under the standard that fits" in settled.message


def test_what_emulation_refutes_is_withdrawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted false accusation: the model is made to say that half of the cases fail."""
    monkeypatch.setattr("opscan.judging.adequacy._case_failure", lambda *_: 0.5)
    text = SPEC.format(name="torch.exp", acc="single_bm", backward="false", more="")
    assert [f.rule for f in audited(tmp_path, text).findings] == ["OPS109"]
    withdrawn = audited(tmp_path, text, confirm=True)
    assert not withdrawn.findings
    assert withdrawn.files[0].status == "ok"
    assert "emulated: 0 of" in withdrawn.files[0].reason


def test_cases_of_a_file_are_run_before_they_are_accused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = {
        "id": 0, "name": "torch.exp", "api": "pytorch", "api_type": "function", "backward": False,
        "standard": {"acc": "single_bm", "perf": "not_key"},
        "inputs": [{"name": "input", "type": "tensor", "dtype": "fp32", "shape": [8, 64], "range_values": [-5, 5]}],
    }  # fmt: skip
    (tmp_path / "all_exp.json").write_text(json.dumps([case, {**case, "id": 1}]))
    monkeypatch.setattr("opscan.judging.adequacy._case_failure", lambda *_: 0.5)
    (accused,) = audit_paths([tmp_path], Settings()).audit.findings
    (told,) = audit_paths([tmp_path], Settings(confirm=True)).audit.findings
    assert (accused.rule, told.rule) == ("OPS109", "OPS109")
    assert (told.severity, told.fix, told.edits) == ("info", "none", ())
    assert "emulated: 0 of 240 draws fail" in told.message


def test_a_step_without_a_model_makes_a_warning(tmp_path: Path) -> None:
    acc = "{mixed_tolerance_bm: {fp32_rtol: 1.0e-6, fp32_atol: 1.0e-6, fp32_required_matched_ratio: 0.99}}"
    other = "  - {name: x2, type: tensor, dtypes: {values: [fp32]}, ranges: {valid: {values: [[-5, 5]]}},\n"
    other += "     shapes: {dim_numbers: {values: [2]}, dim_values: [{values: [9]}, {values: [512]}]}}\n"
    text = SPEC.format(name="torch.cdist", acc=acc, backward="false", more=other).replace("name: input", "name: x1")
    found = [f for f in audited(tmp_path, text).findings if f.rule == "OPS109"]
    assert [(f.severity, f.fix) for f in found] == [("warning", "unsafe")]
    assert "no error model follows" in found[0].message


@pytest.mark.parametrize(
    ("failed", "draws", "refuted"), [(0, 240, True), (2, 240, True), (3, 240, False), (0, 60, False)]
)
def test_few_draws_refute_nothing(failed: int, draws: int, refuted: bool) -> None:
    assert Emulation(failed, draws).refutes(0.01) is refuted
