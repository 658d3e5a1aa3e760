"""What a twin and its generator are called, and how a twin is told."""

from __future__ import annotations

from pathlib import Path

from opscan.config import Settings
from opscan.model import Spec


def twin_path(path: Path, settings: Settings) -> Path:
    """Where the twin of a spec stands: beside it."""
    return path.with_name(settings.split_name.format(stem=path.stem, suffix=path.suffix))


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
