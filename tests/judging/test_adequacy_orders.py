"""A small run of benchmarks/adequacy.py: each order by its fans, and the orders that no constant was measured on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opscan.judging.orders import cascade, chain, lanes, nodes_of, tiles, tree, worst

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def cells() -> list[Any]:
    pytest.importorskip("scipy")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import adequacy

        rng = np.random.default_rng(99)
        spread = adequacy.Drawn("uniform", -5, 5)
        pools = [adequacy.draw("fp32", spread, extent, count, rng) for extent, count in ((64, 40_000), (1024, 6_000))]
        return [cell for pool in pools for cell in adequacy.scored(pool)]


def test_each_order_has_its_own_prediction(cells: list[Any]) -> None:
    held_out = [cell for cell in cells if cell.held_out]
    assert len(held_out) > 150
    far = [str(cell) for cell in held_out if cell.off > 3]
    assert len(far) <= len(held_out) // 20, "\n".join(far)


def test_the_worst_order_bounds_the_others(cells: list[Any]) -> None:
    low = [str(cell) for cell in cells if cell.order == "worst" and cell.predicted < cell.emulated / 3]
    assert not low, "\n".join(low)


@pytest.mark.parametrize("extent", [64, 100, 4096, 5000, 65536, 10**6])
def test_the_worst_order_is_the_worst(extent: int) -> None:
    legitimate = [tree(extent), tree(extent, 3), cascade(extent), tiles(extent, 128), tiles(extent, 128, by="tree")]
    legitimate += [lanes(extent, count) for count in (16, 64, 256) if extent / count <= 8192]
    legitimate += [chain(extent)] if extent <= 4096 else []
    bound = max((nodes_of(fans, extent) for fans in worst(extent)), key=lambda nodes: nodes.spread)
    for fans in legitimate:
        assert nodes_of(fans, extent).spread <= 1.01 * bound.spread


def test_node_sums_are_those_of_the_nodes() -> None:
    """One chain and one tree, node by node; the last node is the result."""
    n = 64
    held = range(2, n)
    assert nodes_of(chain(n), n).spread == pytest.approx(sum(m * (1 - m / n) for m in held))
    assert nodes_of(chain(n), n).growth == pytest.approx(sum(m * m for m in held))
    levels = [2**level for level in range(1, 6)]
    assert nodes_of(tree(n), n).spread == pytest.approx(sum(n / m * m * (1 - m / n) for m in levels))
    assert nodes_of(tree(n), n).growth == pytest.approx(sum(n / m * m * m for m in levels))
