"""Correct and wrong kernels of a sum, bit by bit: what standards and the error model are held against.

Written without the package, so that a mistake in the model cannot hide in its trial. Addends have the shape (extent,
outputs) and are float32, already on the grid of their dtype; they are drawn in doubles and then rounded, for a
generator of singles draws from a grid on which short sums are exact. Sums are kept in float32; results are rounded to
the dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Kernel = Callable[[F32], F32]


def rounded(values: F64 | F32, dtype: str) -> F32:
    """The nearest values of a format."""
    if dtype == "fp16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).astype(np.float32)
    single = values.astype(np.float32)
    if dtype == "bf16":
        bits = single.view(np.uint32)
        odd = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
        return np.where(np.isfinite(single), odd.view(np.float32), single)
    return single


@dataclass(frozen=True)
class Drawn:
    """A distribution of addends. `kind`: uniform, normal (one deviation), masked (uniform, half of them zero) or
    product (of two uniform values)."""

    kind: str
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.kind}[{self.low:g},{self.high:g}]"

    def addends(self, rng: np.random.Generator, shape: tuple[int, int], dtype: str) -> F32:
        if self.kind == "normal":
            middle, reach = (self.low + self.high) / 2, (self.high - self.low) / 2
            return rounded(rng.normal(middle, reach, shape), dtype)
        values = rounded(rng.uniform(self.low, self.high, shape), dtype)
        if self.kind == "masked":
            return values * (rng.random(shape, dtype=np.float32) < 0.5)
        if self.kind == "product":
            with np.errstate(over="ignore"):
                return values * rounded(rng.uniform(self.low, self.high, shape), dtype)
        return values


# -- orders ----------------------------------------------------------------------------------------------------------


def in_one_chain(addends: F32) -> F32:
    return np.add.reduce(addends, axis=0, dtype=np.float32)


def in_pairs(addends: F32) -> F32:
    while addends.shape[0] > 1:
        half = addends.shape[0] // 2
        paired = addends[0 : 2 * half : 2] + addends[1 : 2 * half : 2]
        addends = np.concatenate([paired, addends[2 * half :]]) if addends.shape[0] % 2 else paired
    return addends[0]


def in_lanes(count: int, join: Kernel = in_pairs) -> Kernel:
    def add(addends: F32) -> F32:
        extent, outputs = addends.shape
        steps = extent // count
        if not steps:
            return join(addends)
        partial = np.add.reduce(addends[: steps * count].reshape(steps, count, outputs), axis=0, dtype=np.float32)
        rest = addends[steps * count :]
        if rest.shape[0]:
            partial[: rest.shape[0]] += rest
        return join(partial)

    return add


def in_tiles(length: int, join: Kernel) -> Kernel:
    def add(addends: F32) -> F32:
        starts = range(0, addends.shape[0], length)
        return join(np.stack([in_one_chain(addends[i : i + length]) for i in starts]))

    return add


def in_threes(addends: F32) -> F32:
    """A tree that adds three neighbours at a time."""
    while addends.shape[0] > 1:
        whole = addends.shape[0] // 3 * 3
        added = addends[0:whole:3] + addends[1:whole:3] + addends[2:whole:3]
        rest = addends[whole:]
        if not whole:
            return in_one_chain(addends)
        addends = np.concatenate([added, rest]) if rest.shape[0] else added
    return addends[0]


def in_parts(count: int) -> Kernel:
    """So many stretches side by side, whose sums meet in an order that differs from output to output: atomics."""

    def add(addends: F32) -> F32:
        parts = np.stack([in_one_chain(part) for part in np.array_split(addends, min(count, addends.shape[0]))])
        arrival = np.random.default_rng(addends.shape[0]).random(parts.shape).argsort(axis=0)
        return in_one_chain(np.take_along_axis(parts, arrival, axis=0))

    return add


def in_blocks(length: int) -> Kernel:
    """A tree over each block, added to one accumulator, as a matrix unit does."""

    def add(addends: F32) -> F32:
        return in_one_chain(np.stack([in_pairs(addends[i : i + length]) for i in range(0, addends.shape[0], length)]))

    return add


def from_both_ends(addends: F32) -> F32:
    """Folds the second half onto the first, as a reduction in shared memory does."""
    while addends.shape[0] > 1:
        half = (addends.shape[0] + 1) // 2
        folded = addends[:half].copy()
        folded[: addends.shape[0] - half] += addends[half:]
        addends = folded
    return addends[0]


def permuted(addends: F32) -> F32:
    order = np.random.default_rng(addends.shape[0]).permutation(addends.shape[0])
    return in_one_chain(addends[order])


def framework(addends: F32, width: int = 0) -> F32:
    """PyTorch's sum on a CPU: along contiguous addends four vectors of a `width` side by side, else (0) none.

    Four levels, of which each adds up a chain of the one below before it passes it on.
    """
    extent, outputs = addends.shape
    rows = 4 * width or 1
    steps = extent // rows
    length = 1 << max(4, max(steps - 1, 0).bit_length() // 4)
    levels = np.zeros((4, rows, outputs), np.float32)
    for step, row in enumerate(addends[: steps * rows].reshape(steps, rows, outputs), 1):
        levels[0] += row
        for level in range(3):
            if step % length ** (level + 1):
                break
            levels[level + 1] += levels[level]
            levels[level] = 0
    vectors = in_one_chain(in_one_chain(levels).reshape(4 if width else 1, -1, outputs))
    return in_one_chain(np.concatenate([vectors, addends[steps * rows :]]))


def contracted(left: F32, right: F32) -> F32:
    """The widest sum of products that a library may make: one chain, each multiplication fused with the addition."""
    total = np.zeros(left.shape[1], np.float32)
    for one, other in zip(left.astype(np.float64), right, strict=True):
        total = (total + one * other).astype(np.float32)
    return total


def exact(addends: F32 | F64) -> F32:
    """Float64, rounded back."""
    return addends.astype(np.float64).sum(axis=0).astype(np.float32)


CALIBRATED: dict[str, Kernel] = {
    "pairs": in_pairs,
    "chain": in_one_chain,
    "8 lanes": in_lanes(8),
    "64 lanes": in_lanes(64),
    "tiles of 4096, chained": in_tiles(4096, in_one_chain),
}
"""Orders that the constants of the error model were measured on."""

HELD_OUT: dict[str, Kernel] = {
    "chain, permuted": permuted,
    "chain, reversed": lambda addends: in_one_chain(addends[::-1]),
    "24 lanes": in_lanes(24),
    "96 lanes, chained": in_lanes(96, in_one_chain),
    "256 lanes": in_lanes(256),
    "tiles of 100, tree": in_tiles(100, in_pairs),
    "tiles of 256, chained": in_tiles(256, in_one_chain),
    "tiles of 3000, chained": in_tiles(3000, in_one_chain),
    "32 parts, as they come": in_parts(32),
    "blocks of 16, chained": in_blocks(16),
    "threes": in_threes,
    "folded": from_both_ends,
    "PyTorch": framework,
}
"""Orders that were never used to choose a constant."""

LONGEST_CHAIN = 4096


def orders(extent: int) -> dict[str, Kernel]:
    """The correct kernels that are legitimate for an extent: a single chain only up to 4,096 addends."""
    return {
        name: kernel
        for name, kernel in (CALIBRATED | HELD_OUT).items()
        if extent <= LONGEST_CHAIN or not name.startswith("chain")
    }


# -- wrong kernels ---------------------------------------------------------------------------------------------------


def _tile(extent: int) -> int:
    return max(1, extent // 8)


def native(dtype: str) -> Kernel:
    """A chain whose accumulator has a shorter format."""

    def add(addends: F32) -> F32:
        total = rounded(addends[0], dtype)
        for row in addends[1:]:
            total = rounded(total + row, dtype)
        return total

    return add


def _without(addends: F32, rows: slice, columns: slice = slice(None)) -> F32:
    kept = addends.copy()
    kept[rows, columns] = 0
    return in_lanes(64)(kept)


def _inverted_at_one(addends: F32) -> F32:
    """The largest addend of the first column goes missing, as if its mask were inverted."""
    largest = int(np.argmax(np.abs(addends[:, 0])))
    return _without(addends, slice(largest, largest + 1), slice(0, 1))


def _three_columns(addends: F32) -> F32:
    kept = addends.copy()
    for column in (0, addends.shape[1] // 2, addends.shape[1] - 1):
        kept[int(np.argmax(np.abs(addends[:, column]))), column] = 0
    return in_lanes(64)(kept)


def _shifted_slice(addends: F32) -> F32:
    """Each column reads one addend of its neighbour in place of its own first."""
    moved = addends.copy()
    moved[0] = np.roll(addends[0], 1)
    return in_lanes(64)(moved)


def _stale(addends: F32) -> F32:
    """The last tile of outputs still holds what the tile before it left there."""
    result = in_lanes(64)(addends)
    left = max(1, result.size // 16)
    result[-left:] = result[-2 * left : -left]
    return result


def _unwritten(addends: F32) -> F32:
    result = in_lanes(64)(addends)
    result[-max(1, result.size // 16) :] = 0
    return result


def _with(place: float) -> Kernel:
    def add(addends: F32) -> F32:
        result = in_lanes(64)(addends)
        result[result.size // 2] = place
        return result

    return add


def _scaled(factor: float) -> Kernel:
    return lambda addends: (in_lanes(64)(addends).astype(np.float64) * factor).astype(np.float32)


def _negated_addend(addends: F32) -> F32:
    changed = addends.copy()
    changed[-1] = -changed[-1]
    return in_lanes(64)(changed)


def _doubled_tile(addends: F32) -> F32:
    return in_lanes(64)(np.concatenate([addends, addends[-_tile(addends.shape[0]) :]]))


WRONG: dict[str, Kernel] = {
    "last tile of addends dropped": lambda x: _without(x, slice(-_tile(x.shape[0]), None)),
    "last addend dropped": lambda x: _without(x, slice(-1, None)),
    "off-by-one slice": _shifted_slice,
    "mask inverted at one element": _inverted_at_one,
    "addend missing in three columns": _three_columns,
    "last tile of addends added twice": _doubled_tile,
    "one addend negated": _negated_addend,
    "broadcast axis summed twice": _scaled(2.0),
    "bf16 accumulator": native("bf16"),
    "fp16 accumulator": native("fp16"),
    "bf16 intermediate": lambda x: in_lanes(64)(rounded(x, "bf16")),
    "result through bf16": lambda x: rounded(in_lanes(64)(x), "bf16"),
    "stale tile of outputs": _stale,
    "last tile of outputs unwritten": _unwritten,
    "zeros": lambda x: np.zeros(x.shape[1], np.float32),
    "columns shifted by one": lambda x: np.roll(in_lanes(64)(x), 1),
    "sign flipped": _scaled(-1.0),
    "relative error 1e-3": _scaled(1 + 1e-3),
    "relative error 1e-5": _scaled(1 + 1e-5),
    "NaN where the golden is finite": _with(math.nan),
    "Inf where the golden is finite": _with(math.inf),
}
"""Kernels with one mistake each; what they return is rounded to the dtype like any other result."""
