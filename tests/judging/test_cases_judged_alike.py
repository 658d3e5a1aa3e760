"""Cases that are judged by what their shapes decide get what they would get one by one."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opscan.data import data_path
from opscan.judging import Judge, specs
from opscan.judging.casefiles import JudgedCases, judge_case_file
from opscan.judging.equivalence import EXACTLY, scale
from opscan.judging.specs import judge_spec
from opscan.model import Case, CaseFile, Classification, Evidence, Scenarios, Source, Spec
from opscan.numerics.declared.answering import declare, plan_of, shapes_of
from opscan.reading import read_file
from opscan.reading.case_table import CaseTable
from opscan.reading.cases import read_cases

ACCURACY = Scenarios(source="run.sh:1")
JUDGE = Judge("26.8.8", (-5.0, 5.0), 0.01)
STANDARDS = (
    "equal",
    "default",
    "mixed_tolerance_bm",
    {"mixed_tolerance_bm": {"fp32_rtol": 1e-5, "fp32_atol": 1e-6, "fp16_rtol": 1e-3, "fp16_atol": 1e-4}},
    {"mixed_tolerance_bm": {"fp32_rtol": 0.5, "fp32_atol": 100.0}},
    None,
)
DTYPES = ("fp32", "fp32", "fp16", "bf16", "complex64", "int32")
SIZES = (1, 1, 3, 4, 8, 64, 65, 70, 1000, 1024) * 2 + (0,)


def tensor(name: str | None, shape: list[int], dtype: str, values: Any = (-5, 5)) -> dict[str, Any]:
    return {"name": name, "type": "tensor", "dtype": dtype, "shape": shape, "range_values": values}


def attribute(name: str, value: Any, dtype: str = "int") -> dict[str, Any]:
    return {"name": name, "type": "attr", "dtype": dtype, "range_values": value}


def inputs(operator: str, draw: random.Random) -> list[Any]:
    dtype, ends = draw.choice(DTYPES), draw.choice(([-5, 5], [0, 1], [-1e-4, 1e-4], "nan"))
    shape = [draw.choice(SIZES) for _ in range(draw.randint(1, 3))]
    other = [draw.choice((1, size)) for size in shape]
    if operator == "torch.cat":
        tensors = [{**tensor(None, shape, dtype, ends), "type": "tensors"} for _ in range(draw.randint(1, 3))]
        return [[{**one, "name": "tensors"} for one in tensors]]
    if operator == "torch.sum":
        return [tensor("input", shape, dtype, ends), attribute("dim", draw.choice((0, -1, [0])))]
    if operator == "torch.mm":
        rows, columns, inner = (draw.choice(SIZES) for _ in range(3))
        return [tensor("input", [rows, inner], dtype, ends), tensor("mat2", [inner, columns], dtype, ends)]
    second = "target" if operator.endswith("loss") else "other"
    return [tensor("input", shape, dtype, ends), tensor(second, draw.choice((shape, other)), dtype, ends)]


ADDING = ("torch.add", "torch.mul", "torch.sum", "torch.mm", "torch.cat", "torch.nn.functional.mse_loss")
OPERATORS = (*ADDING, *ADDING, "aclnnMean", "no.such")


def drawn(count: int, seed: int, operators: Sequence[str] = OPERATORS) -> CaseFile:
    draw = random.Random(seed)
    entries = []
    for number in range(count):
        operator = draw.choice(operators)
        name = {"aclnn_name": operator} if operator.startswith("aclnn") else {"name": operator}
        standard = {"acc": draw.choice(STANDARDS)}
        entry = {"id": number, **name, "standard": standard, "backward": draw.random() < 0.7, "api": "pytorch"}
        entries.append(entry | {"inputs": inputs(operator, draw)})
    read = read_cases(Source(Path("all_x.json"), json.dumps(entries)))
    assert isinstance(read, CaseFile)
    return read


def told(cases: Sequence[Case]) -> list[Classification]:
    return [declare(case) or Classification((), "none", "takes a trace") for case in cases]


def described(judged: JudgedCases) -> tuple[Any, ...]:
    problems = [
        (one.finding, list(one.indices), [one.proposal(place) for place in range(len(one.indices))])
        for one in judged.problems
    ]
    return judged.report, problems


@pytest.mark.parametrize("judge", [JUDGE, replace(JUDGE, standard="named"), replace(JUDGE, golden="exact")])
@pytest.mark.parametrize("scenario", ["accuracy", "determinism"])
@pytest.mark.parametrize("seed", range(3))
def test_a_case_file_is_judged_alike(judge: Judge, scenario: str, seed: int) -> None:
    read = drawn(400, seed)
    assert isinstance(read.cases, CaseTable)
    one_by_one = judge_case_file(replace(read, cases=tuple(read.cases)), "x", Scenarios((scenario,), "r"), told, judge)
    by_plan = judge_case_file(read, "x", Scenarios((scenario,), "r"), told, judge, plan_of)
    assert described(by_plan) == described(one_by_one)
    assert scenario == "determinism" or len(by_plan.problems) > 8


def test_few_are_judged_where_shapes_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [
        {"id": size, "name": "torch.add", "backward": True, "standard": {"acc": "equal"},
         "inputs": [tensor("input", [size, 7], "fp32"), tensor("other", [1, 7], "fp32")]}
        for size in range(1000, 3000)
    ]  # fmt: skip
    read = read_cases(Source(Path("all_x.json"), json.dumps(entries)))
    assert isinstance(read, CaseFile)
    judged = 0

    def count(*arguments: Any) -> Any:
        nonlocal judged
        judged += 1
        return judge_one(*arguments)

    from opscan.judging import casefiles

    judge_one = casefiles.judge_one
    monkeypatch.setattr(casefiles, "judge_one", count)
    result = judge_case_file(read, "x", ACCURACY, told, JUDGE, plan_of)
    assert result.report.verdicts == {"too-strict": 2000}
    assert result.report.tensors[2].extent == (1000, 2999)
    assert judged < 20


def test_plans_say_what_is_said_of_each_case() -> None:
    planned = 0
    for case in drawn(300, 7).cases:
        plan = plan_of(case)
        shapes = shapes_of(case)
        if plan is None or any(0 in shape for shape in shapes if shape):
            continue
        known = declare(case)
        assert plan.classify(shapes) == (known if known is not None and known.tensors else None)
        planned += known is not None
    assert planned > 100


@pytest.mark.parametrize("standard", STANDARDS)
def test_a_spec_with_many_cases_is_judged_alike(monkeypatch: pytest.MonkeyPatch, standard: Any) -> None:
    spec = read_file(data_path("catalog", "1000", "torch.add_backward.yaml"))
    assert isinstance(spec, Spec)
    spec = replace(spec, acc=standard)
    read = drawn(300, 3, ["torch.add"])
    assert isinstance(read.cases, CaseTable)
    evidence = Evidence("cases", read.cases.with_acc(standard), True, True)

    def classify(case: Case) -> Classification:
        return told([case])[0]

    one_by_one = judge_spec(spec, "x", evidence, ACCURACY, classify, JUDGE)
    monkeypatch.setattr(specs, "MANY_CASES", 10)
    shared = judge_spec(spec, "x", evidence, ACCURACY, classify, JUDGE, many=(told, plan_of))
    assert shared.report.tensors == one_by_one.report.tensors
    assert [finding.rule for finding in shared.findings] == [finding.rule for finding in one_by_one.findings]
    assert shared.report == one_by_one.report


def test_axes_that_are_no_neighbours_are_judged_by_themselves() -> None:
    """Over them the golden adds in one chain, though extents and sizes are those of neighbours."""
    apart, together = ((1, 4, 1), (1, 1, 4))
    ways = {scale((16,), [own], (EXACTLY,), [(4, 4, 4), own]) for own in (apart, together)}
    assert len(ways) == 2
