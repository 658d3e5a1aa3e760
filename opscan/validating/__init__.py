"""Do two devices agree where we say they must? Runs forward and backward on both and confirms or refutes each class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from opscan.validating.missing import DeviceMissing

if TYPE_CHECKING:
    from opscan.config import FolderSettings
    from opscan.model import Confirmation

__all__ = ["DeviceMissing", "validate_paths"]


def validate_paths(
    paths: Sequence[Path],
    settings: FolderSettings,
    device: str,
    *,
    runs: int,
    max_cases: int,
    seconds: float = 120.0,
    resume: bool = False,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Confirmation]:
    """One Confirmation per compared tensor of every spec and case file named by `paths` or below them.

    `device` is `simulated`, `simulated:NAME`, `npu:N` or `cuda:N`; `runs` seeds per case, at most `max_cases` cases per
    file. Cases run in a process of their own: one that takes over `seconds`, or crashes it, costs only itself.
    `resume`: take over what a run that was cut off has found out. `progress` is told how
    many cases of how many are done. A file that cannot be validated is one skipped Confirmation with the reason. Raises
    DeviceMissing before anything is read.
    """
    from opscan.validating.validation import validate

    return validate(
        paths,
        settings,
        device,
        runs=max(runs, 1),
        max_cases=max(max_cases, 1),
        seconds=seconds,
        resume=resume,
        progress=progress,
    )
