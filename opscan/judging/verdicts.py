"""Judge one compared tensor of one case: does the rule in effect pass correct kernels and fail wrong ones?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from opscan.dataclass import dataclass
from opscan.judging.assignments import Assignments, assigned
from opscan.judging.drift_parameters import DriftParameters, drift_parameters
from opscan.judging.effective import Effective, effective
from opscan.judging.pass_rules import Rule
from opscan.judging.settings import Judge
from opscan.model import Case, Classification, TensorClass

STATUSES = ("invalid", "too-strict", "too-loose", "ambiguous", "unknown", "shared", "ok")
"""From the worst to the best."""


@dataclass(frozen=True, slots=True)
class TensorVerdict:
    """`need`: bits (must be equal), either (equal holds, a tolerance does no harm), tolerance, or none."""

    tensor: TensorClass
    effective: Effective
    need: str
    status: str
    failure: float = 0.0
    mendable: bool = True
    parameters: DriftParameters | None = None

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


def need_of(tensor: TensorClass, scenario: str, known: Assignments) -> str:
    """What the assignments say of a tensor: bits, either, tolerance or none."""
    needs = assigned(tensor, scenario, known).needs
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
    own = classification.basis == "golden"
    outputs = [tensor for tensor in tensors if tensor.role == "output"]
    lone = bool(outputs) and all(math.prod(tensor.shape) == 1 for tensor in outputs)
    judged = tuple(_judge_tensor(tensor, case, acc, judge, own=own, lone=lone) for tensor in tensors)
    return CaseVerdict(case, classification, judged)


def _judge_tensor(tensor: TensorClass, case: Case, acc: Any, judge: Judge, *, own: bool, lone: bool) -> TensorVerdict:
    rule = effective(acc, tensor.dtype, judge.atk_version, standards=judge.rules.standards)
    need = need_of(tensor, judge.scenario, judge.rules.assignments)
    if need == "none" or rule.rule is None or rule.crash:
        return TensorVerdict(tensor, rule, need, "unknown")
    exact = rule.rule.exact
    if need == "bits" and not exact:
        return TensorVerdict(tensor, rule, need, "too-loose")
    if need != "tolerance":
        status = "ambiguous" if is_default(acc) and not exact else "ok"
        return TensorVerdict(tensor, rule, need, status)
    parameters = drift_parameters(tensor, case, judge, own=own, lone=lone)
    mendable = has_tolerance(tensor.dtype, judge.atk_version)
    if exact:
        return TensorVerdict(tensor, rule, need, "too-strict", 1.0, mendable, parameters)
    failure = _failure(parameters, rule.rule)
    return TensorVerdict(tensor, rule, need, "ambiguous" if is_default(acc) else "ok", failure, mendable, parameters)


def _failure(parameters: DriftParameters | None, rule: Rule | None) -> float:
    """0 where no model applies: a benchmark on a third device, a dtype without a format, a range beyond it."""
    if parameters is None or rule is None or rule.passes not in ("share-within-tolerance", "mean-and-max-relative"):
        return 0.0
    if min(rule.rtol, rule.atol, rule.share, rule.mean, rule.peak, rule.max_abs, rule.max_ulp) < 0:
        return 1.0  # no difference is below a negative threshold, and no share of matches above 1
    try:
        return parameters.failure(rule)
    except OverflowError:
        return 0.0  # thresholds beyond all values pass everything


def has_tolerance(dtype: str, atk_version: str) -> bool:
    """Whether ATK compares this dtype by thresholds at all when a tolerance is asked for."""
    probe = effective("mixed_tolerance_bm", dtype, atk_version)
    if not probe.known:
        probe = effective("single_bm", dtype, atk_version)
    return probe.rule is not None and not probe.rule.exact
