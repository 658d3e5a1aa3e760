"""Run what an audit is about to say: do correct devices, emulated, fail these cases under their standard?"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import math
import time
from collections.abc import Sequence

from opscan.dataclass import dataclass
from opscan.emulating.rates import Draws, failing_draws
from opscan.judging.pass_rules import Rule
from opscan.judging.settings import Judge
from opscan.judging.verdicts import CaseVerdict
from opscan.model import Case, Plugin
from opscan.validating.running import Refused, calls_of

CASES = 12
_DRAWS = 240
"""In all; with none failing the rate is under 1.25 % with 95 % certainty."""
_ELEMENTS = 1 << 20
"""A case with more elements is not run."""
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Emulation:
    """`failed` of `draws` draws, over cases spread over those at hand; without draws, `reason` says why."""

    failed: int
    draws: int
    reason: str = ""
    device: str = ""

    @property
    def text(self) -> str:
        if not self.draws:
            return f"not emulated: {self.reason}"
        on = f" on {self.device}" if self.device else ""
        return f"emulated{on}: {self.failed} of {self.draws} draws fail"

    def refutes(self, limit: float) -> bool:
        """Whether so few fail that the rate is not above a limit."""
        return self.draws >= 100 and self.failed / self.draws < limit


def emulate(verdicts: Sequence[CaseVerdict], golden: Plugin | str | None, judge: Judge, seed: int) -> Emulation:
    """The cases under the rules in effect, those of tolerances alone, on the judge's device or on any."""
    known = [case for case in verdicts if _elements(case.case) <= _ELEMENTS and _rules(case)]
    if not known:
        return Emulation(0, 0, f"no case has a floating tolerance and at most {_ELEMENTS} elements")
    chosen = [known[place * len(known) // CASES] for place in range(CASES)] if len(known) > CASES else known
    each = max(_DRAWS // len(chosen), 1)
    failed = total = 0
    reason, until = "", time.monotonic() + _SECONDS
    device = judge.device
    for number, case in enumerate(chosen):
        try:
            calls = calls_of(case.case, golden)
            draws = Draws(each, judge.upstream, seed + number * each, until, device, judge.hf32)
            wrong, made = failing_draws(calls, _rules(case), draws)
        except Refused as problem:
            reason = reason or str(problem)
        else:
            failed, total = failed + wrong, total + made
    return Emulation(failed, total, reason, device.name if device is not None else "")


def _rules(case: CaseVerdict) -> dict[str, list[Rule]]:
    return {
        verdict.tensor.name: [verdict.effective.rule]
        for verdict in case.tensors
        if verdict.parameters is not None and verdict.effective.rule is not None and not verdict.exact
    }


def _elements(case: Case) -> int:
    return sum(math.prod(given.shape or ()) for given in case.inputs)
