"""Runs the code of plugins, only where `--run-generators` asks for it, each in a process that is shut in.

The processes import this package too, so that the rest of it is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opscan.config import Settings
    from opscan.model import Evidence, Spec
    from opscan.shapes import Catalog

__all__ = ["evidence_by_runs"]


def evidence_by_runs(specs: Sequence[Spec], catalog: Catalog, settings: Settings) -> dict[Path, Evidence]:
    """The evidence of each spec by its path, from running generators: see `opscan.running.evidence.by_runs`."""
    from opscan.running import evidence

    return evidence.by_runs(specs, catalog, settings)
