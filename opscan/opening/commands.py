"""The commands of all run scripts, found by the file that they name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from opscan.model import ANYTHING, HERE, Command, RunScript
from opscan.opening.catalog import absolute, apart

Found = tuple[RunScript, Command]
_LEVELS = 3
"""How many folders above its own a script may be started from."""


class Commands:
    """Commands by the spec or case file whose cases they generate or run.

    A name counts from where the script has gone to, from its own folder, from one above, or from the working directory:
    the first at which a known file lies. A name that leads to no known file still means the cases of that name, for
    `atk case` writes them where it is started; a name that cannot be told whole means each file that fits it, unless
    another command names that one itself.
    """

    def __init__(self, scripts: Iterable[RunScript], known: frozenset[Path]) -> None:
        self._commands = [(script, command) for script in scripts for command in script.commands]
        self._exact: dict[Path, list[int]] = {}
        self._cases: dict[str, list[int]] = {}
        self._fitting: list[tuple[re.Pattern[str], int]] = []
        for number, (script, command) in enumerate(self._commands):
            for name in command.files:
                self._add(number, script, command, name.replace("\\", "/"), known)

    def _add(self, number: int, script: RunScript, command: Command, name: str, known: frozenset[Path]) -> None:
        if "*" in name or "?" in name:
            tail = name.rsplit("/", 1)[-1]
            places = list(start_folders(script, command))
            if name.startswith(HERE):
                places, name = [absolute(script.source.path).parent], name.removeprefix(HERE).lstrip("/")
            for place in places if "*" not in tail and "?" not in tail else places[:1]:
                self._fitting.append((_pattern(os.path.normpath(os.path.join(place, name))), number))
            return
        path = next((p for p in paths_of(script, command, name) if p in known), None)
        if path is not None:
            self._exact.setdefault(path, []).append(number)
        elif command.verb == "task":
            self._cases.setdefault(name.rsplit("/", 1)[-1], []).append(number)

    def naming(self, path: Path, cases: str = "", rivals: Sequence[Path] = ()) -> tuple[Found, ...]:
        """The commands that name a file, in the order in which they stand.

        `cases`: the name of the case file that is meant too, wherever it lies; `rivals`: others whose cases have that
        name, so that a command means whichever is nearest to its script.
        """
        found = set(self._exact.get(path, ()))
        found |= self._nearest(self._cases.get(cases, ()), path, rivals)
        verbs = {self._commands[number][1].verb for number in found}
        texts = [path.as_posix()]
        if cases and cases != path.name:  # the cases of a spec, wherever they will be
            written = Path("result", path.stem, "json", cases)
            texts += [(folder / written).as_posix() for folder in path.parents[: _LEVELS + 1]]
        for pattern, number in self._fitting:
            if self._commands[number][1].verb not in verbs and any(map(pattern.fullmatch, texts)):
                found.add(number)
        return tuple(self._commands[number] for number in sorted(found))

    def _nearest(self, numbers: Sequence[int], path: Path, rivals: Sequence[Path]) -> set[int]:
        """Of commands that mean cases by their name alone, those of the scripts that lie nearest."""
        places = {number: absolute(self._commands[number][0].source.path) for number in numbers}
        steps = {number: apart(place, path) for number, place in places.items()}
        found = {number for number in numbers if steps[number] == min(steps.values())}
        return {n for n in found if all(apart(places[n], rival) > steps[n] for rival in rivals)}


def paths_of(script: RunScript, command: Command, name: str) -> Iterator[Path]:
    """Where a name of a command can lead, the likeliest first; none for one that cannot be told whole."""
    if ANYTHING in name:
        return
    own = absolute(script.source.path).parent
    if name.startswith(HERE):
        yield absolute(own / name.removeprefix(HERE).lstrip("/"))
        return
    for place in start_folders(script, command):
        yield absolute(place / name)


def start_folders(script: RunScript, command: Command) -> Iterator[Path]:
    """The folders from which the names of a command can count."""
    own = absolute(script.source.path).parent
    if command.folder is not None:
        gone = command.folder
        yield absolute(own / (gone.removeprefix(HERE).lstrip("/") if gone.startswith(HERE) else gone))
    yield own
    yield from own.parents[:_LEVELS]
    yield Path.cwd()


@lru_cache(maxsize=1024)
def _pattern(name: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*|\?)", re.sub(r"\*{3,}", ANYTHING, name))
    shell = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    if sum(part in shell for part in parts) > 6:
        return re.compile(r"(?!)")  # nobody can tell what it means, and matching it takes long
    return re.compile("".join(shell.get(part) or re.escape(part) for part in parts))
