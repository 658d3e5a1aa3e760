"""Where the data that ships with opscan lies: `catalog/`, `rules/` and `reports/`."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def data_path(*parts: str) -> Path:
    """Path of a shipped file or folder: inside an installed wheel, else beside the package in a clone."""
    installed = _PACKAGE / "_data"
    return (installed if installed.is_dir() else _PACKAGE.parent).joinpath(*parts)
