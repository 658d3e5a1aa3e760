"""How often emulated devices fail a standard, counted over draws of the inputs.

There are several correct devices: each order of addition, and for short formats one that keeps float32 throughout and
rounds once at the end beside one that rounds where the framework does. A rate is that of the one that fails most.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from opscan.emulating.device import ORDERS, Emulated
from opscan.judging.deciding import passes
from opscan.judging.pass_rules import Rule
from opscan.validating.devices import CPU, Device
from opscan.validating.drawing import draw_inputs, index_bounds
from opscan.validating.running import Call, Refused, run

_UPSTREAM_SEED = 1 << 20
_SHORT = (torch.float16, torch.bfloat16)


@dataclass(frozen=True, slots=True)
class Draws:
    """`limits`: the range of the upstream gradient; draws are numbered from `seed` on; none begins after `until`, a
    time of the monotonic clock."""

    count: int
    limits: tuple[float, float]
    seed: int = 0
    until: float = math.inf


def failures(calls: Sequence[Call], rules: Mapping[str, Sequence[Rule]], draws: Draws) -> dict[str, list[int]]:
    """How many draws the worst device fails under each rule, by the name of the compared tensor. Raises Refused."""
    call, below = _accepted(calls, draws)
    failed: dict[str, dict[str, list[int]]] = {}
    for number in range(draws.seed, draws.seed + draws.count):
        golden, answers = compared(call, below, number, draws.limits)
        for way, actual in answers:
            counts = failed.setdefault(way, {name: [0] * len(wanted) for name, wanted in rules.items()})
            for name, wanted in rules.items():
                if name in golden and name in actual:
                    for place, rule in enumerate(wanted):
                        counts[name][place] += not passes(rule, _array(actual[name]), _array(golden[name])).passed
    return {
        name: [max(counts[name][place] for counts in failed.values()) for place in range(len(wanted))]
        for name, wanted in rules.items()
    }


def failing_draws(calls: Sequence[Call], rules: Mapping[str, Sequence[Rule]], draws: Draws) -> tuple[int, int]:
    """How many draws the worst device fails in any of the tensors, and how many were made. Raises Refused."""
    call, below = _accepted(calls, draws)
    failed: dict[str, int] = {}
    made = 0
    for number in range(draws.seed, draws.seed + draws.count):
        if time.monotonic() > draws.until:
            break
        made += 1
        golden, answers = compared(call, below, number, draws.limits)
        for way, actual in answers:
            tensors = rules.keys() & golden.keys() & actual.keys()
            failed[way] = failed.get(way, 0) + any(
                not passes(rule, _array(actual[name]), _array(golden[name])).passed
                for name in tensors
                for rule in rules[name]
            )
    return max(failed.values(), default=0), made


def compared(
    call: Call, below: int | None, seed: int, limits: tuple[float, float]
) -> tuple[Mapping[str, Any], Iterator[tuple[str, Mapping[str, Any]]]]:
    """The compared tensors of the CPU, and those of each emulated device, for one draw. Raises Refused."""
    inputs = draw_inputs(call.binding, call.operator.name, seed, below)
    upstream = (limits, seed + _UPSTREAM_SEED)
    golden = run(call, inputs, upstream, CPU)

    def answers() -> Iterator[tuple[str, Mapping[str, Any]]]:
        short = [tensor for tensor in inputs if tensor.dtype in _SHORT]
        for order in ORDERS:
            yield order, run(call, inputs, upstream, _device(seed, order))
            if short:
                wide = [tensor.float() if tensor.dtype in _SHORT else tensor for tensor in inputs]
                kept = run(call, wide, (limits, seed + _UPSTREAM_SEED), _device(seed, order, short[0].dtype))
                yield (
                    f"{order}, one rounding",
                    {name: tensor.to(golden[name].dtype) for name, tensor in kept.items() if name in golden},
                )

    return golden, answers()


def _device(seed: int, order: str, upstream: Any = None) -> Device:
    """`upstream`: the short format that the upstream gradient comes in."""

    def place(tensor: Any) -> Any:
        copied = torch.clone(tensor)
        return copied if upstream is None or copied.dtype != torch.float32 else copied.to(upstream).float()

    @contextmanager
    def active() -> Iterator[None]:
        with sdpa_kernel(SDPBackend.MATH), Emulated(seed, order):
            yield

    return Device("emulated", place, active)


def _accepted(calls: Sequence[Call], draws: Draws) -> tuple[Call, int | None]:
    """The first way of calling that the operator takes, and what its whole numbers lie below."""
    first: Refused | None = None
    for call in calls:
        for below in index_bounds(call.binding, call.operator.name):
            try:
                for _ in compared(call, below, draws.seed, draws.limits)[1]:
                    pass
            except Refused as problem:
                first = first or problem
            else:
                return call, below
    raise first or Refused("there is no way to call it")


def _array(tensor: Any) -> Any:
    dense = tensor.detach().resolve_neg()
    return (dense.float() if dense.dtype == torch.bfloat16 else dense).numpy()
