"""The formula of an element computes what the operator computes: torch's results are distributed as its samples are."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

torch = pytest.importorskip("torch")

from benchmarks.composed import JUDGE, case_of  # noqa: E402
from opscan.judging.drifts.draw import Draw, Untold  # noqa: E402
from opscan.judging.drifts.levels import levels_of  # noqa: E402
from opscan.judging.drifts.sampling import Sampling  # noqa: E402
from opscan.judging.ranges import draw_of  # noqa: E402
from opscan.model import TensorClass  # noqa: E402
from opscan.numerics.classify import classify  # noqa: E402
from opscan.numerics.declared.answering import declare  # noqa: E402
from opscan.numerics.elements.term import MOST_TERMS, Term, linear, number  # noqa: E402
from opscan.validating.devices import CPU  # noqa: E402
from opscan.validating.drawing import draw_inputs  # noqa: E402
from opscan.validating.running import calls_of, run  # noqa: E402

ROWS = [row for rows in yaml.safe_load(Path("benchmarks/composed.yaml").read_text()).values() for row in rows]
UNTOLD = frozenset({"nn.functional.triplet_margin_loss"})
"""Their gradients pass through a step that no formula follows."""
QUANTILES = (0.5, 0.75, 0.95)


def sampled(tensor: TensorClass, case: Any) -> list[float]:
    def drawn(place: Any) -> Draw:
        return draw_of(case, place, JUDGE)

    column = levels_of(tensor.formula, drawn, Draw(*JUDGE.upstream))[0].column
    return sorted(abs(value) for value in column.values)


def computed(case: Any) -> dict[str, list[float]]:
    (call, *_) = calls_of(case)
    found: dict[str, list[float]] = {}
    for seed in range(5):
        tensors = run(call, draw_inputs(call.binding, call.operator.name, seed), (JUDGE.upstream, 1000 + seed), CPU)
        for name, tensor in tensors.items():
            found.setdefault(name, []).extend(tensor.detach().abs().double().flatten().tolist())
    return {name: sorted(values) for name, values in found.items()}


def at(values: list[float], part: float) -> float:
    return values[min(int(part * len(values)), len(values) - 1)]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['name'][6:]}-{place}" for place, row in enumerate(ROWS)])
def test_samples_are_distributed_as_the_results_of_the_operator(row: dict[str, Any]) -> None:
    case = case_of(row, "fp32")
    known, real = classify(case), computed(case)
    for tensor in known.tensors:
        if not tensor.formula:
            assert row["name"].removeprefix("torch.") in UNTOLD, tensor.name
            continue
        own, theirs = sampled(tensor, case), real[tensor.name]
        scale = at(theirs, 0.95) or 1.0
        # a loss is one number in each of few draws, and its gradients have one upstream gradient each
        scalar, few = any(not one.shape for one in known.tensors), len(theirs) < 100
        for part in (0.5,) if scalar or few else QUANTILES:
            wide = 1.0 if scalar else 0.6 if few else 0.3
            assert at(own, part) == pytest.approx(at(theirs, part), rel=wide, abs=0.05 * scale), (tensor.name, part)


def test_declared_steps_and_a_trace_give_one_formula() -> None:
    row = {"name": "torch.nn.functional.layer_norm", "inputs": {"input": {"shape": [8, 32]}, "normalized_shape": [32]}}
    told, traced = declare(case_of(row, "fp32")), classify(case_of(row, "fp32"))
    assert told is not None
    assert [tensor.formula for tensor in told.tensors] == [tensor.formula for tensor in traced.tensors]


def test_a_graph_is_told_once_however_often_its_parts_are_used() -> None:
    term = Term("input", (), (0, "x"))
    for _ in range(60):
        term = Term("add", (term, term), (), "float32")
    assert len(linear(term)) == 61
    for _ in range(MOST_TERMS):
        term = Term("add", (term, number(1)), (), "float32")
    assert linear(term) == ()


def test_a_step_that_is_not_followed_is_named() -> None:
    sampling = Sampling(lambda _: Draw(-5, 5), Draw(-5, 5))
    with pytest.raises(Untold, match="bessel"):
        sampling.run((("input", (), (0, "x"), ""), ("bessel", (0,), (), "float32")))


def test_another_function_is_noticed() -> None:
    """A planted mistake: what this file holds formulas to must not let one through."""
    row = next(row for row in ROWS if row["name"].endswith("gelu"))
    case = case_of(row, "fp32")
    tensor = next(t for t in classify(case).tensors if t.role == "output")
    wrong = tuple((("tanh" if name == "erf" else name), *rest) for name, *rest in tensor.formula)
    column = Sampling(lambda _: Draw(-5, 5), Draw(-5, 5)).run(wrong)  # type: ignore[arg-type]
    own, theirs = sorted(map(abs, column.values)), computed(case)["output:0"]
    apart = [abs(at(own, part) - at(theirs, part)) / at(theirs, 0.95) for part in QUANTILES]
    assert max(apart) > 0.005
    assert math.isfinite(max(apart))
