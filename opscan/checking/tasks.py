"""Which calls a check draws: as many of each operator, in portions that keep one process busy for a while."""

from __future__ import annotations

from collections.abc import Sequence

from opscan.checking.crew import Task
from opscan.checking.described import entries
from opscan.checking.naming import database, spellings

_PORTION = 64


def _is_named(base: str, parts: Sequence[str]) -> bool:
    """Whether one of `parts` is in the name of an entry, or in one of those under which a spec can have it."""
    names = (base, *spellings(base)) if base in database() else (base,)
    return any(part in name for part in parts for name in names)


def tasks_of(only: Sequence[str], *, calls: int, seed: int, share: float, seconds: float) -> list[Task]:
    """Tasks for `calls` calls in all, of the operators whose name contains one of `only` (of all, where there is none).

    Where there are more operators than calls, the seed chooses.
    """
    from random import Random

    bases = [base for base in sorted({*database(), *entries()}) if not only or _is_named(base, only)]
    if not bases:
        return []
    each, more = divmod(calls, len(bases))
    longer = set(Random(seed).sample(bases, more))
    tasks = []
    for base in bases:
        count = each + (base in longer)
        tasks += [
            Task(base, start, min(start + _PORTION, count), seed, share, seconds) for start in range(0, count, _PORTION)
        ]
    return tasks
