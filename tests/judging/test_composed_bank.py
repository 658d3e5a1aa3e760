"""The bank of composed kernels: the correct ones compute what the operators do, each mistake something else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from composed_kernels import OPERATORS, ORDERS, Composed, results  # noqa: E402


def drawn(operator: Composed, seed: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(0.1, 2, shape).astype(np.float32) for name, shape in operator.inputs.items()}


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda one: one.name.rpartition(".")[2])
@pytest.mark.parametrize("order", ORDERS)
def test_a_correct_kernel_computes_the_operator(operator: Composed, order: str) -> None:
    given = drawn(operator)
    function = getattr(torch.nn.functional, operator.name.rpartition(".")[2])
    expected = function(**{name: torch.from_numpy(x).double() for name, x in given.items()}, **operator.attributes)
    found = operator.compute(given, ORDERS[order], "")
    assert np.allclose(found.reshape(expected.shape), expected.numpy(), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda one: one.name.rpartition(".")[2])
def test_each_mistake_is_made(operator: Composed) -> None:
    given = {
        name: 0.01 * x if name == "input" and "norm" in operator.name else x for name, x in drawn(operator).items()
    }
    correct = operator.compute(given, ORDERS["64 lanes"], "")
    for mistake in operator.mistakes:
        wrong = operator.compute(given, ORDERS["64 lanes"], mistake)
        assert wrong.shape == correct.shape
        assert not np.array_equal(wrong, correct), mistake


def test_what_is_right_at_these_values_is_no_wrong_result() -> None:
    """Without the maximum subtracted a softmax of small numbers is as good as any; of large ones it overflows."""
    softmax = next(one for one in OPERATORS if one.name.endswith(".softmax"))
    small, large = drawn(softmax), {"input": 100 * drawn(softmax)["input"]}
    for given, made in ((small, False), (large, True)):
        assert ("maximum not subtracted" in [mistake for mistake, *_ in results(softmax, given, "fp32")]) is made
