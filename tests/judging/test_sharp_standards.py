"""Power and derived thresholds: what lets wrong kernels through is too loose, and what is computed instead does not."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opscan.judging.derived import derive
from opscan.judging.drift_parameters import DriftParameters, drift_parameters
from opscan.judging.effective import effective
from opscan.judging.expression import expression
from opscan.judging.recommend import choose, has_standard
from opscan.judging.remedies import remedies
from opscan.judging.settings import Judge
from opscan.judging.sharpness import BLIND, FINER, passing, sees
from opscan.judging.standards import load_standards
from opscan.model import Case, CaseInput, NumericClass, Step, TensorClass

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
JUDGE = Judge("26.8.8", (-5.0, 5.0), 0.01)


def parameters(dtype: str, extent: int, outputs: int, reach: float, **more: Any) -> DriftParameters:
    return replace(DriftParameters(dtype, extent, outputs, -reach, reach, "uniform", False, 1, True), **more)


@pytest.mark.parametrize(
    ("name", "dtype", "reach", "wrong", "blunt"),
    [
        ("double-ten-thousandth", "fp32", 2e-6, "zeros", True),
        ("double-ten-thousandth", "fp32", 5.0, "zeros", False),
        ("double-ten-thousandth", "fp32", 1e-5, "lost-tile", True),
        ("double-ten-thousandth", "fp32", 5.0, "lost-tile", False),
        ("double-hundredth", "fp32", 5.0, "shorter", True),
        ("double-ten-thousandth", "fp32", 5.0, "shorter", False),
        ("mixed-tolerance", "fp32", 1e-4, "shorter", True),
        ("mixed-tolerance", "fp32", 1e-6, "zeros", True),
        ("single-benchmark", "fp32", 1e-4, "zeros", False),
        ("single-benchmark", "fp32", 1e-4, "shorter", False),
        ("double-hundredth", "fp16", 5.0, "shorter", True),
        ("double-hundredth", "bf16", 1e-4, "zeros", True),
    ],
)
def test_what_passes_at_the_range(name: str, dtype: str, reach: float, wrong: str, blunt: bool) -> None:
    rule = load_standards().rule(name, dtype)
    assert rule is not None
    share = passing(rule, [[parameters(dtype, 64, 512, reach)]])[wrong]
    assert share > 0.9 if blunt else share < 0.01


def test_nothing_is_said_of_results_whose_size_is_not_known() -> None:
    rule = load_standards().rule("double-hundredth", "fp32")
    assert rule is not None
    assert passing(rule, [[parameters("fp32", 1, 512, 1e-5, sized=False)]]) == {}


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("reach", [1e-5, 1e-2, 5.0, 1e3])
@pytest.mark.parametrize("extent", [3, 64, 4096, 65536])
def test_the_choice_is_adequate_and_sharp(dtype: str, reach: float, extent: int) -> None:
    if dtype == "fp16" and reach < 1e-3:
        pytest.skip("below the normal numbers of fp16 one unit is as large as the values")
    choice = choose(dtype, [[parameters(dtype, extent, 512, reach)]], JUDGE)
    assert choice.rule is not None
    assert choice.adequate
    assert choice.rate < 0.005
    assert choice.sharp, choice


def test_a_named_standard_stays_where_it_fits() -> None:
    assert choose("fp32", [[parameters("fp32", 64, 512, 5.0)]], JUDGE).name == "double-ten-thousandth"
    assert choose("fp32", [[parameters("fp32", 64, 512, 1e-5)]], JUDGE).name == "derived"


@pytest.mark.parametrize(
    ("name", "dtype", "low", "high", "extent", "outputs", "mistake", "blind"),
    [
        ("double-hundredth", "bf16", -0.01, 0.01, 64, 4096, "lost-addend", True),
        ("double-hundredth", "bf16", -5, 5, 64, 4096, "lost-addend", False),
        ("double-hundredth", "bf16", -5, 5, 64, 64, "lost-addend", False),
        ("double-thousandth", "fp32", -5, 5, 64, 512, "relative", True),
        ("double-ten-thousandth", "fp32", -5, 5, 64, 512, "relative", False),
        ("double-hundredth", "bf16", -5, 5, 3, 4096, "native", True),
        ("double-hundredth", "bf16", -5, 5, 4096, 256, "native", False),
        ("double-hundredth", "bf16", 4, 5, 4096, 256, "shifted", True),
        ("double-hundredth", "bf16", -5, 5, 4096, 256, "shifted", False),
        ("single-benchmark", "fp32", -5, 5, 64, 512, "relative", False),
    ],
)
def test_finer_mistakes_at_the_range(
    name: str, dtype: str, low: float, high: float, extent: int, outputs: int, mistake: str, blind: bool
) -> None:
    rule = load_standards().rule(name, dtype)
    assert rule is not None
    share = passing(rule, [[parameters(dtype, extent, outputs, high, low=low)]], FINER)[mistake]
    assert share >= BLIND if blind else share < 0.1


@pytest.mark.parametrize("blind", [0, 1, 5, 8, 10])
def test_to_see_a_mistake_is_to_let_it_pass_less_often(blind: int) -> None:
    """Ten cases, of which some catch what the others let pass; in either order the answer is that of all of them."""
    rule = load_standards().rule("double-hundredth", "bf16")
    assert rule is not None
    lax, sharp = (parameters("bf16", 64, 4096, reach) for reach in (0.01, 5.0))
    cases = [[lax]] * blind + [[sharp]] * (10 - blind)
    for mistake, share in passing(rule, cases, FINER).items():
        assert sees(rule, cases, mistake) == sees(rule, cases[::-1], mistake) == (share < BLIND)


def test_what_no_unit_tells_is_not_asked() -> None:
    """A relative error of 1e-3 is less than a unit of bf16, and two addends have no partial sum to keep short."""
    rule = load_standards().rule("double-hundredth", "bf16")
    assert rule is not None
    assert set(passing(rule, [[parameters("bf16", 2, 512, 5.0)]], FINER)) == {"lost-addend", "shifted"}


def test_a_named_standard_gives_way_where_it_is_blind() -> None:
    usual, small = ([[parameters("bf16", 64, 4096, reach)]] for reach in (5.0, 0.01))
    assert choose("bf16", usual, JUDGE).name == "double-hundredth"
    choice = choose("bf16", small, JUDGE)
    assert choice.name == "derived"
    assert choice.why is not None
    assert choice.why[:2] == ("double-hundredth", "lost-addend")
    assert choice.fine[1] < BLIND
    # A spec of many cases catches the mistake in the others.
    assert choose("bf16", [*usual, *small], JUDGE).name == "double-hundredth"


def test_a_finer_mistake_is_no_fault_of_a_spec() -> None:
    """What is written is held against the named standard, though thresholds are computed for the recommendation."""
    choice = choose("bf16", [[parameters("bf16", 64, 4096, 0.01)]], JUDGE)
    assert choice.measure == load_standards().rule("double-hundredth", "bf16")
    assert choice.measure != choice.rule


def test_the_user_chooses() -> None:
    small, usual = [[parameters("fp32", 64, 512, 1e-5)]], [[parameters("fp32", 64, 512, 5.0)]]
    assert choose("fp32", small, replace(JUDGE, standard="named")).name == "double-ten-thousandth"
    assert choose("fp32", usual, replace(JUDGE, standard="derived")).name == "derived"
    assert choose("fp32", small, JUDGE, writable=False).name == "double-ten-thousandth"


def test_derived_thresholds_come_back_from_what_is_written() -> None:
    found = derive("fp32", [parameters("fp32", 1024, 4096, 1e-4)], 0.01)
    assert found is not None
    written, _ = expression({"fp32": "derived"}, "26.8.8", rules={"fp32": found.rule})
    assert effective(written, "fp32", "26.8.8").rule == found.rule
    assert found.rule.share * 4096 == pytest.approx(1, rel=0.05)
    assert "1024 addends in [-0.0001, 0.0001]" in found.reason


def test_thresholds_grow_with_what_they_must_hold_for() -> None:
    def atol(*all_parameters: DriftParameters) -> float:
        found = derive("fp32", all_parameters, 0.01)
        assert found is not None
        return found.rule.atol

    small, long, wide = (
        parameters("fp32", 64, 512, 1.0),
        parameters("fp32", 4096, 512, 1.0),
        parameters("fp32", 64, 512, 100.0),
    )
    assert atol(small) < atol(long) < atol(long, wide)
    assert atol(wide) == pytest.approx(100 * atol(small), rel=0.05)
    assert atol(parameters("fp32", 64, 10**6, 1.0)) > atol(small)


def test_a_short_format_bounds_the_share_that_flips() -> None:
    found = derive("bf16", [parameters("bf16", 64, 4096, 5.0)], 0.01)
    assert found is not None
    assert found.rule.rtol < 2**-8
    assert found.rule.max_ulp == 2
    assert 0 < found.rule.share <= 0.01


def test_remedies_are_tried_before_they_are_told() -> None:
    named = replace(JUDGE, standard="named")
    cases = [[parameters("fp32", 65536, 512, 1e4, cause="broadcast")]]
    assert not choose("fp32", cases, named).adequate
    words = remedies({"fp32": cases}, partial(has_standard, judge=named))
    extent = int(words.split("at most ")[1].split()[0])
    assert choose("fp32", [[parameters("fp32", extent, 512, 1e4)]], named).adequate
    beyond = choose("fp32", [[parameters("fp32", 2 * extent, 512, 1e4)]], named)
    assert not (beyond.adequate and beyond.sharp)
    assert "compare without the broadcast" in words
    small = [[parameters("fp32", 64, 512, 1e-6)]]
    assert "widen the range to [-5, 5]" in remedies({"fp32": small}, partial(has_standard, judge=named))


def told(op: str, judge: Judge = JUDGE, **fields: Any) -> DriftParameters:
    given = CaseInput("input", "tensor", "fp32", (512, 8), [-4, 4])
    step = Step(f"aten.{op}.default", "forward", NumericClass.ACCUMULATED, 512)
    tensor = TensorClass(
        "output:0", "output", "fp32", (8,), NumericClass.ACCUMULATED, extent=512, path=(step,), **fields
    )
    found = drift_parameters(tensor, Case(0, 0, "torch.x", (given,)), judge)
    assert found is not None
    return found


def test_loads_follow_the_path() -> None:
    mean = told("mean", products=True)
    assert (mean.high, mean.products, mean.roundings, mean.sized) == (4 / 512, False, 2, True)
    assert (told("sum").high, told("sum").sized) == (4, True)
    assert told("mm", products=True).products
    assert not told("_softmax").sized
    on = replace(JUDGE, hf32=("matmul",), golden="exact")
    assert [told(op, on, products=True).factors for op in ("mm", "convolution", "mul")] == ["hf32", "", ""]
    assert told("sum", on).golden == "exact"


def test_hf32_contractions_need_more() -> None:
    plain, short = (parameters("fp32", 64, 512, 5.0, products=True, factors=factors) for factors in ("", "hf32"))
    rule = load_standards().rule("double-ten-thousandth", "fp32")
    assert rule is not None
    assert plain.failure(rule) < 1e-6
    assert short.failure(rule) > 0.9


def test_a_constant_upstream_gradient_makes_sums_exact() -> None:
    rule = load_standards().rule("value-equal", "fp32")
    assert rule is not None
    assert replace(parameters("fp32", 4096, 512, 1.0), low=1.0, high=1.0).failure(rule) == 0
    assert replace(parameters("fp32", 4096, 512, 1.0), low=0.1, high=0.1).failure(rule) > 0


def test_the_bank_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small run of benchmarks/power.py: derived thresholds catch most and fail no correct kernel."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import power

    scores = power.measure(small=True, seed=11)
    derived, auto = scores["opscan --standard derived"], scores["opscan --standard auto"]
    assert derived.alarms == auto.alarms == 0
    others = {name: score for name, score in scores.items() if not name.startswith("opscan")}
    assert len(others) >= 8
    for name, score in others.items():
        assert derived.power > score.power or score.alarms > 0.01, name
        assert auto.power > score.power or score.alarms > 0.01, name
    assert derived.power > 0.98
    assert auto.power > scores["ATK 26.8.8 default (mixed_tolerance_bm)"].power + 0.1
    assert sys.modules["power"].__file__ == str(BENCHMARKS / "power.py")


def test_of_many_cases_a_remedy_is_tried_on_some_and_on_the_largest() -> None:
    named = replace(JUDGE, standard="named")
    small, large = ([parameters("fp32", extent, 8192, 1000.0)] for extent in (64, 65536))
    many = [*[small] * 701, large, *[small] * 701]
    fits = partial(has_standard, judge=named)
    assert remedies({"fp32": many}, fits) == remedies({"fp32": [*[small] * 250, large, *[small] * 250]}, fits)
    assert "reduce at most" in remedies({"fp32": many}, fits)
