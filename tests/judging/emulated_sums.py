"""Sums of random addends in several legitimate orders, bit by bit: what the error model is held against.

Written without the package, so that a mistake in the model cannot hide in its test. Addends are drawn in doubles
and then rounded: a generator of singles draws from a grid on which short sums are exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.kernels import in_one_chain, in_pairs

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]


def rounded(values: F64 | F32, dtype: str) -> F64:
    """The nearest values of a format, as doubles."""
    if dtype == "fp16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).astype(np.float64)
    single = values.astype(np.float32)
    if dtype == "bf16":
        bits = single.view(np.uint32)
        single = ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
    return single.astype(np.float64)


def drawn(rng: np.random.Generator, shape: tuple[int, int], span: tuple[float, float], dtype: str) -> F32:
    """Addends of the shape (extent, outputs), uniform in the span."""
    return rounded(rng.uniform(*span, shape), dtype).astype(np.float32)


def in_lanes(addends: F32, lanes: int) -> F32:
    extent, outputs = addends.shape
    steps = extent // lanes
    partial = np.add.reduce(addends[: steps * lanes].reshape(steps, lanes, outputs), axis=0, dtype=np.float32)
    return in_pairs(np.concatenate([partial, addends[steps * lanes :]]))


def in_tiles(addends: F32, tile: int) -> F32:
    starts = range(0, addends.shape[0], tile)
    return in_one_chain(np.stack([in_one_chain(addends[i : i + tile]) for i in starts]))


def kernels(addends: F32, rng: np.random.Generator) -> dict[str, F32]:
    """The same sums by every order of addition that a correct kernel may take."""
    extent = addends.shape[0]
    found = {"pairs": in_pairs(addends)}
    found["chain" if extent <= 4096 else "tiles"] = in_tiles(addends, 4096)
    for lanes in (8, 64, 256):
        if extent >= 4 * lanes:
            found[f"{lanes} lanes"] = in_lanes(addends, lanes)
    if extent <= 16:
        found["permuted"] = in_one_chain(addends[rng.permutation(extent)])
    return found


def pairs_of_results(addends: F32, dtype: str, rng: np.random.Generator) -> list[tuple[str, F64, F64]]:
    """(order / golden, output, golden) for every kernel against a tree and against a correctly rounded golden."""
    outputs = {name: rounded(value, dtype) for name, value in kernels(addends, rng).items()}
    goldens = {"pairs": outputs["pairs"], "exact": rounded(addends.astype(np.float64).sum(axis=0), dtype)}
    return [(f"{k}/{g}", outputs[k], goldens[g]) for k in outputs for g in goldens if k != g]
