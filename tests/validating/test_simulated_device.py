"""The simulated device, call by call: what it must show, and what it must leave alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

torch = pytest.importorskip("torch")

from opscan.explaining import case_of  # noqa: E402
from opscan.validating.comparing import compare  # noqa: E402
from opscan.validating.devices import CPU, open_device  # noqa: E402
from opscan.validating.drawing import draw_inputs, index_bounds  # noqa: E402
from opscan.validating.running import Call, Refused, calls_of, run  # noqa: E402

ROWS = yaml.safe_load((Path(__file__).parent / "simulated_calls.yaml").read_text(encoding="utf-8"))
RUNS = 3


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def _on_cpu(call: Call, seed: int):
    for below in index_bounds(call.binding, call.operator.name):
        inputs = draw_inputs(call.binding, call.operator.name, seed, below)
        try:
            return inputs, run(call, inputs, ((-5.0, 5.0), seed + 99), CPU)
        except Refused as problem:
            last = problem
    raise last


@pytest.mark.parametrize(("text", "differs", "agrees"), ROWS, ids=[row[0].strip() for row in ROWS])
def test_call(text: str, differs: list[str], agrees: list[str]) -> None:
    operator, *inputs = text.split()
    call, *_ = calls_of(case_of(operator, inputs, backward=True))
    simulated = open_device("simulated")
    seen: dict[str, int] = {}
    for seed in range(RUNS):
        drawn, reference = _on_cpu(call, seed)
        answer = run(call, drawn, ((-5.0, 5.0), seed + 99), simulated)
        assert set(answer) == set(reference)
        for name, tensor in reference.items():
            seen[name] = seen.get(name, 0) + compare(tensor, answer[name]).differs
    assert set(differs) | set(agrees) <= set(seen)
    assert {name: seen[name] for name in differs if not seen[name]} == {}
    assert {name: seen[name] for name in agrees if seen[name]} == {}


def test_sums_stay_close() -> None:
    """Another order, not another result."""
    from opscan.validating.simulated import Simulated

    values = torch.randn(300, 40, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for dtype, tolerance in ((torch.float64, 1e-13), (torch.float32, 1e-4), (torch.bfloat16, 1.0)):
        with Simulated():
            total = values.to(dtype).sum(0)
        assert torch.allclose(total.double(), values.to(dtype).double().sum(0), atol=tolerance, rtol=0)


def test_infinite_values_do_not_become_nan() -> None:
    from opscan.validating.simulated import Simulated

    left, right = torch.ones(3, 20), torch.full((20, 2), float("inf"))
    with Simulated():
        product = left @ right
    assert torch.equal(product, left @ right)


def test_running_statistics_are_updated_once() -> None:
    from opscan.validating.simulated import Simulated

    data = torch.randn(8, 3, 10, generator=torch.Generator().manual_seed(1))
    updated = []
    for _ in range(2):
        mean, variance = torch.zeros(3), torch.ones(3)
        if not updated:
            torch.nn.functional.batch_norm(data, mean, variance, training=True)
        else:
            with Simulated():
                torch.nn.functional.batch_norm(data, mean, variance, training=True)
        updated.append((mean, variance))
    assert torch.equal(updated[0][0], updated[1][0])
    assert torch.equal(updated[0][1], updated[1][1])
