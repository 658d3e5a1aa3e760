"""What files are called in a diff: `git apply` wants all paths below one folder, and none through a symbolic link."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DiffNames:
    """What files are called in a diff that is applied in `folder`, by the path that each was given as."""

    folder: Path
    names: Mapping[Path, str]


def name_in_diff(paths: Collection[Path], current: Path) -> DiffNames:
    """Names below the current folder, else below the repository of the first file, else below the root.

    A symbolic link is named by the file that it leads to, which is the one that changes.
    """
    real = {path: Path(os.path.realpath(path)) for path in paths}
    here = Path(os.path.realpath(current))
    for folder in [here, *_repository(next(iter(real.values()), here)), Path(here.anchor)]:
        if not all(folder in path.parents for path in real.values()):
            continue
        names = {path: target.relative_to(folder).as_posix() for path, target in real.items()}
        if not any(_is_misread(name, folder) for name in names.values()):
            return DiffNames(folder, names)
    return DiffNames(here, {path: path.as_posix() for path in paths})


def _repository(path: Path) -> list[Path]:
    return [folder for folder in path.parents if (folder / ".git").exists()][:1]


def _is_misread(name: str, folder: Path) -> bool:
    """Whether git, in a folder of a repository, takes the beginning of a name for the way to that folder."""
    for repository in _repository(folder / "any"):
        way = f"{folder.relative_to(repository).as_posix()}/"
        return name.startswith(way) or (way.count("/") > 1 and f"a/{name}".startswith(way))
    return False
