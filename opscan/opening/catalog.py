"""Everything that was read together, and what belongs to what: the value that every command starts from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from opscan.dataclass import dataclass
from opscan.model import CaseFile, Command, Fault, NodeFile, Plugin, RunScript, Scenarios, Spec, Unread

AnyFile = Spec | CaseFile | Plugin | NodeFile | RunScript | Unread


@dataclass(frozen=True, slots=True)
class Links:
    """The files that belong to one spec. The reasons say why a plugin is missing: none has the name, or several do.

    `executor_there`: a file registers the executor, though none can be used.
    """

    case_file: CaseFile | None = None
    generator: Plugin | None = None
    executor: Plugin | None = None
    commands: tuple[tuple[RunScript, Command], ...] = ()
    node_files: tuple[NodeFile, ...] = ()
    generator_reason: str = ""
    executor_reason: str = ""
    executor_there: bool = False
    scenarios: Scenarios = Scenarios()

    @property
    def golden(self) -> Plugin | str | None:
        """Where the golden stands; why it cannot be read, where its plugin is there; None where that is not at hand."""
        return self.executor or (self.executor_reason if self.executor_there else None)


@dataclass(frozen=True, slots=True)
class CaseLinks:
    """What belongs to one case file. `goldens`: see `Links.golden`, by the executor that its cases name.

    `unowned`: why no spec is known to have generated it, where ATK's own place and name say that one did.
    """

    owner: Spec | None = None
    scenarios: Scenarios = Scenarios()
    goldens: Mapping[str, Plugin | str] = field(default_factory=dict)
    unowned: str = ""


@dataclass(frozen=True, slots=True)
class Catalog:
    """All files that were read together, and the links of each spec and case file by its absolute path.

    `asked`: those that the user named, or that lie below folders he named, with what could not be read or found;
    `faults`: what is wrong with the paths themselves, by the path as it was given.
    """

    files: tuple[AnyFile, ...]
    by_spec: Mapping[Path, Links] = field(default_factory=dict)
    by_case_file: Mapping[Path, CaseLinks] = field(default_factory=dict)
    asked: tuple[AnyFile, ...] = ()
    faults: tuple[tuple[Path, Fault], ...] = ()

    def links(self, spec: Spec) -> Links:
        """The links of a spec; empty where the spec is not of this catalog."""
        return self.by_spec.get(absolute(spec.source.path), Links())

    def case_links(self, case_file: CaseFile) -> CaseLinks:
        """The links of a case file; empty where it is not of this catalog."""
        return self.by_case_file.get(absolute(case_file.source.path), CaseLinks())

    def owner(self, case_file: CaseFile) -> Spec | None:
        """The spec a case file was generated from, None where no spec of the catalog claims it."""
        return self.case_links(case_file).owner


def path_of(file: AnyFile) -> Path:
    """The path under which a file was read."""
    return file.path if isinstance(file, Unread) else file.source.path


def absolute(path: Path) -> Path:
    """The path by which files are compared: absolute and normal, symbolic links kept."""
    return Path(os.path.abspath(path))


def apart(one: Path, other: Path) -> int:
    """How many steps lead from one file to the other through the folders."""
    shared = sum(1 for a, b in zip(one.parts, other.parts, strict=False) if a == b)
    return len(one.parts) + len(other.parts) - 2 * shared
