"""What is judged under the settings of a folder."""

from __future__ import annotations

from opscan.config import Settings
from opscan.judging.rulebook import open_rulebook
from opscan.judging.settings import Judge


def judge_under(settings: Settings) -> Judge:
    """Raises StandardsError for rules of the user's own that are wrong, ValueError for a device that there is not."""
    rules = open_rulebook(settings.rules, settings.profile)
    device = None
    if settings.device:
        from opscan.judging.devices import find_device

        device = find_device(settings.device, rules.folders)
    return Judge(
        settings.atk_version,
        settings.upstream,
        settings.limit,
        standard=settings.standard,
        hf32=settings.hf32,
        golden=settings.golden,
        rules=rules,
        device=device,
    )
