"""Settings: what a run assumes and reports, from `[tool.opscan]` of the nearest pyproject.toml and the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from opscan.dataclass import dataclass

ATK_VERSION = "26.8.8"


class ConfigError(Exception):
    """A setting that cannot be used; the message names the file and the key."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`profile`: how severe each rule is; `rules`: folders of the user's own rules, beside what ships.

    `upstream`: the range of the upstream gradient, which no spec states; `limit`: the false alarms tolerated.
    `standard`: `named`, `derived` or `auto`; `golden`: adds as the `framework` does, or `exact` in float64; `hf32`: the
    float32 contractions (`matmul`, `convolution`) that the device runs as HF32.
    `device`: a device of `rules/devices.yaml` for which standards are judged; "" for any.
    `confirm`: emulate what is called too strict before it is said; only the command line can say so.
    `jobs`: processes that trace operators at once, 0 for as many as the work is worth; one trace may take
    `trace_seconds`, and such a process `trace_mebibytes` beyond what PyTorch itself takes.
    `run_generators`: the code of generator plugins may be run, which only the command line can say; of the cases that a
    run makes, `run_cases` are judged, and it may take `run_seconds` and `run_mebibytes`.
    `import_folders`: where the modules may lie that plugins import, besides a plugin's own folder.
    `split_name` and `split_generator`: what the broadcast-free twin of a spec and its generator are called.
    """

    atk_version: str = ATK_VERSION
    fail_on: str = "warning"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    profile: str = "recommended"
    rules: tuple[Path, ...] = ()
    upstream: tuple[float, float] = (-5.0, 5.0)
    limit: float = 0.01
    standard: str = "auto"
    confirm: bool = False
    device: str = ""
    golden: str = "framework"
    hf32: tuple[str, ...] = ()
    draws: int = 64
    seed: int = 1234
    jobs: int = 0
    trace_seconds: float = 20.0
    trace_mebibytes: int = 2048
    run_generators: bool = False
    run_cases: int = 200
    run_seconds: float = 30.0
    run_mebibytes: int = 1024
    import_folders: tuple[Path, ...] = ()
    split_name: str = "{stem}_no_broadcast{suffix}"
    split_generator: str = "{name}_no_broadcast"


def load_settings(start: Path, **overrides: Any) -> Settings:
    """The settings for files below `start`; an override that is None leaves the file's value.

    Raises ConfigError for an unknown key or a value of the wrong type.
    """
    settings = Settings()
    if (path := _nearest_pyproject(start)) is not None:
        settings = _merge(settings, _read_section(path), path)
    given = {key: value for key, value in overrides.items() if value is not None and value != ()}
    return replace(settings, **given)


def _nearest_pyproject(start: Path) -> Path | None:
    folder = start.resolve()
    for candidate in (folder, *folder.parents):
        path = candidate / "pyproject.toml"
        if path.is_file():
            return path
    return None


def _read_section(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8", errors="replace")
    if "[tool.opscan" not in text:
        return {}
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return dict(tomllib.loads(text).get("tool", {}).get("opscan", {}))
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"{path}: {problem}") from None


def _merge(settings: Settings, section: dict[str, Any], path: Path) -> Settings:
    known = {field.name.replace("_", "-"): field.name for field in fields(Settings) if field.name not in _SPOKEN}
    values: dict[str, Any] = {}
    for key, value in section.items():
        name = known.get(key, key if key in known.values() else None)
        if key.replace("-", "_") in _SPOKEN:
            raise ConfigError(f"{path}: [tool.opscan] {key} can only be given on the command line (--{key}): a file "
                              "that lies beside plugins must not be able to have them run")  # fmt: skip
        if name is None:
            raise ConfigError(f"{path}: [tool.opscan] has no setting {key!r}; known: {', '.join(known)}")
        present = getattr(settings, name)
        wanted = tuple if isinstance(present, tuple) else type(present)
        fitting = _fitted(value, wanted)
        if not isinstance(fitting, wanted) or isinstance(fitting, bool) or not _items_fit(name, fitting):
            raise ConfigError(
                f"{path}: [tool.opscan] {key} must be a {_WANTED.get(name, _NAMES[wanted])}, not {value!r}"
            )
        for one in fitting if isinstance(fitting, tuple) else (fitting,):
            if name in _CHOICES and one not in _CHOICES[name]:
                choices = ", ".join(_CHOICES[name])
                raise ConfigError(f"{path}: [tool.opscan] {key} must be one of {choices}, not {one!r}")
        if name in _PATTERNS and not _is_pattern(str(fitting), _PATTERNS[name]):
            parts = " and ".join(f"{{{part}}}" for part in _PATTERNS[name])
            raise ConfigError(f"{path}: [tool.opscan] {key} must be a name with {parts} in it and something besides, "
                              f"not {value!r}")  # fmt: skip
        if fitting < _LEAST.get(name, fitting):
            raise ConfigError(f"{path}: [tool.opscan] {key} must be at least {_LEAST[name]}, not {value!r}")
        values[name] = tuple(path.parent / folder for folder in fitting) if name in _FOLDERS else fitting
    return replace(settings, **values)


def _fitted(value: Any, wanted: type) -> Any:
    """TOML has lists where settings have tuples, and whole numbers where they have fractions."""
    if isinstance(value, list) and wanted is tuple:
        return tuple(value)
    return float(value) if wanted is float and type(value) is int else value


def _items_fit(name: str, value: Any) -> bool:
    """Whether a list holds what its setting needs; other values have no items."""
    if not isinstance(value, tuple):
        return True
    if name == "upstream":
        return len(value) == 2 and all(type(end) in (int, float) for end in value)
    return all(isinstance(item, str) for item in value)


def _is_pattern(value: str, parts: Sequence[str]) -> bool:
    """Whether a name pattern gives each name another one, in the same folder."""
    try:
        made = value.format(**dict.fromkeys(parts, "x"))
    except (KeyError, IndexError, ValueError, AttributeError):
        return False
    whole = all(value.count(f"{{{part}}}") == 1 for part in parts)
    return whole and made != "x" * len(parts) and not any(mark in value for mark in "/\\")


_PATTERNS = {"split_name": ("stem", "suffix"), "split_generator": ("name",)}
_WANTED = {"upstream": "list of two numbers", "select": "list of rules", "ignore": "list of rules"}
_FOLDERS = frozenset({"rules", "import_folders"})
_WANTED.update(dict.fromkeys(_FOLDERS, "list of folders"))
_SPOKEN = frozenset({"run_generators"})
"""Settings that no file can set."""
_LEAST: dict[str, Any] = {
    "jobs": 0,
    "trace_seconds": 0.1,
    "trace_mebibytes": 64,
    "run_cases": 1,
    "run_seconds": 0.1,
    "run_mebibytes": 64,
}
_CHOICES = {
    "standard": ("auto", "named", "derived"),
    "golden": ("framework", "exact"),
    "hf32": ("matmul", "convolution"),
}
_NAMES = {tuple: "list", str: "string", float: "number", int: "whole number"}
