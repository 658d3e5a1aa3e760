"""How the golden adds: the orders that loads assume are those of PyTorch on a CPU, short accumulators included."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opscan.judging.error_model import Addends, drift
from opscan.judging.floating import FORMATS
from opscan.judging.loads import load_of
from opscan.judging.settings import Judge
from opscan.model import Case, CaseInput, NumericClass, Step, TensorClass

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")
OUTPUTS = 256
JUDGE = Judge("26.8.8", (-1.0, 1.0), 0.01)


def zeros(x: Any) -> Any:
    return torch.zeros(1, x.shape[1], dtype=x.dtype)


def nowhere(x: Any) -> Any:
    return torch.zeros(len(x), dtype=torch.long)


def split(x: Any) -> Any:
    return x.reshape(len(x) // 4, 4, -1).permute(0, 2, 1).contiguous().sum((0, 2))


SUMS: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("framework", "fp32", lambda x: x.sum(0)),
    ("framework", "fp32", lambda x: x.T.contiguous().sum(1)),
    ("chain", "fp32", split),
    ("chain", "fp32", lambda x: zeros(x).index_add(0, nowhere(x), x)),
    ("chain", "fp32", lambda x: zeros(x).scatter_add(0, nowhere(x)[:, None].expand_as(x), x)),
    ("chain", "fp32", lambda x: zeros(x).index_put((nowhere(x),), x, accumulate=True)),
    ("native", "fp16", lambda x: zeros(x).index_put((nowhere(x),), x, accumulate=True)),
    ("native", "bf16", lambda x: zeros(x).index_put((nowhere(x),), x, accumulate=True)),
    ("native", "bf16", lambda x: torch.ops.aten.embedding_dense_backward(x, nowhere(x), 1, -1, False)),
    ("chain", "bf16", lambda x: zeros(x).index_add(0, nowhere(x), x)),
]


@pytest.mark.parametrize(("golden", "dtype", "add"), SUMS)
@pytest.mark.parametrize("extent", [64, 1024])
def test_the_golden_of_a_sum(golden: str, dtype: str, add: Callable[[Any], Any], extent: int) -> None:
    rng = np.random.default_rng(extent)
    drawn = torch.from_numpy(rng.uniform(-1, 1, (extent, OUTPUTS)))
    x = drawn.to({"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[dtype])
    error = (add(x).double().reshape(-1) - x.double().sum(0)).square().mean().sqrt().item()
    assert 0.4 < error / predicted(golden, dtype, extent) < 1.7


@pytest.mark.parametrize(
    ("golden", "rows", "columns", "extent"),
    [("chain", 1, 1, 4096), ("chain", 1, 16, 4096), ("blocks", 4, 4, 4096), ("blocks", 16, 16, 1024)],
)
def test_the_golden_of_a_contraction(golden: str, rows: int, columns: int, extent: int) -> None:
    if "INTEL_MKL" not in torch.__config__.show().upper().replace(" ", "_") and not torch.backends.mkl.is_available():
        pytest.skip("another library for matrices may add in another order")
    rng = np.random.default_rng(extent)
    batch = OUTPUTS // (rows * columns) or 1
    left, right = (torch.from_numpy(rng.uniform(-1, 1, shape)).float() for shape in
                   ((batch, rows, extent), (batch, extent, columns)))  # fmt: skip
    error = (torch.bmm(left, right).double() - torch.bmm(left.double(), right.double())).square().mean().sqrt().item()
    assert 0.5 < error / predicted(golden, "fp32", extent, products=True) < 2


def predicted(golden: str, dtype: str, extent: int, *, products: bool = False) -> float:
    """Root mean square error of the golden alone: the model without a kernel that rounds, its last rounding added."""
    alone = drift(dtype, extent, Addends(-1, 1, products=products, kernel=(1.0,), golden=golden))
    typical = alone.deviation
    last = math.sqrt(0.18) * FORMATS[dtype].roundoff * typical if golden != "native" and dtype != "fp32" else 0.0
    return math.hypot(math.sqrt(alone.alpha + alone.beta * typical * typical), last)


def summed(op: str, dtype: str = "fp32", shape: tuple[int, ...] = (8,), cause: str = "", *, own: bool = True) -> str:
    step = Step(f"aten.{op}.default", "backward", NumericClass.ACCUMULATED, 512)
    tensor = TensorClass(
        "grad:x", "gradient", dtype, shape, NumericClass.ACCUMULATED, cause=cause or None, extent=512, path=(step,)
    )
    given = CaseInput("x", "tensor", dtype, (4, 8, 64), [-1, 1])
    found = load_of(tensor, Case(0, 0, "torch.x", (given,)), JUDGE, own=own)
    assert found is not None
    return found.golden


def test_a_load_says_how_its_golden_adds() -> None:
    assert summed("sum") == "framework"
    assert summed("index_add", cause="scatter") == "chain"
    assert [summed("_index_put_impl_", dtype, cause="scatter") for dtype in ("fp32", "bf16")] == ["chain", "native"]
    assert summed("put", "fp16", cause="scatter") == "native"
    assert summed("_index_put_impl_", "bf16", cause="scatter", own=False) == "chain"
    assert summed("mm", shape=(8, 8)) == "blocks"
    assert summed("mm", shape=(1, 8)) == "chain"
    assert summed("sum", shape=(1, 8, 1), cause="broadcast") == "chain"
    assert summed("sum", shape=(1, 8, 64), cause="broadcast") == "framework"


def test_a_chain_without_an_accumulator_stalls() -> None:
    """One-signed addends no longer change a bf16 sum of 256 of them: no tolerance can be right then."""
    grown = [drift("bf16", extent, Addends(0, 1, golden="native")) for extent in (64, 4096)]
    assert grown[0].scale(32) < 0.1 * 32
    assert grown[1].scale(2048) > 0.4 * 2048
