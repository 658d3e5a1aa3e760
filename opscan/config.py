"""Settings: what a run assumes and reports, from the command line and `[tool.opscan]` of the nearest pyproject.toml."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from opscan.dataclass import dataclass
from opscan.interface import FAIL_ON
from opscan.reading.texts import text_of

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


class FolderSettings:
    """The settings of every file: those of the folder nearest to it that has any, under what the command line says."""

    def __init__(self, spoken: Mapping[str, Any] | None = None) -> None:
        self._spoken = dict(spoken or {})
        self._known: dict[Path, Settings] = {}

    def of(self, path: Path) -> Settings:
        """The settings of a file, or for what lies in a folder. Raises ConfigError."""
        folder = Path(os.path.abspath(path if path.is_dir() else path.parent))
        if folder not in self._known:
            settings = _settings_below(folder)
            self._known[folder] = replace(settings, **self._spoken) if self._spoken else settings
        return self._known[folder]


def folder_settings(**overrides: Any) -> FolderSettings:
    """The settings of every folder under what the command line says; an override that is None says nothing."""
    return FolderSettings({key: value for key, value in overrides.items() if value is not None and value != ()})


def load_settings(start: Path, **overrides: Any) -> Settings:
    """The settings for files below `start`. Raises ConfigError for an unknown key or a value that cannot be used."""
    return folder_settings(**overrides).of(start)


def _settings_below(folder: Path) -> Settings:
    """Those of the nearest file that speaks of opscan; one that does not leaves the word to those above it."""
    for candidate in (folder, *folder.parents):
        text = text_of(candidate / "pyproject.toml")
        if "[tool.opscan" in text:
            return _read(candidate / "pyproject.toml", text)
    return Settings()


@lru_cache(maxsize=256)
def _read(path: Path, text: str) -> Settings:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        section = tomllib.loads(text).get("tool", {}).get("opscan", {})
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"{_shown(path)}: {problem}") from None
    except RecursionError:
        raise ConfigError(f"{_shown(path)}: nested too deeply; no setting is") from None
    if not isinstance(section, dict):
        raise ConfigError(f"{_shown(path)}: [tool.opscan] is no table")
    return _Section(path, text).settings(section)


def _shown(path: Path) -> str:
    return str(path).removeprefix(os.getcwd() + os.sep)


@dataclass(frozen=True, slots=True)
class _Section:
    """`[tool.opscan]` of one file, whose faults are told with their lines."""

    path: Path
    text: str

    def settings(self, section: Mapping[str, Any]) -> Settings:
        known = {field.name.replace("_", "-"): field.name for field in fields(Settings) if field.name not in _SPOKEN}
        values: dict[str, Any] = {}
        for key, value in section.items():
            name = known.get(key, key if key in known.values() else None)
            if key.replace("-", "_") in _SPOKEN:
                raise self.error(key, f"can only be given on the command line (--{key}): a file that lies beside "
                                 "plugins must not be able to have them run")  # fmt: skip
            if name is None:
                raise self.error(key, f"is no setting; known: {', '.join(known)}")
            values[name] = self.value(key, name, value)
        return replace(Settings(), **values)

    def value(self, key: str, name: str, value: Any) -> Any:
        """A value as the settings hold it. Raises ConfigError, saying what is allowed."""
        present = getattr(Settings(), name)
        wanted = tuple if isinstance(present, tuple) else type(present)
        fitting: Any = _fitted(value, wanted)
        if not isinstance(fitting, wanted) or isinstance(fitting, bool) or not _items_fit(name, fitting):
            raise self.error(key, f"must be a {_WANTED.get(name, _NAMES[wanted])}, not {_cut(value)}")
        for one in fitting if isinstance(fitting, tuple) else (fitting,):
            if name in _CHOICES and one not in _CHOICES[name]:
                raise self.error(key, f"must be one of {', '.join(_CHOICES[name])}, not {_cut(one)}")
        if name in _PATTERNS and not _is_pattern(str(fitting), _PATTERNS[name]):
            parts = " and ".join(f"{{{part}}}" for part in _PATTERNS[name])
            raise self.error(key, f"must be a name with {parts} in it and something besides, not {_cut(value)}")
        if name in _BETWEEN:
            least, most = _BETWEEN[name]
            if not least <= float(str(fitting)) <= most:  # nor does NaN
                raise self.error(key, f"must lie between {least:g} and {most:g}, not {_cut(value)}")
        return tuple(self.path.parent / folder for folder in fitting) if name in _FOLDERS else fitting

    def error(self, key: str, message: str) -> ConfigError:
        line = self._line(key)
        place = f"{_shown(self.path)}:{line}" if line else _shown(self.path)
        return ConfigError(f"{place}: [tool.opscan] {key} {message}")

    def _line(self, key: str) -> int:
        """The line of a key in its section, 0 where it is written in another way."""
        inside = False
        for number, line in enumerate(self.text.splitlines(), start=1):
            if line.startswith("["):
                inside = line.startswith("[tool.opscan")
            elif inside and line.partition("=")[0].strip().strip("\"'") == key:
                return number
        return 0


def _cut(value: Any) -> str:
    try:
        text = repr(value)
    except RecursionError:
        return "what is nested so deeply"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


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
        numbers = len(value) == 2 and all(type(end) in (int, float) for end in value)
        return numbers and -math.inf < value[0] <= value[1] < math.inf
    return all(isinstance(item, str) for item in value)


def _is_pattern(value: str, parts: Sequence[str]) -> bool:
    """Whether a name pattern gives each name another one, in the same folder."""
    try:
        made = value.format(**dict.fromkeys(parts, "x"))
    except (KeyError, IndexError, ValueError, AttributeError):
        return False
    whole = all(value.count(f"{{{part}}}") == 1 for part in parts)
    return whole and made != "x" * len(parts) and made.isprintable() and not any(mark in value for mark in "/\\")


_SHOWN = 60
_PATTERNS = {"split_name": ("stem", "suffix"), "split_generator": ("name",)}
_WANTED = {
    "upstream": "list of two finite numbers, the lower first",
    "select": "list of rules",
    "ignore": "list of rules",
}
_FOLDERS = frozenset({"rules", "import_folders"})
_WANTED.update(dict.fromkeys(_FOLDERS, "list of folders"))
_SPOKEN = frozenset({"run_generators"})
"""Settings that no file can set."""
_BETWEEN: dict[str, tuple[float, float]] = {
    "limit": (0, 1),
    "draws": (1, 10_000),
    "jobs": (0, 1024),
    "trace_seconds": (0.1, 86_400),
    "trace_mebibytes": (64, 1 << 20),
    "run_cases": (1, 1_000_000),
    "run_seconds": (0.1, 86_400),
    "run_mebibytes": (64, 1 << 20),
}
_CHOICES = {
    "fail_on": FAIL_ON,
    "standard": ("auto", "named", "derived"),
    "golden": ("framework", "exact"),
    "hf32": ("matmul", "convolution"),
}
_NAMES = {tuple: "list", str: "string", float: "number", int: "whole number"}
