"""Statuses and fix labels of whole specs, with the classes given: judging is tested without tracing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opscan.judging import Judge
from opscan.judging.casefiles import judge_case_file
from opscan.judging.specs import judge_spec
from opscan.model import (
    Case,
    CaseFile,
    CaseInput,
    Choices,
    Classification,
    Evidence,
    NumericClass,
    Scenarios,
    Source,
    Spec,
    SpecInput,
    Step,
    TensorClass,
)

COPY, ROUND = NumericClass.SELECT_ONLY, NumericClass.ARITHMETIC
BROADCAST, SUM = NumericClass.BROADCAST_REDUCED, NumericClass.ACCUMULATED
RANDOM, UNKNOWN = NumericClass.RANDOM, NumericClass.UNKNOWN
ACCURACY = Scenarios(source="run.sh:1")
JUDGE = Judge("26.8.8", (-5.0, 5.0), 0.01)
TIGHT = {"mixed_tolerance_bm": {"fp32_rtol": 1e-4, "fp32_atol": 1e-4, "fp32_required_matched_ratio": 0.9999}}


def tensor(
    kind: NumericClass, name: str = "output:0", dtype: str = "fp32", extent: int = 1, **more: Any
) -> TensorClass:
    cause = {BROADCAST: "broadcast", SUM: "reduction"}.get(kind)
    role = "gradient" if name.startswith("grad") else "output"
    return TensorClass(name, role, dtype, (8,), kind, extent=extent, cause=cause, **more)


def judged(
    acc: Any,
    tensors: Sequence[TensorClass],
    *,
    evidence: str = "cases",
    certain: bool = True,
    complete: bool = True,
    basis: str = "golden",
    scenarios: tuple[str, ...] = ("accuracy",),
    spec_fields: dict[str, Any] | None = None,
) -> Any:
    given = SpecInput("input", "tensor", dtypes=Choices(("fp32",)))
    source = Source(Path("spec.yaml"), "name: torch.x\n")
    spec = Spec(source, "torch.x", (given,), acc, **(spec_fields or {}))
    case = Case(0, 0, "torch.x", (CaseInput("input", "tensor", "fp32", (8,), [-5, 5]),), acc)
    shapes = Evidence(evidence, (case,), certain, complete)
    served = Scenarios(scenarios, "spec.yaml:1")
    return judge_spec(spec, "spec.yaml", shapes, served, lambda _: Classification(tuple(tensors), basis), JUDGE)


ONCE = {"correctly_rounded": True}
STATUSES: list[tuple[str, Any, list[TensorClass], str]] = [
    ("copy under equal", "equal", [tensor(COPY)], "ok"),
    ("copy under a tolerance", "single_bm", [tensor(COPY)], "too-loose"),
    ("copy under default", "default", [tensor(COPY)], "too-loose"),
    ("copy that ties decide", "single_bm", [tensor(COPY, depends_on=("values",))], "ok"),
    ("rounding under equal", "equal", [tensor(ROUND)], "too-strict"),
    ("rounded once under equal", "equal", [tensor(ROUND, **ONCE)], "ok"),
    ("rounded once under a tolerance", "single_bm", [tensor(ROUND, **ONCE)], "ok"),
    ("rounding under a tolerance", TIGHT, [tensor(ROUND)], "ok"),
    ("rounding under default", "default", [tensor(ROUND)], "ambiguous"),
    ("rounding under no standard", None, [tensor(ROUND)], "ambiguous"),
    ("sum under equal", "equal", [tensor(SUM, extent=64)], "too-strict"),
    ("sum under a tolerance", TIGHT, [tensor(SUM, extent=64)], "ok"),
    ("long sum under a tight tolerance", TIGHT, [tensor(SUM, extent=1 << 20)], "too-strict"),
    ("broadcast under md5", "md5", [tensor(BROADCAST, extent=64)], "too-strict"),
    ("int32 copy under a tolerance", "single_bm", [tensor(COPY, dtype="int32")], "ok"),
    ("int8 copy under a tolerance", "single_bm", [tensor(COPY, dtype="int8")], "too-loose"),
    ("bool under default", "default", [tensor(COPY, dtype="bool")], "ok"),
    ("fp64 sum: torch.equal whatever is written", TIGHT, [tensor(SUM, dtype="fp64", extent=64)], "too-strict"),
    ("random", "equal", [tensor(RANDOM)], "unknown"),
    ("unknown", "equal", [tensor(UNKNOWN)], "unknown"),
    ("one unknown beside a copy", "equal", [tensor(UNKNOWN), tensor(COPY, "grad:x")], "unknown"),
    ("comparator that does not exist", "equals", [tensor(COPY)], "invalid"),
    ("keyword that crashes", {"mixed_tolerance_bm": {"fp32_rtoll": 1.0}}, [tensor(ROUND)], "invalid"),
]


@pytest.mark.parametrize(("acc", "tensors", "status"), [row[1:] for row in STATUSES], ids=[row[0] for row in STATUSES])
def test_status(acc: Any, tensors: list[TensorClass], status: str) -> None:
    assert judged(acc, tensors).report.status == status


def test_the_loosest_decides_and_the_rest_shares() -> None:
    result = judged(TIGHT, [tensor(COPY), tensor(BROADCAST, "grad:other", extent=64)])
    assert [t.status for t in result.report.tensors] == ["shared", "ok"]
    assert result.report.status == "ok"
    assert [(f.name, f.severity) for f in result.findings] == [("standard-shared", "info")]
    assert "`grad:other`" in result.findings[0].message


def test_the_finding_says_which_gradient_forced_it_and_what_fits() -> None:
    result = judged("equal", [tensor(COPY), tensor(BROADCAST, "grad:other", extent=64)])
    message = result.findings[0].message
    assert "the gradient of `other` sums up to 64 addends because it was broadcast in 1 of 1 cases" in message
    assert "double-ten-thousandth" in message
    assert result.proposal["mixed_tolerance_bm"]["fp32_atol"] == 1e-4


LABELS: list[tuple[str, dict[str, Any], str]] = [
    ("certain", {}, "safe"),
    ("declared but not certain", {"certain": False}, "unsafe"),
    ("taken from a name", {"basis": "name"}, "unsafe"),
    ("read in a plugin", {"basis": "plugin"}, "safe"),
]


@pytest.mark.parametrize(("fields", "label"), [row[1:] for row in LABELS], ids=[row[0] for row in LABELS])
def test_fix_label(fields: dict[str, Any], label: str) -> None:
    result = judged("equal", [tensor(BROADCAST, "grad:other", extent=64)], **fields)
    assert result.findings[0].fix == label
    assert result.findings[0].severity == ("warning" if fields.get("basis") == "name" else "error")


def test_tightening_needs_all_shapes_where_shapes_decide() -> None:
    copies = [tensor(COPY, depends_on=("shapes",))]
    assert judged("single_bm", copies, complete=False).findings[0].fix == "unsafe"
    assert judged("single_bm", copies, complete=True).findings[0].fix == "safe"
    assert judged("single_bm", [tensor(COPY)], complete=False).findings[0].fix == "safe"
    two = SpecInput("input", "tensor", dtypes=Choices(("fp32",)))
    several = {"backward": True, "method_inputs": (two,)}
    assert judged("single_bm", [tensor(COPY)], complete=False, spec_fields=several).findings[0].fix == "unsafe"


def test_a_dtype_without_thresholds_is_named_and_left_to_a_person() -> None:
    result = judged(TIGHT, [tensor(SUM, extent=64), tensor(SUM, dtype="fp64", extent=64)])
    assert [(f.name, f.fix) for f in result.findings] == [("no-threshold-row", "manual")]
    assert "ATK compares fp64 with torch.equal" in result.findings[0].message
    assert result.report.recommended == {"fp32": "double-ten-thousandth", "fp64": "double-ten-thousandth"}
    assert next(iter(result.report.expression["mixed_tolerance_bm"])).startswith("fp32")


def test_a_determinism_spec_is_not_relaxed() -> None:
    result = judged("equal", [tensor(SUM, extent=64)], scenarios=("determinism",))
    assert (result.report.status, result.findings) == ("ok", ())
    assert "bitwise" in result.report.reason


def test_scattered_sums_are_noted_in_a_determinism_spec() -> None:
    scattered = TensorClass("grad:w", "gradient", "fp32", (8,), SUM, extent=64, cause="scatter")
    result = judged("equal", [scattered], scenarios=("determinism",))
    assert [f.name for f in result.findings] == ["scatter-determinism"]


def test_a_memory_spec_compares_nothing() -> None:
    assert judged("equal", [tensor(SUM, extent=64)], scenarios=("memory",)).report.status == "ok"


def test_where_no_standard_is_adequate_it_says_what_would_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.JUDGE", replace(JUDGE, standard="named"))
    path = (Step("aten.sum.default", "forward", SUM, 1 << 40),)
    result = judged("equal", [tensor(SUM, extent=1 << 40, path=path)])
    assert result.findings[0].fix == "manual"
    assert "reduce at most 131072 addends or use a one-signed range" in result.findings[0].message


def test_where_no_named_standard_is_adequate_thresholds_are_derived() -> None:
    result = judged("equal", [tensor(SUM, extent=1 << 20)])
    assert result.findings[0].fix == "safe"
    assert result.report.recommended == {"fp32": "derived"}
    assert "derived for fp32 n <= 1048576 in [-5, 5]" in result.findings[0].message
    assert "atol" in result.report.expression_reason
    assert judged(result.proposal, [tensor(SUM, extent=1 << 20)]).report.status == "ok"


def test_cases_are_judged_one_by_one() -> None:
    shapes = [(64,), (1,), (4,), (64,)]
    given = [(CaseInput("input", "tensor", "fp32", shape, [-5, 5]),) for shape in shapes]
    cases = tuple(Case(index, index, "torch.x", inputs, "equal") for index, inputs in enumerate([*given, given[0]]))
    answers = {(64,): tensor(BROADCAST, extent=64), (1,): tensor(COPY), (4,): tensor(BROADCAST, extent=4)}
    asked: list[int] = []
    case_file = CaseFile(Source(Path("all_x.json"), "[]"), cases)

    def classify(cases: Sequence[Case]) -> list[Classification]:
        asked.extend(case.index for case in cases)
        return [Classification((answers[case.inputs[0].shape or ()],), "golden") for case in cases]

    result = judge_case_file(case_file, "all_x.json", ACCURACY, classify, JUDGE)
    assert result.report.verdicts == {"too-strict": 4, "ok": 1}
    assert [list(problem.indices) for problem in result.problems] == [[0, 2, 3, 4]]
    assert result.problems[0].finding.count == 4
    assert result.report.tensors[0].cases == {"broadcast-reduced": 4, "select-only": 1}
    assert asked[:4] == [0, 1, 2, 3]
    assert 4 not in asked  # the last case shares all but its number with the first


def test_a_case_with_small_values_gets_thresholds_of_its_own() -> None:
    def case(index: int, reach: float) -> Case:
        given = CaseInput("input", "tensor", "fp32", (8,), [-reach, reach])
        return Case(index, index, "torch.x", (given,), "mixed_tolerance_bm")

    case_file = CaseFile(Source(Path("all_x.json"), "[]"), (case(0, 5.0), case(1, 1e-6)))
    known = Classification((tensor(SUM, extent=64),), "golden")
    result = judge_case_file(case_file, "all_x.json", ACCURACY, lambda cases: [known] * len(cases), JUDGE)
    assert result.report.verdicts == {"ok": 1, "too-loose": 1}
    assert [(p.finding.name, list(p.indices)) for p in result.problems] == [("standard-vacuous", [1])]
    assert result.report.recommended == {"fp32": "derived"}
    assert result.problems[0].proposal(0)["mixed_tolerance_bm"]["fp32_atol"] < 1e-10


def test_float32_that_atk_calls_hf32_gets_its_own_thresholds() -> None:
    given = CaseInput("input", "tensor", "hf32", (8,), [-5, 5])
    case = Case(0, 0, "torch.x", (given,), "equal")
    known = Classification((tensor(SUM, extent=64),), "golden")
    case_file = CaseFile(Source(Path("all_x.json"), "[]"), (case,))
    result = judge_case_file(case_file, "all_x.json", ACCURACY, lambda cases: [known] * len(cases), JUDGE)
    assert list(result.report.recommended or {}) == ["hf32"]
    assert all(key.startswith("hf32") for key in result.report.expression["mixed_tolerance_bm"])


def test_a_tolerance_that_passes_zeros_is_too_loose() -> None:
    loose = {"fp32_rtol": 0.5, "fp32_atol": 1000.0, "fp32_max_abs_error_limit": 1000.0}
    result = judged({"mixed_tolerance_bm": loose}, [tensor(SUM, extent=64)])
    assert (result.report.status, [f.name for f in result.findings]) == ("too-loose", ["standard-vacuous"])
    assert "an output of zeros and a sum that lost its last tile" in result.findings[0].message


def test_the_bound_of_an_element_catches_zeros_whatever_the_tolerance() -> None:
    loose = {"mixed_tolerance_bm": {"fp32_rtol": 0.5, "fp32_atol": 1000.0}}
    assert judged(loose, [tensor(SUM, extent=64)]).report.status == "ok"


CRASHES = [
    {"mixed_tolerance_bm": {"fp32_rtol": -1.0}},
    {"mixed_tolerance_bm": {"fp32_required_matched_ratio": 2.0}},
    {"single_bm": {"mare_ratio": -1}},
]


@pytest.mark.parametrize("acc", CRASHES)
def test_thresholds_that_nothing_passes_are_too_strict(acc: Any) -> None:
    assert judged(acc, [tensor(SUM, extent=64)]).report.status == "too-strict"


def test_an_attribute_value_that_no_case_has_keeps_tightening_unsafe() -> None:
    dim = SpecInput("step", "attr", dtypes=Choices(("int",)), ranges=Choices(((1, 1000),)))
    result = judged("single_bm", [tensor(COPY)], complete=False, spec_fields={"method_inputs": (dim,)})
    assert result.findings[0].fix == "unsafe"


def test_a_tensor_drawn_as_nan_keeps_equal_from_being_safe() -> None:
    given = SpecInput("input", "tensor", dtypes=Choices(("fp32",)))
    spec = Spec(Source(Path("spec.yaml"), ""), "torch.tril", (given,), "single_bm")
    case = Case(0, 0, "torch.tril", (CaseInput("input", "tensor", "fp32", (8,), "nan"),), "single_bm")
    known = Classification((tensor(COPY),), "golden")
    result = judge_spec(spec, "s", Evidence("cases", (case,), True, True), ACCURACY, lambda _: known, JUDGE)
    assert result.findings[0].fix == "unsafe"
    assert "partly-NaN" in result.findings[0].message


VERSIONS = [("26.8.8", "safe"), ("26.5.14", "safe"), ("26.7.8", "unsafe"), ("older", "manual")]


@pytest.mark.parametrize(("version", "label"), VERSIONS)
def test_an_edit_is_safe_only_where_every_build_has_the_comparator(
    version: str, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.JUDGE", Judge(version, (-5.0, 5.0), 0.01))
    assert judged("equal", [tensor(SUM, extent=64)]).findings[0].fix == label
