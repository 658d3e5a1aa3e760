"""What a run has found out so far, so that one that was cut off can go on: a table of the user's cache folder.

The key of an answer is all that it depends on: the case, its classes and standards, the text of its golden, the seeds,
the device, and the versions of opscan and of PyTorch. A journal that cannot be opened is none.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from opscan.cache import cache_folder, is_off
from opscan.model import Plugin
from opscan.numerics.store import salt
from opscan.validating.experiments import Counts, Experiment, dump, load

_SCHEMA = 1


class Journal:
    """Reads and writes never raise: what is not there is run again."""

    def __init__(self, device: str, path: Path | None = None) -> None:
        self._salt = f"{device} {salt()}"
        self._connection = None if is_off() else _open(path or cache_folder() / f"validating-{_SCHEMA}.sqlite")

    def recall(self, experiments: Sequence[Experiment]) -> dict[int, Mapping[str, Counts]]:
        """The answers that are kept, by the place of their experiment."""
        found: dict[int, Mapping[str, Counts]] = {}
        for place, experiment in enumerate(experiments):
            for (answer,) in self._ask("SELECT answer FROM runs WHERE key = ?", self._key(experiment)):
                with suppress(ValueError, TypeError, AttributeError):
                    found[place] = load(json.loads(answer))
        return found

    def keep(self, experiment: Experiment, answer: Mapping[str, Counts]) -> None:
        self._ask("INSERT OR REPLACE INTO runs VALUES (?, ?)", self._key(experiment), json.dumps(dump(answer)))

    def forget(self, experiments: Sequence[Experiment]) -> None:
        """All is done: the next run begins anew."""
        for experiment in experiments:
            self._ask("DELETE FROM runs WHERE key = ?", self._key(experiment))

    def _ask(self, statement: str, *values: str) -> list[tuple[str]]:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                return self._connection.execute(statement, values).fetchall()
        return []

    def _key(self, experiment: Experiment) -> str:
        golden = experiment.golden
        text = golden.source.text if isinstance(golden, Plugin) else golden
        case, known, rules = experiment.case, experiment.classification, sorted(experiment.rules.items())
        how = (experiment.runs, experiment.seed, experiment.upstream)
        return blake2b(repr((self._salt, case, known, rules, how, text)).encode(), digest_size=16).hexdigest()


def _open(path: Path) -> sqlite3.Connection | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=5, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, answer TEXT) WITHOUT ROWID")
    except (OSError, sqlite3.Error):
        return None
    return connection
