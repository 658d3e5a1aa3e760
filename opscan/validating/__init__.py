"""Do two devices agree where we say they must? Runs forward and backward on both and confirms or refutes each class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from opscan.validating.missing import DeviceMissing

if TYPE_CHECKING:
    from opscan.config import FolderSettings
    from opscan.model import Confirmation

__all__ = ["DeviceMissing", "validate_paths"]


def validate_paths(
    paths: Sequence[Path], settings: FolderSettings, device: str, *, runs: int, max_cases: int
) -> list[Confirmation]:
    """One Confirmation per compared tensor of every spec and case file named by `paths` or below them.

    `device` is `simulated`, `simulated:NAME`, `npu:N` or `cuda:N`; `runs` seeds per case, at most `max_cases` cases per
    file. A file that cannot be validated is one skipped Confirmation with the reason. Raises DeviceMissing before
    anything is read.
    """
    try:
        from opscan.validating.validation import validate
    except ModuleNotFoundError as problem:
        if problem.name not in ("torch", "numpy"):
            raise
        raise DeviceMissing(
            f"validate runs operators and needs {problem.name}, which is not installed: install opscan-ascend[torch]"
        ) from None
    return validate(paths, settings, device, runs=max(runs, 1), max_cases=max(max_cases, 1))
