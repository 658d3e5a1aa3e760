"""What travels between opscan and a process that runs a plugin, in frames of `opscan.numerics.messages`.

The request goes as a pickle, for only opscan writes it. What comes back is JSON, and is read as carefully as a file,
for the plugin had the process to itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opscan.config import Settings
from opscan.model import Case, Spec

PRINTED_MEBIBYTES = 16
"""What a plugin may print before it is stopped."""
ANSWER_BYTES = 64 << 20
"""The longest answer that is read."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one run may take: seconds of wall time, mebibytes of memory beyond what Python itself needs; and the folders
    besides the plugin's own whose modules it may import, absolute and without links."""

    seconds: float = 30.0
    mebibytes: int = 1024
    folders: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> Bounds:
        folders = (os.path.realpath(folder) for folder in settings.import_folders if folder.is_dir())
        return cls(settings.run_seconds, settings.run_mebibytes, tuple(folders))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What every process that runs a plugin is told. `plugin`: its file, absolute and without links."""

    plugin: str
    work: str = ""
    visible: tuple[str, ...] = ()
    bounds: Bounds = Bounds()
    without: tuple[str, ...] = ()
    """Lines of defence to leave out, for tests of the others."""

    @property
    def parts(self) -> int:
        """In how many parts the answer may come; each of them has the time that the bounds give."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation(Job):
    """A generator to be run. `design`: the spec's YAML value; `count`: cases at most, None for all that ATK makes."""

    generator: str
    spec: Spec
    design: Mapping[str, Any]
    seed: int
    count: int | None = None
    ceiling: int | None = None
    """Run no more cases than this, however many ATK makes."""
    invalid: tuple[str, ...] = ("tensor",)
    """The kinds of inputs whose invalid values are drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracing(Job):
    """The golden of an executor to be traced on the shapes of cases; the bounds hold for each of them."""

    executor: str
    cases: tuple[Case, ...]

    @property
    def parts(self) -> int:
        return len(self.cases)


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong with a plugin. `rule` names the finding; line 0: no line is known."""

    rule: str
    message: str
    file: str = ""
    line: int = 0
