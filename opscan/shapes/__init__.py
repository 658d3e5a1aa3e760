"""Which shapes can meet in a spec?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opscan.model import CaseFile, Evidence, Plugin, Spec
    from opscan.opening import Links

__all__ = ["evidence_of", "gather_evidence"]


def evidence_of(spec: Spec, links: Links, *, draws: int, seed: int, folders: Sequence[Path] = ()) -> Evidence:
    """The evidence for a spec with the files that belong to it; without a generator the reason is why it is missing."""
    found = gather_evidence(
        spec, case_file=links.case_file, plugin=links.generator, draws=draws, seed=seed, folders=folders
    )
    missing = not found.cases and links.generator_reason
    return replace(found, reason=links.generator_reason) if missing else found


def gather_evidence(
    spec: Spec,
    *,
    case_file: CaseFile | None,
    plugin: Plugin | None,
    draws: int = 64,
    seed: int = 1234,
    folders: Sequence[Path] = (),
) -> Evidence:
    """Concrete cases that stand for all a spec can generate: see `opscan.shapes.evidence.gather_evidence`."""
    from opscan.shapes import evidence

    return evidence.gather_evidence(spec, case_file=case_file, plugin=plugin, draws=draws, seed=seed, folders=folders)
