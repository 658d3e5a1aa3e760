"""Everything a user's folder of rules can hold, checked at once, before the first file of a catalog is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opscan.judging import folders, profiles, rules


def load(own: Sequence[Path], profile: str) -> None:
    """Put the user's folders in force. Raises StandardsError, with file, line and column, for whatever is wrong there.

    What ships is read when it is needed; its own tests check it.
    """
    folders.use(own)
    profiles.load_profile(profile)
    if folders.own_folders():
        from opscan.judging import assignments, devices, exports, standards

        rules.own_rules()
        standards.load_standards()
        assignments.load_assignments()
        devices.load_devices()
        for tool in exports.TOOLS:
            exports.load_entries(tool)
