"""How a console text may look."""

from __future__ import annotations

from opscan.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Look:
    """How a console text may look: ANSI colours or not, columns at hand, every place or only the first of each kind."""

    color: bool = False
    width: int = 100
    per_case: bool = False
