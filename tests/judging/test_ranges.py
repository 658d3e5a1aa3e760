"""What inputs are drawn from, and what follows for a prediction."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opscan.audit import audit_paths
from opscan.config import Settings
from opscan.judging import Judge
from opscan.judging.drift_parameters import DriftParameters
from opscan.judging.effective import effective
from opscan.judging.floating import FORMATS, nearest
from opscan.judging.ranges import as_drawn, draw_of
from opscan.judging.verdicts import judge_case
from opscan.model import Case, CaseInput
from opscan.numerics.classify import classify

JUDGE = Judge("26.8.8", (-5.0, 5.0), 0.01)
NORMAL = {"name": "nd", "mean": [-100, 100], "std": [1, 25]}


def case_of(name: str, dtype: str, *values: Any, shape: tuple[int, ...] = (64, 256), backward: bool = False) -> Case:
    inputs = tuple([CaseInput(None, "tensor", dtype, shape, value) for value in values])
    return Case(0, 0, name, inputs, backward=backward)


def drift_parameters(case: Case, tensor: str, acc: Any = "single_bm") -> tuple[DriftParameters, float]:
    (verdict,) = [v for v in judge_case(case, classify(case), acc, JUDGE).tensors if v.tensor.name == tensor]
    assert verdict.parameters is not None
    return verdict.parameters, verdict.failure


@given(st.floats(allow_nan=False, width=64))
def test_the_nearest_number_of_a_format_is_that_of_numpy(value: float) -> None:
    with np.errstate(over="ignore"):
        assert nearest(value, FORMATS["fp16"]) == float(np.float64(value).astype(np.float16))


def test_mean_and_deviation_of_a_normal_range_are_drawn_once_for_all_elements() -> None:
    open_range = case_of("torch.add", "fp32", NORMAL, NORMAL)
    drawn = as_drawn(open_range, JUDGE, open_range.inputs, lone=False)
    means = []
    for case, _ in drawn:
        for position, one in enumerate(case.inputs):
            draw = draw_of(case, (position, ""), JUDGE)
            mean, deviation = (draw.low + draw.high) / 2, (draw.high - draw.low) / 2
            assert one.values["mean"] == pytest.approx([mean, mean])
            assert -100 <= mean <= 100
            assert 1 <= deviation <= 25
            means.append(mean)
    assert len(set(means)) > len(drawn)  # those of the two inputs differ
    settled = case_of("torch.add", "fp32", (-5, 5), (0, 1))
    assert not as_drawn(settled, JUDGE, settled.inputs, lone=False)


def test_a_rate_is_the_mean_over_what_is_drawn_once() -> None:
    """Sums of numbers around 100 do not cancel, those around 0 do: one wide normal range would be all of the latter."""
    parameters, failure = drift_parameters(
        case_of("torch.sum", "fp32", {**NORMAL, "mean": [0, 100]}), "output:0", NARROW
    )
    rule = effective(NARROW, "fp32", "26.8.8").rule
    assert rule is not None
    wide = replace(rule, rtol=1e-6, atol=1e-6, max_abs=math.inf)
    rates = [one.failure(wide) for one in parameters.drawn]
    assert max(rates) > min(rates)
    assert parameters.failure(wide) == pytest.approx(sum(rates) / len(rates))
    assert failure > 0


def test_a_divisor_of_one_element_is_the_same_for_all() -> None:
    inputs = (
        CaseInput(None, "tensor", "fp32", (64, 256), (-5, 5)),
        CaseInput(None, "tensor", "fp32", (), (-1.0, 1.0)),
    )
    case = Case(0, 0, "torch.div", inputs, backward=True)
    parameters, _ = drift_parameters(case, "output:0")
    assert len(parameters.drawn) > 1
    assert not drift_parameters(replace(case, inputs=(inputs[0], inputs[0])), "output:0")[0].drawn


@pytest.mark.parametrize("values", ["nan", "inf", ("-inf",)])
def test_a_tensor_of_no_numbers_accuses_nobody(values: Any) -> None:
    assert drift_parameters(case_of("torch.exp", "fp32", (-5, 5)), "output:0", NARROW)[1] > 0.5
    assert drift_parameters(case_of("torch.exp", "fp32", values), "output:0", NARROW)[1] == 0


NARROW = {"mixed_tolerance_bm": {"fp32_rtol": 1e-8, "fp32_atol": 1e-8, "fp32_required_matched_ratio": 0.99}}


def test_a_golden_that_overflows_passes_unread() -> None:
    assert drift_parameters(case_of("torch.exp", "fp32", (80.0, 88.0)), "output:0", NARROW)[1] > 0.5
    parameters, failure = drift_parameters(case_of("torch.exp", "fp32", (80.0, 300.0)), "output:0", NARROW)
    assert parameters.spread is not None
    assert parameters.spread.lost == pytest.approx((300 - math.log(3.4e38)) / 220, abs=0.05)
    assert failure == 0


def test_a_rounding_of_a_short_format_is_that_of_the_value() -> None:
    """sigmoid(10 to 20) is 1 in bf16, for the golden and for all others: what is left of 1 - s is no noise of it."""
    rows = {"bf16_rtol": 0.07, "bf16_atol": 7e-4, "bf16_required_matched_ratio": 0.999}
    case = case_of("torch.sigmoid", "bf16", (10.0, 20.0), backward=True)
    assert (
        drift_parameters(
            case, "grad:input" if "grad:input" in names(case) else "grad:#0", {"mixed_tolerance_bm": rows}
        )[1]
        < 0.01
    )


def names(case: Case) -> list[str]:
    return [tensor.name for tensor in classify(case).tensors]


SPEC = """\
name: torch.exp
standard: {{acc: {{mixed_tolerance_bm: {{fp32_rtol: 1.0e-8, fp32_atol: 1.0e-8, fp32_required_matched_ratio: 0.99}}}}}}
inputs:
  - name: input
    type: tensor
    dtypes: {{values: [fp32]}}
    ranges: {{valid: {{values: [{values}]}}}}
    shapes: {{dim_numbers: {{values: [1]}}, dim_values: [{{values: [512]}}]}}
"""


def found(folder: Path, values: str) -> list[tuple[str, str, str, str]]:
    (folder / "spec.yaml").write_text(SPEC.format(values=values))
    findings = audit_paths([folder / "spec.yaml"], Settings()).audit.findings
    return [(one.rule, one.severity, one.fix, one.message) for one in findings if one.rule in ("OPS108", "OPS109")]


def test_a_range_without_bounds_is_said_so(tmp_path: Path) -> None:
    ((_, severity, fix, message),) = found(tmp_path, '["-inf", "inf"]')
    assert (severity, fix) == ("warning", "unsafe")
    assert "the range of `input` has no bounds" in message


@pytest.mark.parametrize(("proven", "expected"), [(True, ("error", "safe")), (False, ("warning", "unsafe"))])
def test_a_family_that_is_not_proven_makes_warnings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proven: bool, expected: tuple[str, str]
) -> None:
    figures = {"counting": 9, "within": 8, "silent": 90, "quiet": 89, "proven": proven}
    monkeypatch.setattr("opscan.judging.proven._scores", lambda: {"elements, fp32": figures})
    ((_, severity, fix, message),) = found(tmp_path, "[-5, 5]")
    assert (severity, fix) == expected
    assert ("8 of 9 within a factor of 3, 89 of 90 at most 1 %" in message) is not proven
