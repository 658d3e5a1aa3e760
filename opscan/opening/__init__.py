"""Which files belong together, and what is each for? The only way from paths to files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from opscan.opening.catalog import AnyFile, CaseLinks, Catalog, Links, absolute, path_of
from opscan.opening.discovery import discover
from opscan.opening.linking import link
from opscan.opening.surroundings import read_beside
from opscan.reading import read_file

__all__ = ["AnyFile", "CaseLinks", "Catalog", "Links", "absolute", "link", "open_catalog", "path_of"]


def open_catalog(paths: Sequence[Path]) -> Catalog:
    """Find, read and link the files named by `paths` or below them, with what belongs to them. Never raises."""
    found, lost = discover(paths)
    files: list[AnyFile] = [read_file(path) for path in found]
    catalog = link([*files, *read_beside(files)])
    return replace(catalog, asked=(*lost, *files))
