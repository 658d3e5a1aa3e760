"""Judge one compared tensor of one case: does the rule in effect pass correct kernels and fail wrong ones?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from opscan.judging.adequacy import failure_probability, zero_share
from opscan.judging.assignments import assigned
from opscan.judging.effective import Effective, effective
from opscan.judging.floating import FORMATS, part_of
from opscan.judging.pass_rules import Rule
from opscan.model import Case, CaseInput, Classification, NumericClass, TensorClass

STATUSES = ("invalid", "too-strict", "too-loose", "ambiguous", "unknown", "shared", "ok")
"""From the worst to the best."""

_MOST_ROUNDINGS = 8
_LARGEST = 1e18
"""Ranges beyond it overflow float32 when they are squared: nothing is predicted for them."""
_FLOATING = ("fp", "bf", "hf", "float", "double", "complex")
_ADDING = ("add", "sub", "lerp", "cross", "dist", "mse", "l1_loss", "huber")
"""Packets in whose results parts of opposite sign can cancel."""


@dataclass(frozen=True, slots=True)
class Judge:
    """What statuses are judged under. `upstream`: range of the upstream gradient; `limit`: tolerated false alarms.

    `scenario`: the one whose assignments decide, where a spec serves several.
    """

    atk_version: str
    upstream: tuple[float, float]
    limit: float
    scenario: str = "accuracy"


@dataclass(frozen=True, slots=True)
class Load:
    """What decides how far two correct kernels can differ: addends, outputs, and the range of the addends."""

    dtype: str
    extent: int
    outputs: int
    low: float
    high: float
    distribution: str
    products: bool
    roundings: int
    cancels: bool
    assumed: bool = False
    """The declared range is beyond what the model covers; another one stands in."""

    def failure(self, rule: Rule) -> float:
        """The probability that a correct kernel fails a case under `rule`."""
        return failure_probability(
            rule,
            self.dtype,
            self.extent,
            self.outputs,
            self.low,
            self.high,
            distribution=self.distribution,
            products=self.products,
            roundings=self.roundings,
            cancels=self.cancels,
        )

    def passes_zeros(self, rule: Rule) -> bool:
        """Whether an output of nothing but zeros passes `rule` for all that the range says."""
        if rule.passes != "share-within-tolerance" or rule.exact or rule.rtol < 0 or rule.atol < 0:
            return False
        size = zero_share(rule, self.extent, self.low, self.high, distribution=self.distribution)
        return size >= 1.0 - rule.share - 1e-9


@dataclass(frozen=True, slots=True)
class TensorVerdict:
    """`need`: bits (must be equal), either (equal holds, a tolerance does no harm), tolerance, or none."""

    tensor: TensorClass
    effective: Effective
    need: str
    status: str
    failure: float = 0.0
    mendable: bool = True
    load: Load | None = None

    @property
    def vacuous(self) -> bool:
        """Whether even an output of nothing but zeros would pass the tolerance in effect."""
        return self.load is not None and self.effective.rule is not None and self.load.passes_zeros(self.effective.rule)

    @property
    def exact(self) -> bool:
        """Whether the rule in effect allows no difference at all."""
        return self.effective.rule is not None and self.effective.rule.exact


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """All compared tensors of one case under its standard. Without tensors, `classification.reason` says why."""

    case: Case
    classification: Classification
    tensors: tuple[TensorVerdict, ...]

    @property
    def failure(self) -> float:
        """The probability that a correct kernel fails this case by rounding."""
        passed = 1.0
        for verdict in self.tensors:
            passed *= 1.0 - verdict.failure
        return 1.0 - passed


def need_of(tensor: TensorClass, scenario: str = "accuracy") -> str:
    """What the assignments say of a tensor: bits, either, tolerance or none."""
    needs = assigned(tensor, scenario).needs
    return "none" if needs == "nothing" else needs


def read_values(known: Classification) -> bool:
    """Whether a golden in a plugin may have gone by values: what it does with others is not known then."""
    return known.basis == "plugin" and all("values" in tensor.depends_on for tensor in known.tensors)


def is_default(acc: Any) -> bool:
    """Whether the standard is ATK's `default`, written or left out."""
    return acc is None or acc == "default" or (isinstance(acc, dict) and next(iter(acc), None) == "default")


def judge_case(case: Case, classification: Classification, acc: Any, judge: Judge) -> CaseVerdict:
    """The verdict on every compared tensor of `case` under the standard `acc`."""
    tensors = classification.tensors
    if any(
        given.dtype == "hf32" for given in case.inputs
    ):  # float32 to torch, but ATK has thresholds of its own for it
        tensors = tuple(replace(one, dtype="hf32") if one.dtype == "fp32" else one for one in tensors)
    return CaseVerdict(case, classification, tuple(_judge_tensor(tensor, case, acc, judge) for tensor in tensors))


def _judge_tensor(tensor: TensorClass, case: Case, acc: Any, judge: Judge) -> TensorVerdict:
    rule = effective(acc, tensor.dtype, judge.atk_version)
    need = need_of(tensor, judge.scenario)
    if need == "none" or rule.rule is None or rule.crash:
        return TensorVerdict(tensor, rule, need, "unknown")
    exact = rule.rule.exact
    if need == "bits" and not exact:
        return TensorVerdict(tensor, rule, need, "too-loose")
    if need != "tolerance":
        status = "ambiguous" if is_default(acc) and not exact else "ok"
        return TensorVerdict(tensor, rule, need, status)
    load = load_of(tensor, case, judge)
    mendable = has_tolerance(tensor.dtype, judge.atk_version)
    if exact:
        return TensorVerdict(tensor, rule, need, "too-strict", 1.0, mendable, load)
    failure = _failure(load, rule.rule)
    return TensorVerdict(tensor, rule, need, "ambiguous" if is_default(acc) else "ok", failure, mendable, load)


def _failure(load: Load | None, rule: Rule | None) -> float:
    """0 where no model applies: a benchmark on a third device, a dtype without a format, a range beyond it."""
    if load is None or rule is None or rule.passes not in ("share-within-tolerance", "mean-and-max-relative"):
        return 0.0
    if min(rule.rtol, rule.atol, rule.share, rule.mean, rule.peak, rule.max_abs, rule.max_ulp) < 0:
        return 1.0  # no difference is below a negative threshold, and no share of matches above 1
    try:
        return load.failure(rule)
    except OverflowError:
        return 0.0  # thresholds beyond all values pass everything


def has_tolerance(dtype: str, atk_version: str) -> bool:
    """Whether ATK compares this dtype by thresholds at all when a tolerance is asked for."""
    probe = effective("mixed_tolerance_bm", dtype, atk_version)
    if not probe.known:
        probe = effective("single_bm", dtype, atk_version)
    return probe.rule is not None and not probe.rule.exact


def load_of(tensor: TensorClass, case: Case, judge: Judge) -> Load | None:
    """The load of a tensor that needs a tolerance; None for dtypes that no error model covers."""
    if part_of(tensor.dtype) not in FORMATS:
        return None
    reduced = tensor.numeric_class in (NumericClass.ACCUMULATED, NumericClass.BROADCAST_REDUCED)
    low, high, distribution = _addend_range(tensor, case, judge)
    return Load(
        dtype=tensor.dtype,
        extent=max(1, tensor.extent) if reduced else 1,
        outputs=math.prod(tensor.shape),
        low=low,
        high=high,
        distribution=distribution,
        products=reduced and tensor.products,
        roundings=1 if reduced else _roundings(tensor),
        assumed=tensor.role == "output" and input_range(case) is None and _declares_wide(case),
        cancels=reduced or any(word in step.op for step in tensor.path for word in _ADDING),
    )


def _roundings(tensor: TensorClass) -> int:
    """Calls that round on the way; in float32 a function that is approximated to two ULP counts twice."""
    calls = sum(step.numeric_class is NumericClass.ARITHMETIC for step in tensor.path)
    least = 2 if tensor.dtype in ("fp32", "hf32", "fp64") else 1
    return min(max(calls, least), _MOST_ROUNDINGS)


def _addend_range(tensor: TensorClass, case: Case, judge: Judge) -> tuple[float, float, str]:
    """Outputs add up inputs; gradients add up the upstream gradient, or products of it with inputs."""
    inputs = input_range(case)
    if tensor.role == "output":
        return inputs or (*judge.upstream, "uniform")
    if not tensor.products or inputs is None:
        return (*judge.upstream, "uniform")
    size = math.sqrt(max(map(abs, judge.upstream)) * max(abs(inputs[0]), abs(inputs[1])))
    return (-size, size, "uniform")


def input_range(case: Case) -> tuple[float, float, str] | None:
    """The widest declared range over the floating inputs of a case, as (low, high, distribution)."""
    ranges = [found for given in _tensors(case.inputs) if (found := _range(given)) is not None]
    if not ranges:
        return None
    return max(ranges, key=lambda found: max(abs(found[0]), abs(found[1])))


def _declares_wide(case: Case) -> bool:
    return any(isinstance(given.values, (list, tuple)) and _is_numeric(given.values) for given in _tensors(case.inputs))


def _is_numeric(values: Sequence[Any]) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


def _tensors(inputs: Sequence[CaseInput]) -> list[CaseInput]:
    found = []
    for given in inputs:
        if given.members is not None:
            found += _tensors(given.members)
        elif given.shape is not None and (given.dtype or "").startswith(
            ("fp", "bf", "hf", "float", "double", "complex")
        ):
            found.append(given)
    return found


def _range(given: CaseInput) -> tuple[float, float, str] | None:
    values = given.values
    if isinstance(values, dict):
        mean, deviation = _ends(values.get("mean", 0)), _ends(values.get("std", 1))
        if mean is None or deviation is None:
            return None
        center, spread = sum(mean) / 2, max(map(abs, deviation))
        reach = max(abs(mean[0] - center), 0.0)
        return (center - spread - reach, center + spread + reach, "normal")
    ends = _ends(values)
    return None if ends is None else (*ends, "uniform")


def _ends(value: Any) -> tuple[float, float] | None:
    """Two finite numbers, smaller first; a zero-width range is widened, for constant data test nothing."""
    pair = list(value) if isinstance(value, (list, tuple)) else [value, value]
    if len(pair) == 1:
        pair = pair * 2
    if len(pair) != 2 or any(isinstance(end, bool) or not isinstance(end, (int, float)) for end in pair):
        return None
    low, high = sorted(float(end) for end in pair)
    return (low, high) if max(abs(low), abs(high)) <= _LARGEST else None
