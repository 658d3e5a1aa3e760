"""Which folders of rules are in force: what ships with opscan, and behind it the user's own.

A folder holds `standards.yaml`, `assign.yaml`, `profiles.yaml` and rule files, each of them optional. It is named in
the settings (`rules = ["folder"]`), or an installed package offers it under the entry point group `opscan.rules`; such
a package is looked up, never imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from opscan.data import data_path
from opscan.judging.standards_file import StandardsError

GROUP = "opscan.rules"
_own: tuple[Path, ...] = ()


def use(folders: Sequence[Path]) -> None:
    """From now on the rules of these folders are in force beside what ships."""
    global _own  # noqa: PLW0603  one run has one set of rules, and every finding is made under it
    _own = tuple(folders)


def own_folders() -> tuple[Path, ...]:
    """The user's folders in force: installed packages first, so that a folder of the settings can override them."""
    return installed_folders() + _own


def files_named(name: str) -> tuple[Path, ...]:
    """The shipped file of that name, then those of the user's folders that have one."""
    return _files_named(name, own_folders())


@lru_cache(maxsize=32)
def _files_named(name: str, own: tuple[Path, ...]) -> tuple[Path, ...]:
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
