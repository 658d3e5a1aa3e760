"""What travels to the process that runs a case on two devices, and what comes back: counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from opscan.dataclass import dataclass
from opscan.judging.pass_rules import Rule
from opscan.model import Case, Classification, Plugin


@dataclass(frozen=True, slots=True)
class Rules:
    """What a compared tensor is held to: the standard as it is written, and the one that is recommended."""

    written: Rule | None = None
    recommended: Rule | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """One case to run, forward and backward, `runs` times from `seed` on, upstream gradients drawn from `upstream`.

    `golden`: see `running.calls_of`; `rules`: by the name of the compared tensor.
    """

    case: Case
    classification: Classification
    golden: Plugin | str | None
    runs: int
    seed: int
    upstream: tuple[float, float]
    rules: Mapping[str, Rules]

    def without_tree(self) -> Experiment:
        """The same without the syntax tree of the plugin, which is read again from its text."""
        golden = self.golden
        return replace(self, golden=replace(golden, tree=None)) if isinstance(golden, Plugin) else self


@dataclass(slots=True)
class Counts:
    """What the runs of one compared tensor add up to; `written` and `recommended`: those that fail the standard.

    `repeats`: runs that were made twice on the device; `unrepeated`: those whose bits were others the second time.
    `removed_...`: the same call without the broadcast. `peak`: bytes on the device, 0 where nobody counts.
    """

    runs: int = 0
    differing: int = 0
    worst_ulp: float = 0.0
    written: int = 0
    recommended: int = 0
    repeats: int = 0
    unrepeated: int = 0
    removed_runs: int = 0
    removed_differing: int = 0
    removed_refusal: str = ""
    refusal: str = ""
    note: str = ""
    peak: int = 0

    def add(self, other: Counts) -> None:
        """Numbers add up, the largest of `worst_ulp` and `peak` and the first of each text stay."""
        for field in fields(self):
            mine, its = getattr(self, field.name), getattr(other, field.name)
            if isinstance(mine, str):
                setattr(self, field.name, mine or its)
            else:
                setattr(self, field.name, max(mine, its) if field.name in ("worst_ulp", "peak") else mine + its)


def dump(counts: Mapping[str, Counts]) -> dict[str, dict[str, Any]]:
    return {name: asdict(one) for name, one in counts.items()}


def load(content: Mapping[str, Mapping[str, Any]]) -> dict[str, Counts]:
    """Raises TypeError for what `dump` did not write."""
    return {name: Counts(**one) for name, one in content.items()}


def refused(experiment: Experiment, reason: str) -> dict[str, Counts]:
    """The answer for a case that could not be run."""
    return {tensor.name: Counts(refusal=reason) for tensor in experiment.classification.tensors}
