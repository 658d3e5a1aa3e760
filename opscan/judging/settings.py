"""What statuses are judged under: what the files do not say, and what the user chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opscan.dataclass import dataclass
from opscan.judging.rulebook import Rulebook

if TYPE_CHECKING:
    from opscan.judging.devices import Device


@dataclass(frozen=True, slots=True)
class Judge:
    """`upstream`: range of the upstream gradient; `limit`: tolerated false alarms.

    `standard`: `named` standards only, `derived` thresholds always, or `auto`: derived ones where the strictest
    adequate named standard is not sharp, or blind to a finer mistake. `hf32`: float32 contractions that the device runs
    as HF32 (`matmul`, `convolution`). `golden`: `framework` for a golden in its own order, `exact` for float64 rounded
    back. `scenario`: the one whose assignments decide, where a spec serves several. `rules`: those in force.
    `device`: whose function bounds and orders of addition count, None for the widest of all.
    """

    atk_version: str
    upstream: tuple[float, float]
    limit: float
    standard: str = "auto"
    hf32: tuple[str, ...] = ()
    golden: str = "framework"
    scenario: str = "accuracy"
    rules: Rulebook = Rulebook()
    device: Device | None = None
