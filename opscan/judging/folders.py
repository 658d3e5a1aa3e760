"""The folders of rules: what ships with opscan, and behind it the user's own.

A folder holds `standards.yaml`, `assign.yaml`, `profiles.yaml` and rule files, each of them optional. It is named in
the settings (`rules = ["folder"]`), or an installed package offers it under the entry point group `opscan.rules`; such
a package is looked up, never imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from opscan.data import data_path
from opscan.judging.standards_file import StandardsError

GROUP = "opscan.rules"


@lru_cache(maxsize=32)
def files_named(name: str, own: tuple[Path, ...]) -> tuple[Path, ...]:
    """The shipped file of that name, then those of the user's folders that have one."""
    return tuple(path for folder in (data_path("rules"), *own) if (path := folder / name).is_file())


@lru_cache(maxsize=1)
def installed_folders() -> tuple[Path, ...]:
    """The folders of installed packages. Raises StandardsError for an entry point that names no package's folder."""
    if not any(_offers(path) for path in _metadata_files()):
        return ()
    from importlib.metadata import entry_points

    return tuple(_folder_of(point.name, point.value) for point in entry_points(group=GROUP))


def _metadata_files() -> Iterator[str]:
    """Every `entry_points.txt` of the environment; importlib.metadata would cost more than the rest of the start."""
    for place in dict.fromkeys(sys.path):
        try:
            with os.scandir(place or ".") as entries:
                found = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for path in found:
            yield f"{path}{os.sep}entry_points.txt"


def _offers(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return f"[{GROUP}]".encode() in file.read()
    except OSError:
        return False


def _folder_of(name: str, value: str) -> Path:
    from importlib.machinery import PathFinder

    top, *rest = value.strip().split(".")
    spec = PathFinder.find_spec(top)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place, *rest)
        if folder.is_dir():
            return folder
    raise StandardsError(f"entry point {name!r} of {GROUP}: {value!r} is no folder of an installed package")
