"""How the golden adds: what is assumed covers every CPU, whatever its vectors, its threads and its libraries.

PyTorch on this machine may only be narrower than predicted; what agrees within a factor is emulated, one addition after
the other.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from emulated_sums import F32, F64, drawn, in_lanes, in_tiles, rounded

from benchmarks.kernels import framework, in_one_chain, in_pairs
from opscan.judging.drift_parameters import drift_parameters
from opscan.judging.error_model import Addends, drift
from opscan.judging.floating import FORMATS
from opscan.judging.orders import chain, lanes, tiles, tree
from opscan.judging.settings import Judge
from opscan.model import Case, CaseInput, NumericClass, Step, TensorClass

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")
OUTPUTS = 256
SLACK = 1.5
"""What 256 outputs may measure above the prediction by chance."""
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
    ("framework", "bf16", lambda x: x.sum(0)),
    ("chain", "fp32", split),
    ("chain", "fp32", lambda x: zeros(x).index_add(0, nowhere(x), x)),
    ("chain", "fp32", lambda x: zeros(x).scatter_add(0, nowhere(x)[:, None].expand_as(x), x)),
    ("chain", "bf16", lambda x: zeros(x).scatter_add(0, nowhere(x)[:, None].expand_as(x), x)),
    ("chain", "fp32", lambda x: zeros(x).index_put((nowhere(x),), x, accumulate=True)),
    ("native", "fp16", lambda x: zeros(x).index_put((nowhere(x),), x, accumulate=True)),
    ("native", "bf16", lambda x: zeros(x).index_put((nowhere(x),), x, accumulate=True)),
    ("native", "bf16", lambda x: torch.ops.aten.embedding_dense_backward(x, nowhere(x), 1, -1, False)),
    ("native", "bf16", lambda x: zeros(x)[None].index_add(1, nowhere(x), x[None])),
    ("native", "fp16", lambda x: zeros(x).T.contiguous()[:, :, None].index_add(1, nowhere(x), x.T[:, :, None])),
]


@pytest.mark.parametrize(("golden", "dtype", "add"), SUMS)
@pytest.mark.parametrize("extent", [64, 1024])
def test_no_sum_of_this_machine_strays_farther(golden: str, dtype: str, add: Callable[[Any], Any], extent: int) -> None:
    rng = np.random.default_rng(extent)
    drawn = torch.from_numpy(rng.uniform(-1, 1, (extent, OUTPUTS)))
    x = drawn.to({"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[dtype])
    error = (add(x).double().reshape(-1) - x.double().sum(0)).square().mean().sqrt().item()
    assert error < SLACK * predicted(golden, dtype, extent)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 16), (4, 4), (16, 16), (64, 64)])
@pytest.mark.parametrize("extent", [64, 1024, 4096])
def test_no_contraction_of_this_machine_strays_farther(rows: int, columns: int, extent: int) -> None:
    """Whatever library multiplies: it can add in no way whose error is much above that of one chain."""
    rng = np.random.default_rng(extent)
    batch = OUTPUTS // (rows * columns) or 1
    left, right = (torch.from_numpy(rng.uniform(-1, 1, shape)).float() for shape in
                   ((batch, rows, extent), (batch, extent, columns)))  # fmt: skip
    error = (torch.bmm(left, right).double() - torch.bmm(left.double(), right.double())).square().mean().sqrt().item()
    assert error < SLACK * predicted("chain", "fp32", extent, products=True)


def fused(left: F32, right: F32) -> F32:
    """One chain that rounds once per step: a product of singles is exact in a double."""
    total = np.zeros(left.shape[1], np.float32)
    for one, other in zip(left.astype(np.float64), right, strict=True):
        total = (total + one * other).astype(np.float32)
    return total


def tiled(length: int) -> tuple[Callable[[F32, F32], F32], Callable[[int], tuple[float, ...]]]:
    return lambda left, right: in_tiles(left * right, length), lambda n: tiles(n, length)


ORDERS: dict[str, tuple[Callable[[F32, F32], F32], Callable[[int], tuple[float, ...]]]] = {
    "one chain": (lambda left, right: in_one_chain(left * right), chain),
    "one fused chain": (fused, chain),
    "pairs": (lambda left, right: in_pairs(left * right), tree),
    "16 lanes": (lambda left, right: in_lanes(left * right, 16), lambda n: lanes(n, 16)),
    **{f"blocks of {length}": tiled(length) for length in (16, 240, 384, 1000)},
    "among 6 threads": (lambda left, right: in_tiles(left * right, -(-len(left) // 6)), lambda n: tiles(n, -(-n // 6))),
}
"""What libraries for matrices do, on one machine or another, with the fans of each (opscan/judging/orders.py)."""


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("extent", [64, 1024, 4096])
def test_every_order_of_a_contraction_is_covered(order: str, extent: int) -> None:
    contract, fans = ORDERS[order]
    rng = np.random.default_rng(extent)
    left, right = (rng.uniform(-1, 1, (extent, OUTPUTS)).astype(np.float32) for _ in range(2))
    error = deviation(contract(left, right), np.einsum("ij,ij->j", left, right, dtype=np.float64))
    assert 0.6 < error / predicted("exact", "fp32", extent, products=True, kernel=fans(extent)) < 1.6
    assert error < 1.2 * predicted("chain", "fp32", extent, products=True)


@pytest.mark.parametrize("width", [0, 1, 4, 8, 16])
@pytest.mark.parametrize("extent", [16, 64, 1024, 5000, 20_000])
def test_a_cascade_of_any_vectors_is_covered(width: int, extent: int) -> None:
    rng = np.random.default_rng(extent)
    x = rng.uniform(-1, 1, (extent, OUTPUTS)).astype(np.float32)
    error = deviation(framework(x, width), x.sum(0, dtype=np.float64))
    assert (0.4 if width else 0.7) < error / predicted("framework", "fp32", extent) < SLACK


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("extent", [64, 1024])
def test_a_short_accumulator_is_covered(dtype: str, extent: int) -> None:
    x = drawn(np.random.default_rng(extent), (extent, OUTPUTS), (-1, 1), dtype)
    total = np.zeros(OUTPUTS)
    for row in x:
        total = rounded((total + row).astype(np.float32), dtype)
    assert 0.6 < deviation(total, x.sum(0, dtype=np.float64)) / predicted("native", dtype, extent) < 1.6


def deviation(found: F32 | F64, true: F64) -> float:
    return float(np.sqrt(np.square(found.astype(np.float64) - true).mean()))


def predicted(
    golden: str, dtype: str, extent: int, *, products: bool = False, kernel: tuple[float, ...] = (1.0,)
) -> float:
    """Root mean square error of one side alone: of the golden, or of the `kernel` where the golden is exact."""
    alone = drift(dtype, extent, Addends(-1, 1, products=products, kernel=kernel, golden=golden))
    typical = alone.deviation
    last = math.sqrt(0.18) * FORMATS[dtype].roundoff * typical if golden != "native" and dtype != "fp32" else 0.0
    return math.hypot(math.sqrt(alone.alpha + alone.beta * typical * typical), last)


def summed(
    op: str,
    dtype: str = "fp32",
    shape: tuple[int, ...] = (8,),
    cause: str = "",
    *,
    own: bool = True,
    axes: Sequence[int] | None = None,
) -> str:
    step = Step(f"aten.{op}.default", "backward", NumericClass.ACCUMULATED, 512)
    tensor = TensorClass(
        "grad:x", "gradient", dtype, shape, NumericClass.ACCUMULATED, cause=cause or None, extent=512, path=(step,)
    )
    given = CaseInput("x", "tensor", dtype, (4, 8, 64), [-1, 1])
    named = [CaseInput("dim", "attr", "int", values=axes)] if axes else []
    found = drift_parameters(tensor, Case(0, 0, "torch.x", (given, *named)), JUDGE, own=own)
    assert found is not None
    return found.golden


def test_a_load_says_how_its_golden_adds() -> None:
    assert summed("sum") == "framework"
    assert summed("index_add", cause="scatter") == "chain"
    assert [summed("_index_put_impl_", dtype, cause="scatter") for dtype in ("fp32", "bf16")] == ["chain", "native"]
    assert summed("put", "fp16", cause="scatter") == "native"
    assert summed("_index_put_impl_", "bf16", cause="scatter", own=False) == "chain"
    assert [summed("index_add", dtype, cause="scatter") for dtype in ("fp16", "bf16")] == ["native", "native"]
    assert [summed(op) for op in ("mm", "_softmax", "linalg_vector_norm", "cumsum", "add")] == ["chain"] * 5
    assert summed("sum", shape=(1, 8, 1), cause="broadcast") == "chain"
    assert summed("sum", shape=(1, 8, 64), cause="broadcast") == "framework"
    assert [summed("sum", axes=axes) for axes in ([0, 2], [-1, 0], [1, 2])] == ["chain", "chain", "framework"]


def test_a_chain_without_an_accumulator_stalls() -> None:
    """One-signed addends no longer change a bf16 sum of 256 of them: no tolerance can be right then."""
    grown = [drift("bf16", extent, Addends(0, 1, golden="native")) for extent in (64, 4096)]
    assert grown[0].scale(32) < 0.1 * 32
    assert grown[1].scale(2048) > 0.4 * 2048
