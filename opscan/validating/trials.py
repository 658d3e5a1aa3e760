"""Run the chosen cases of one file on both devices and count where they differ."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opscan.model import NumericClass, Plugin, TensorClass
from opscan.validating.choosing import Candidate, Facet, facet_of
from opscan.validating.comparing import compare
from opscan.validating.counterfactual import without_broadcast
from opscan.validating.devices import CPU, Device
from opscan.validating.drawing import draw_inputs, index_bounds
from opscan.validating.running import Call, Refused, calls_of, run
from opscan.validating.tallies import Tally

_UPSTREAM_SEED = 1 << 20
"""Added to the seed of the inputs, so that the upstream gradient is not made of the same numbers."""
_NOT_COMPARABLE = (NumericClass.RANDOM, NumericClass.UNKNOWN)

Tallies = dict[tuple[str, Facet], Tally]


@dataclass(frozen=True, slots=True)
class Trial:
    """How to run: `runs` seeds from `seed` on, upstream gradients drawn from the range `upstream`."""

    device: Device
    runs: int
    seed: int
    upstream: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Reference:
    """A call that the CPU accepts, its inputs, and the CPU's answer."""

    call: Call
    inputs: list[Any]
    tensors: Mapping[str, Any]


def try_candidate(trial: Trial, candidate: Candidate, tallies: Tallies, golden: Plugin | str | None) -> None:
    """Add every run of one case to the tallies of its compared tensors; `golden`: see `calls_of`."""
    for tensor in candidate.classification.tensors:
        tally = tallies.setdefault((tensor.name, facet_of(tensor)), Tally(tensor))
        if tensor.extent > tally.tensor.extent:
            tally.tensor = tensor
    known = {tensor.name: tensor for tensor in candidate.classification.tensors}
    if all(tensor.numeric_class in _NOT_COMPARABLE for tensor in known.values()):
        return
    for number in range(trial.runs):
        seed = trial.seed + number
        try:
            reference = _reference(trial, calls_of(candidate.case, golden), seed)
        except Refused as problem:
            _refuse(tallies, known, f"the CPU refuses: {problem}")
            return
        try:
            answer = run(reference.call, reference.inputs, (trial.upstream, seed + _UPSTREAM_SEED), trial.device)
        except Refused as problem:
            _refuse(tallies, known, f"{trial.device.name} refuses: {problem}")
            return
        _count(tallies, known, reference.tensors, answer)
        for tensor in known.values():
            if tensor.numeric_class == NumericClass.BROADCAST_REDUCED and tensor.role == "gradient":
                _count_removed(trial, tallies[tensor.name, facet_of(tensor)], tensor, reference, seed)


def _reference(trial: Trial, calls: list[Call], seed: int) -> Reference:
    """Draw integers closer and closer to what the operator accepts. Raises the first refusal."""
    first: Refused | None = None
    for call in calls:
        for below in index_bounds(call.binding, call.operator.name):
            inputs = draw_inputs(call.binding, call.operator.name, seed, below)
            try:
                tensors = run(call, inputs, (trial.upstream, seed + _UPSTREAM_SEED), CPU)
            except Refused as problem:
                first = first or problem
            else:
                return Reference(call, inputs, tensors)
    raise first or Refused("there is no way to call it")


def _refuse(tallies: Tallies, known: Mapping[str, TensorClass], reason: str) -> None:
    for tensor in known.values():
        tally = tallies[tensor.name, facet_of(tensor)]
        tally.refusal = tally.refusal or reason


def _count(
    tallies: Tallies, known: Mapping[str, TensorClass], reference: Mapping[str, Any], answer: Mapping[str, Any]
) -> None:
    for name, tensor in known.items():
        tally = tallies[name, facet_of(tensor)]
        if tensor.numeric_class in _NOT_COMPARABLE:
            continue
        if name not in reference or name not in answer:
            tally.refusal = f"the {'CPU' if name not in reference else 'device'} returns no {name}"
            continue
        difference = compare(reference[name], answer[name])
        tally.runs += 1
        tally.differing += difference.differs
        tally.worst_ulp = max(tally.worst_ulp, difference.worst_ulp)
        tally.note = tally.note or difference.reason


def _count_removed(trial: Trial, tally: Tally, tensor: TensorClass, reference: Reference, seed: int) -> None:
    output = tuple(next(iter(reference.tensors.values())).shape)
    for call in without_broadcast(reference.call, tensor, output):
        try:
            full = _reference(trial, [call], seed)
            answer = run(full.call, full.inputs, (trial.upstream, seed + _UPSTREAM_SEED), trial.device)
        except Refused as problem:
            tally.removed_refusal = tally.removed_refusal or str(problem)
            continue
        if tensor.name in full.tensors and tensor.name in answer:
            tally.removed_runs += 1
            tally.removed_differing += compare(full.tensors[tensor.name], answer[tensor.name]).differs
            return
    tally.removed_refusal = tally.removed_refusal or "its inputs have no common shape"
