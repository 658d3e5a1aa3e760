"""Which rules, standards and assignments are in force: what ships, and behind it the folders of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opscan.dataclass import dataclass
from opscan.judging.assignments import Assignments, load_assignments
from opscan.judging.folders import installed_folders
from opscan.judging.standards import Standards, standards_of


@dataclass(frozen=True, slots=True)
class Rulebook:
    """`folders`: those of installed packages first, so that the user's can override them."""

    folders: tuple[Path, ...] = ()

    @property
    def standards(self) -> Standards:
        return standards_of(self.folders)

    @property
    def assignments(self) -> Assignments:
        return load_assignments(self.folders)


def open_rulebook(own: Sequence[Path], profile: str) -> Rulebook:
    """The rules of a run, all of them checked before the first file of a catalog is read.

    Raises StandardsError, with file, line and column, for whatever is wrong in a folder of the user's own. What ships
    is read when it is needed; its own tests check it.
    """
    from opscan.judging.profiles import load_profile

    rulebook = Rulebook((*installed_folders(), *own))
    load_profile(profile, rulebook.folders)
    if rulebook.folders:
        from opscan.judging import devices, exports
        from opscan.judging.rules import own_rules

        own_rules(rulebook.folders)
        assert rulebook.standards
        assert rulebook.assignments
        devices.load_devices(rulebook.folders)
        for tool in exports.TOOLS:
            exports.load_entries(tool, rulebook.folders)
    return rulebook
