"""How often emulated devices fail a standard, counted over draws of the inputs.

There are several correct devices: each order of addition, and for short formats one that keeps float32 throughout and
rounds once at the end beside one that rounds where the framework does. A rate is that of the one that fails most.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from opscan.judging.deciding import passes
from opscan.judging.devices import Device as Documented
from opscan.judging.floating import SHORT
from opscan.judging.pass_rules import Rule
from opscan.validating.devices import CPU, Device
from opscan.validating.drawing import draw_inputs, index_bounds
from opscan.validating.running import Call, Refused, run
from opscan.validating.simulated.emulated import ORDERS, Emulated
from opscan.validating.simulated.profiles import Profile, profiles_of

_UPSTREAM_SEED = 1 << 20
_SHORT = {getattr(torch, name): form for name, form in SHORT.items()}


@dataclass(frozen=True, slots=True)
class Draws:
    """`limits`: the range of the upstream gradient; draws are numbered from `seed` on; none begins after `until`, a
    time of the monotonic clock. `device`: the one to emulate, None for any; `hf32`: what it runs as HF32."""

    count: int
    limits: tuple[float, float]
    seed: int = 0
    until: float = math.inf
    device: Documented | None = None
    hf32: tuple[str, ...] = ()


def failures(calls: Sequence[Call], rules: Mapping[str, Sequence[Rule]], draws: Draws) -> dict[str, list[int]]:
    """How many draws the worst device fails under each rule, by the name of the compared tensor. Raises Refused."""
    failed: dict[str, list[Counter[int]]] = {name: [Counter() for _ in wanted] for name, wanted in rules.items()}
    for answers in _drawn(calls, rules, draws):
        for place, found in enumerate(answers):
            for name, fails in found.items():
                for counts, fail in zip(failed[name], fails, strict=True):
                    counts[place] += fail
    return {name: [max(counts.values(), default=0) for counts in each] for name, each in failed.items()}


def failing_draws(calls: Sequence[Call], rules: Mapping[str, Sequence[Rule]], draws: Draws) -> tuple[int, int]:
    """How many draws the worst device fails in any of the tensors, and how many were made. Raises Refused."""
    failed: Counter[int] = Counter()
    made = 0
    for answers in _drawn(calls, rules, draws):
        made += 1
        for place, found in enumerate(answers):
            failed[place] += any(map(any, found.values()))
    return max(failed.values(), default=0), made


def _drawn(
    calls: Sequence[Call], rules: Mapping[str, Sequence[Rule]], draws: Draws
) -> Iterator[list[dict[str, list[bool]]]]:
    """Draw by draw, for each device: which rules it fails, by the name of the compared tensor. Raises Refused."""
    call, below = _accepted(calls, draws)
    for number in range(draws.seed, draws.seed + draws.count):
        if time.monotonic() > draws.until:
            return
        golden, answers = compared(call, below, number, draws)
        yield [
            {
                name: [not passes(rule, _array(actual[name]), _array(golden[name])).passed for rule in rules[name]]
                for name in rules
                if name in golden and name in actual
            }
            for actual in answers
        ]


def compared(
    call: Call, below: int | None, seed: int, draws: Draws
) -> tuple[Mapping[str, Any], Iterator[Mapping[str, Any]]]:
    """The compared tensors of the CPU, and those of each emulated device, for one draw. Raises Refused."""
    inputs = draw_inputs(call.binding, call.operator.name, seed, below)
    upstream = (draws.limits, seed + _UPSTREAM_SEED)
    golden = run(call, inputs, upstream, CPU)

    def answers() -> Iterator[Mapping[str, Any]]:
        short = [tensor.dtype for tensor in inputs if tensor.dtype in _SHORT]
        for order, profile in _ways(draws):
            if not short or profile is None or _SHORT[short[0]] in profile.device.steps:
                yield run(call, inputs, upstream, _device(seed, order, profile))
            if short:
                wide = [tensor.float() if tensor.dtype in _SHORT else tensor for tensor in inputs]
                kept = run(call, wide, upstream, _device(seed, order, profile, short[0]))
                yield {name: tensor.to(golden[name].dtype) for name, tensor in kept.items() if name in golden}

    return golden, answers()


def _ways(draws: Draws) -> list[tuple[str, Profile | None]]:
    """Each order in which any device may add, beside those that the device to emulate documents: on the fewest and on
    the most cores, whose partial sums are chained, which strays farther than a tree of them."""
    if draws.device is None:
        return [(order, None) for order in ORDERS]
    every = profiles_of(draws.device, draws.hf32)
    ends = {min(one.cores for one in every), max(one.cores for one in every)}
    profiles = [one for one in every if one.cores in ends and one.over == "chain"]
    count = max(len(ORDERS), len(profiles))
    return [(ORDERS[place % len(ORDERS)], profiles[place % len(profiles)]) for place in range(count)]


def _device(seed: int, order: str, profile: Profile | None, upstream: Any = None) -> Device:
    """`upstream`: the short format that the upstream gradient comes in."""

    def place(tensor: Any) -> Any:
        copied = torch.clone(tensor)
        return copied if upstream is None or copied.dtype != torch.float32 else copied.to(upstream).float()

    @contextmanager
    def active(_: int) -> Iterator[None]:
        fuses = profile is None or profile.device.fma
        with sdpa_kernel(SDPBackend.MATH), Emulated(seed, order, profile, fuses=fuses):
            yield

    return Device("emulated", place, active)


def _accepted(calls: Sequence[Call], draws: Draws) -> tuple[Call, int | None]:
    """The first way of calling that the operator takes, and what its whole numbers lie below."""
    first: Refused | None = None
    for call in calls:
        for below in index_bounds(call.binding, call.operator.name):
            try:
                for _ in compared(call, below, draws.seed, draws)[1]:
                    pass
            except Refused as problem:
                first = first or problem
            else:
                return call, below
    raise first or Refused("there is no way to call it")


def _array(tensor: Any) -> Any:
    dense = tensor.detach().resolve_neg()
    return (dense.float() if dense.dtype == torch.bfloat16 else dense).numpy()
