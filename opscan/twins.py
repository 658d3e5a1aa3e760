"""What a twin and its generator are called, and how a twin is told."""

from __future__ import annotations

import re
from pathlib import Path

from opscan.config import Settings
from opscan.model import Spec


def twin_path(path: Path, settings: Settings) -> Path:
    """Where the twin of a spec stands: beside it."""
    return path.with_name(settings.split_name.format(stem=path.stem, suffix=path.suffix))


def original_path(path: Path, settings: Settings) -> Path | None:
    """Where the spec stands whose twin would stand at `path`; None where that is no twin's name."""
    parts = {"{stem}": r"(?P<stem>.+)", "{suffix}": r"(?P<suffix>\.\w+)"}
    pattern = "".join(parts.get(part, re.escape(part)) for part in re.split(r"(\{\w+\})", settings.split_name))
    named = re.fullmatch(pattern, path.name)
    return path.with_name(named["stem"] + named["suffix"]) if named else None


def generator_name(name: str, settings: Settings) -> str:
    return settings.split_generator.format(name=name)


def is_twin(file: object, spec: Spec) -> bool:
    """Whether a file compares the same operator as a spec bit by bit, by another generator."""
    return (
        isinstance(file, Spec)
        and (file.name, file.aclnn_name, file.backward) == (spec.name, spec.aclnn_name, spec.backward)
        and file.acc == "equal"
        and file.generate != spec.generate
    )
