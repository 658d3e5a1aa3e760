"""How much processes may use."""

from __future__ import annotations

from opscan.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What the work of processes may use. `processes`: how many at once, 0 for as many as the work is worth.

    `seconds`: wall time of one question. `mebibytes`: data of one process beyond what PyTorch itself takes.
    """

    processes: int = 0
    seconds: float = 20.0
    mebibytes: int = 2048
