"""Run one case on both devices and count where they differ, and under which standard that would be a failure."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from opscan.judging.deciding import passes
from opscan.judging.pass_rules import Rule
from opscan.model import NumericClass, TensorClass
from opscan.validating.comparing import compare
from opscan.validating.counterfactual import without_broadcast
from opscan.validating.devices import CPU, Device
from opscan.validating.drawing import draw_inputs, index_bounds
from opscan.validating.experiments import Counts, Experiment, refused
from opscan.validating.running import Call, Refused, calls_of, run

_UPSTREAM_SEED = 1 << 20
"""Added to the seed of the inputs, so that the upstream gradient is not made of the same numbers."""
_NOT_COMPARABLE = (NumericClass.RANDOM, NumericClass.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Reference:
    """A call that the CPU accepts, its inputs, and the CPU's answer."""

    call: Call
    inputs: list[Any]
    tensors: Mapping[str, Any]


class Trial:
    """The runs of one experiment on the CPU and on `device`."""

    def __init__(self, device: Device, experiment: Experiment) -> None:
        self._device = device
        self._experiment = experiment
        self._tensors = {tensor.name: tensor for tensor in experiment.classification.tensors}
        self._counts = {name: Counts() for name in self._tensors}

    def counts(self) -> dict[str, Counts]:
        """What all runs add up to, by the name of the compared tensor."""
        if all(tensor.numeric_class in _NOT_COMPARABLE for tensor in self._tensors.values()):
            return self._counts
        for number in range(self._experiment.runs):
            try:
                self._run(number)
            except Refused as problem:
                for name, one in refused(self._experiment, str(problem)).items():
                    self._counts[name].add(one)
                break
        return self._counts

    def _run(self, way: int) -> None:
        seed = self._experiment.seed + way
        try:
            reference = self._reference(calls_of(self._experiment.case, self._experiment.golden), seed)
        except Refused as problem:
            raise Refused(f"the CPU refuses: {problem}") from None
        self._device.peak()
        try:
            answer = self._answer(reference, seed, way)
            peak = self._device.peak() or 0
            again = self._answer(reference, seed, way) if way == 0 else None
        except Refused as problem:
            raise Refused(f"{self._device.name} refuses: {problem}") from None
        for name, tensor in self._tensors.items():
            counts = self._counts[name]
            counts.peak = max(counts.peak, peak)
            if tensor.numeric_class in _NOT_COMPARABLE:
                continue
            if name not in reference.tensors or name not in answer:
                missing = "CPU" if name not in reference.tensors else "device"
                counts.refusal = f"the {missing} returns no {name}"
                continue
            self._count(name, reference.tensors[name], answer[name])
            if again is not None and name in again:
                counts.repeats += 1
                counts.unrepeated += compare(answer[name], again[name]).differs
            if tensor.numeric_class == NumericClass.BROADCAST_REDUCED and tensor.role == "gradient":
                self._count_removed(tensor, reference, seed, way)

    def _answer(self, reference: Reference, seed: int, way: int) -> Mapping[str, Any]:
        upstream = (self._experiment.upstream, seed + _UPSTREAM_SEED)
        return run(reference.call, reference.inputs, upstream, self._device, way)

    def _reference(self, calls: list[Call], seed: int) -> Reference:
        """Draw integers closer and closer to what the operator accepts. Raises the first refusal."""
        first: Refused | None = None
        for call in calls:
            for below in index_bounds(call.binding, call.operator.name):
                inputs = draw_inputs(call.binding, call.operator.name, seed, below)
                try:
                    tensors = run(call, inputs, (self._experiment.upstream, seed + _UPSTREAM_SEED), CPU)
                except Refused as problem:
                    first = first or problem
                else:
                    return Reference(call, inputs, tensors)
        raise first or Refused("there is no way to call it")

    def _count(self, name: str, reference: Any, answer: Any) -> None:
        counts, rules = self._counts[name], self._experiment.rules.get(name)
        difference = compare(reference, answer)
        counts.runs += 1
        counts.differing += difference.differs
        counts.worst_ulp = max(counts.worst_ulp, difference.worst_ulp)
        counts.note = counts.note or difference.reason
        if rules is not None:
            counts.written += fails(rules.written, answer, reference)
            counts.recommended += fails(rules.recommended, answer, reference)

    def _count_removed(self, tensor: TensorClass, reference: Reference, seed: int, way: int) -> None:
        counts = self._counts[tensor.name]
        output = tuple(next(iter(reference.tensors.values())).shape)
        for call in without_broadcast(reference.call, tensor, output):
            try:
                full = self._reference([call], seed)
                answer = self._answer(full, seed, way)
            except Refused as problem:
                counts.removed_refusal = counts.removed_refusal or str(problem)
                continue
            if tensor.name in full.tensors and tensor.name in answer:
                counts.removed_runs += 1
                counts.removed_differing += compare(full.tensors[tensor.name], answer[tensor.name]).differs
                return
        counts.removed_refusal = counts.removed_refusal or "its inputs have no common shape"


def fails(rule: Rule | None, answer: Any, golden: Any) -> bool:
    """Whether `answer` fails a standard; one that needs what a run has not, such as a benchmark, fails nothing."""
    if rule is None:
        return False
    try:
        return not passes(rule, _array(answer), _array(golden), golden_dtype=rule.dtype).passed
    except (ValueError, TypeError):
        return False


def _array(tensor: Any) -> Any:
    """bf16 as float32, which NumPy has and whose values hold all of it."""
    dense = tensor if tensor.layout == torch.strided else tensor.to_dense()
    dense = dense.resolve_conj().resolve_neg()
    return (dense.float() if dense.dtype == torch.bfloat16 else dense).numpy()
