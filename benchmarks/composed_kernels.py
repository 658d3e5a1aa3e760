"""Correct and wrong kernels of composed operators: the bank of `kernels.py` for what is more than one sum.

Each operator is computed in float32 with a sum in some order, and with one of its own mistakes. Inputs lie on the grid
of their dtype; results are rounded to it once. The last axis is the one that is summed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from kernels import F32, Kernel, exact, framework, in_lanes, in_one_chain, in_pairs, permuted, rounded

Sum = Callable[[F32], F32]
"""Over the last axis, which stays with one element."""
Operator = Callable[[Mapping[str, F32], Sum, str], F32]
_EPSILON = np.float32(1e-5)
_erf = np.vectorize(math.erf, otypes=[np.float64])


def over_rows(kernel: Kernel) -> Sum:
    def total(x: F32) -> F32:
        flat = np.ascontiguousarray(x.reshape(-1, x.shape[-1]).T)
        return kernel(flat).reshape(*x.shape[:-1], 1)

    return total


ORDERS: dict[str, Sum] = {
    name: over_rows(kernel)
    for name, kernel in {
        "chain": in_one_chain,
        "pairs": in_pairs,
        "64 lanes": in_lanes(64),
        "permuted": permuted,
        "exact": exact,
    }.items()
}
GOLDEN = over_rows(framework)


def _tile_dropped(x: F32) -> F32:
    kept = x.copy()
    kept[..., -max(1, x.shape[-1] // 8) :] = 0
    return kept


def _stale(statistic: F32) -> F32:
    """The last sixteenth of the rows uses what belongs to the first ones."""
    kept = statistic.copy()
    rows = kept.reshape(-1, kept.shape[-1])
    left = max(1, rows.shape[0] // 16)
    rows[-left:] = rows[:left]
    return kept


def softmax(given: Mapping[str, F32], total: Sum, wrong: str) -> F32:
    x = given["input"]
    top = np.float32(0) if wrong == "maximum not subtracted" else x.max(-1, keepdims=True)
    powers = np.exp(x - (_stale(top) if wrong == "stale maximum" else top))
    powers = rounded(powers, "bf16") if wrong == "bf16 intermediate" else powers
    below = total(_tile_dropped(powers) if wrong == "tile dropped in the sum" else powers)
    return powers / (rounded(below, "bf16") if wrong == "sum kept in bf16" else below)


def log_softmax(given: Mapping[str, F32], total: Sum, wrong: str) -> F32:
    x = given["input"]
    moved = x - x.max(-1, keepdims=True)
    powers = np.exp(moved)
    below = total(_tile_dropped(powers) if wrong == "tile dropped in the sum" else powers)
    if wrong == "sum kept in bf16":
        below = rounded(below, "bf16")
    return moved if wrong == "logarithm left out" else moved - np.log(below)


def layer_norm(given: Mapping[str, F32], total: Sum, wrong: str) -> F32:
    x, count = given["input"], np.float32(given["input"].shape[-1])
    mean = total(_tile_dropped(x) if wrong == "tile dropped in the mean" else x) / count
    mean = _stale(mean) if wrong == "stale mean" else mean
    apart = x - mean
    apart = rounded(apart, "bf16") if wrong == "bf16 intermediate" else apart
    squares = total(_tile_dropped(apart * apart) if wrong == "tile dropped in the variance" else apart * apart)
    variance = squares / (count - 1 if wrong == "variance by n - 1" else count)
    epsilon = {"epsilon left out": np.float32(0), "epsilon of 1e-3": np.float32(1e-3)}.get(wrong, _EPSILON)
    normal = apart / np.sqrt(variance + epsilon)
    return normal * given["weight"] + (np.float32(0) if wrong == "bias left out" else given["bias"])


def rms_norm(given: Mapping[str, F32], total: Sum, wrong: str) -> F32:
    x, count = given["input"], np.float32(given["input"].shape[-1])
    squares = total(_tile_dropped(x * x) if wrong == "tile dropped in the mean" else x * x)
    mean = squares / (count - 1 if wrong == "mean by n - 1" else count)
    root = np.sqrt(mean + (np.float32(0) if wrong == "epsilon left out" else _EPSILON))
    return x / (_stale(root) if wrong == "stale root" else root) * given["weight"]


def gelu(given: Mapping[str, F32], total: Sum, wrong: str) -> F32:
    x = given["input"]
    del total
    if wrong == "tanh in place of erf":
        return (
            np.float32(0.5) * x * (1 + np.tanh(np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x**3)))
        )
    if wrong == "cube left out":
        return np.float32(0.5) * x * (1 + np.tanh(np.float32(math.sqrt(2 / math.pi)) * x))
    factor = _erf(x / np.float32(math.sqrt(2))).astype(np.float32)
    if wrong == "bf16 intermediate":
        factor = rounded(factor, "bf16")
    return np.float32(1.0 if wrong == "half left out" else 0.5) * x * (1 + factor)


def mse_loss(given: Mapping[str, F32], total: Sum, wrong: str) -> F32:
    apart = (given["input"] - given["target"]).reshape(1, -1)
    squares = apart * apart
    squares = rounded(squares, "bf16") if wrong == "bf16 intermediate" else squares
    summed = total(_tile_dropped(squares) if wrong == "tile dropped in the sum" else squares)
    count = squares.size - (1 if wrong == "mean by n - 1" else 0)
    return summed / np.float32(count)


def entropy_of_logits(given: Mapping[str, F32], total: Sum, wrong: str) -> F32:
    x, target = given["input"], given["target"]
    soft = np.log1p(np.exp(-np.abs(x)))
    soft = np.zeros_like(soft) if wrong == "logarithm left out" else soft
    soft = rounded(soft, "bf16") if wrong == "bf16 intermediate" else soft
    each = (np.maximum(x, 0) - x * target + soft).reshape(1, -1)
    summed = total(_tile_dropped(each) if wrong == "tile dropped in the sum" else each)
    return summed / np.float32(each.size - (1 if wrong == "mean by n - 1" else 0))


def attention(given: Mapping[str, F32], total: Sum, wrong: str) -> F32:
    query, key, value = given["query"], given["key"], given["value"]
    scores = total(query[:, :, :, None, :] * key[:, :, None, :, :])[..., 0]
    scale = np.float32(1.0 if wrong == "scale left out" else 1 / math.sqrt(query.shape[-1]))
    scores = rounded(scores * scale, "bf16") if wrong == "bf16 intermediate" else scores * scale
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    below = total(_tile_dropped(powers) if wrong == "tile dropped in the sum" else powers)
    weights = powers / below
    weights = _tile_dropped(weights) if wrong == "tile of keys dropped" else weights
    return total(weights[..., None, :] * np.swapaxes(value, -1, -2)[:, :, None, :, :])[..., 0]


@dataclass(frozen=True)
class Composed:
    """`inputs`: name and shape; `attributes` of the call; `mistakes` that the operator knows."""

    name: str
    compute: Operator
    inputs: Mapping[str, tuple[int, ...]]
    attributes: Mapping[str, Any]
    mistakes: tuple[str, ...]


_ROWS = {"input": (64, 256)}
_PAIR = {"input": (64, 64), "target": (64, 64)}
_AFFINE = {"input": (64, 256), "weight": (256,), "bias": (256,)}
_HEADS = dict.fromkeys(("query", "key", "value"), (2, 2, 16, 16))
_SUMMED = ("tile dropped in the sum", "bf16 intermediate", "mean by n - 1")
OPERATORS = (
    Composed("torch.nn.functional.softmax", softmax, _ROWS, {"dim": -1},
             ("maximum not subtracted", "stale maximum", "bf16 intermediate", "tile dropped in the sum",
              "sum kept in bf16")),
    Composed("torch.nn.functional.log_softmax", log_softmax, _ROWS, {"dim": -1},
             ("tile dropped in the sum", "sum kept in bf16", "logarithm left out")),
    Composed("torch.nn.functional.layer_norm", layer_norm, _AFFINE, {"normalized_shape": (256,)},
             ("tile dropped in the mean", "stale mean", "bf16 intermediate", "tile dropped in the variance",
              "variance by n - 1", "epsilon left out", "epsilon of 1e-3", "bias left out")),
    Composed("torch.nn.functional.rms_norm", rms_norm, {"input": (64, 256), "weight": (256,)},
             {"normalized_shape": (256,), "eps": 1e-5},
             ("tile dropped in the mean", "mean by n - 1", "epsilon left out", "stale root")),
    Composed("torch.nn.functional.gelu", gelu, _ROWS, {},
             ("tanh in place of erf", "cube left out", "bf16 intermediate", "half left out")),
    Composed("torch.nn.functional.mse_loss", mse_loss, _PAIR, {}, _SUMMED),
    Composed("torch.nn.functional.binary_cross_entropy_with_logits", entropy_of_logits, _PAIR, {},
             (*_SUMMED, "logarithm left out")),
    Composed("torch.nn.functional.scaled_dot_product_attention", attention, _HEADS, {},
             ("scale left out", "bf16 intermediate", "tile dropped in the sum", "tile of keys dropped")),
)  # fmt: skip


def results(operator: Composed, given: Mapping[str, F32], dtype: str) -> Iterator[tuple[str | None, F32, F32, F32]]:
    """(mistake or None, output, golden, benchmark); a wrong kernel whose error lies within that of the correct ones in
    no element beyond them is left out: at these values it is right."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        golden = rounded(operator.compute(given, GOLDEN, ""), dtype)
        correct = [rounded(operator.compute(given, total, ""), dtype) for total in ORDERS.values()]
        for output in correct:
            yield None, output, golden, correct[2]
        widest = np.max([np.abs(output - golden) for output in correct], axis=0).max()
        made = {mistake: operator.compute(given, ORDERS["64 lanes"], mistake) for mistake in operator.mistakes}
        made |= {name: change(rounded(correct[2], dtype)) for name, change in _ANY.items()}
        for mistake, output in made.items():
            wrong = rounded(output, dtype)
            if not np.abs(wrong - golden).max() <= widest:
                yield mistake, wrong, golden, correct[2]


def _last_rows(result: F32, value: Callable[[F32, int], F32 | float]) -> F32:
    changed = result.reshape(-1).copy()
    left = max(1, changed.size // 16)
    changed[-left:] = value(changed, left)
    return changed.reshape(result.shape)


_ANY: dict[str, Callable[[F32], F32]] = {
    "stale tile of outputs": lambda y: _last_rows(y, lambda flat, left: flat[:left].copy()),
    "last tile of outputs unwritten": lambda y: _last_rows(y, lambda *_: 0.0),
    "result through bf16": lambda y: rounded(y, "bf16"),
    "relative error 1e-3": lambda y: (y.astype(np.float64) * 1.001).astype(np.float32),
    "zeros": np.zeros_like,
}
"""Mistakes that any operator can have."""
