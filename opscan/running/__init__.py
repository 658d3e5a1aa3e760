"""Runs the code of plugins, only where `--run-generators` asks for it, each in a process that is shut in.

The processes import this package too, so that the rest of it is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opscan.config import Settings
    from opscan.model import Evidence, Fault, Spec
    from opscan.numerics import Classifier, Question
    from opscan.opening import Catalog

__all__ = ["evidence_by_runs", "trace_goldens"]


def evidence_by_runs(specs: Sequence[Spec], catalog: Catalog, settings: Settings) -> dict[Path, Evidence]:
    """The evidence of each spec by its path, from running generators: see `opscan.running.evidence.by_runs`."""
    from opscan.running import evidence

    return evidence.by_runs(specs, catalog, settings)


def trace_goldens(
    questions: Sequence[Question], classifier: Classifier, settings: Settings
) -> dict[tuple[str, str], list[Fault]]:
    """Have goldens answered by running them that could not be followed: see `opscan.running.tracing.trace_goldens`."""
    from opscan.running import tracing

    return tracing.trace_goldens(questions, classifier, settings)
