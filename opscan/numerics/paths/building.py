"""Build `catalog/paths/`: derive every subject in processes of their own, and write the files at the end.

A build that is interrupted goes on where it was, as long as torch, the rules and the learner are the same.
"""

from __future__ import annotations

import json
import os
import pickle
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opscan.numerics.paths.shipping import write_json
from opscan.numerics.store import salt

_GRACE_S = 60.0
"""Beyond the time for its paths: checks of aliases, and the last learning step."""
_STARTING_S = 120.0


@dataclass(frozen=True)
class Built:
    """What a build has done: subjects, those with paths, paths, names that resolve to one, traces."""

    subjects: int
    with_paths: int
    paths: int
    names: int
    traces: int
    failures: dict[str, dict[str, str]]


@dataclass
class _Process:
    process: subprocess.Popen[str]
    number: int | None = None
    deadline: float = field(default=0.0)


def build(
    folders: Sequence[Path], target: Path, *, only: str = "", jobs: int = 2, seconds: float = 10.0,
    progress: Callable[[int, int, str], None] = lambda *_: None,
) -> Built:  # fmt: skip
    """Derive all subjects whose name contains `only` and write `target`; specs in `folders` give calls to start from.

    Raises ImportError without torch.
    """
    work = _work_folder()
    subjects = _subjects(work, folders)
    wanted = [number for number, subject in enumerate(subjects) if only in subject.name]
    left = deque(number for number in wanted if not (work / f"{number}.json").exists())
    done = len(wanted) - len(left)
    crew = _Crew(work, seconds, jobs)
    try:
        for number in crew.run(left):
            done += 1
            progress(done, len(wanted), subjects[number].name)
    finally:
        crew.close()
    return _assemble(work, wanted, target)


def _work_folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folder = base / "opscan" / f"build-{salt()}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _subjects(work: Path, folders: Sequence[Path]) -> list[Any]:
    kept = work / "subjects.pickle"
    if not kept.exists():
        from opscan.numerics.paths.subjects import subjects

        partial = kept.with_suffix(".partial")
        partial.write_bytes(pickle.dumps(subjects(folders)))
        partial.rename(kept)
    loaded: list[Any] = pickle.loads(kept.read_bytes())
    return loaded


class _Crew:
    """Processes that derive, one subject each at a time."""

    def __init__(self, work: Path, seconds: float, jobs: int) -> None:
        self._work = work
        self._seconds = seconds
        self._jobs = jobs
        self._processes: list[_Process] = []
        self._selector = selectors.DefaultSelector()

    def run(self, left: deque[int]) -> Any:
        """Yield the number of each subject once its result is there."""
        while left or any(member.number is not None for member in self._processes):
            while left and len(self._processes) < self._jobs:
                self._hire()
            for member in self._processes:
                if member.number is None and left:
                    self._give(member, left.popleft())
            yield from self._wait()

    def _hire(self) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "opscan.numerics.paths.worker", str(self._work), str(self._seconds)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        member = _Process(process)
        self._processes.append(member)
        self._selector.register(process.stdout, selectors.EVENT_READ, member)  # type: ignore[arg-type]

    def _give(self, member: _Process, number: int) -> None:
        member.number = number
        member.deadline = time.monotonic() + self._seconds * 2 + _GRACE_S + _STARTING_S
        with suppress(OSError):
            member.process.stdin.write(f"{number}\n")  # type: ignore[union-attr]
            member.process.stdin.flush()  # type: ignore[union-attr]

    def _wait(self) -> Any:
        for key, _ in self._selector.select(timeout=5):
            member: _Process = key.data
            line = member.process.stdout.readline()  # type: ignore[union-attr]
            number = member.number
            if not line:
                yield from self._lose(member, "the process that derived it died")
            elif line.strip() == str(number) and number is not None:
                member.number = None
                yield number
        for member in [m for m in self._processes if m.number is not None and m.deadline < time.monotonic()]:
            yield from self._lose(member, "it took too long")

    def _lose(self, member: _Process, reason: str) -> Any:
        self._processes.remove(member)
        self._selector.unregister(member.process.stdout)  # type: ignore[arg-type]
        member.process.kill()
        member.process.wait()
        if member.number is not None:
            content = {"number": member.number, "failures": {"": reason}}
            (self._work / f"{member.number}.json").write_text(json.dumps(content), encoding="utf-8")
            yield member.number

    def close(self) -> None:
        for member in self._processes:
            member.process.kill()
            member.process.wait()
        self._selector.close()


def _assemble(work: Path, numbers: Sequence[int], target: Path) -> Built:
    """Write one file an operator and the index."""
    target.mkdir(parents=True, exist_ok=True)
    names: dict[str, Any] = {}
    failures: dict[str, dict[str, str]] = {}
    with_paths = paths = traces = 0
    for number in numbers:
        result = json.loads((work / f"{number}.json").read_text(encoding="utf-8"))
        traces += result.get("traces", 0)
        if result.get("failures"):
            failures[result.get("name", str(number))] = result["failures"]
        if "entry" not in result:
            continue
        name = result["name"]
        if result["paths"]:
            with_paths += 1
            paths += sum(len(entries) for entries in result["paths"].values())
            write_json(target / f"{name.replace(':', '.')}.json", result["paths"])
        for known, entry in ({name: result["entry"]} | result["aliases"]).items():
            names[known] = _indexed(entry, name.replace(":", "."))
    index_path = target / "index.json"
    known_before = json.loads(index_path.read_text(encoding="utf-8"))["names"] if index_path.exists() else {}
    names = known_before | names
    write_json(index_path, {"torch": _torch_version(), "names": names, "schemas": _schemas()})
    return Built(len(numbers), with_paths, paths, sum("file" in entry for entry in names.values()), traces, failures)


def _indexed(entry: dict[str, Any], file: str) -> dict[str, Any]:
    found: dict[str, Any] = {"parameters": entry["parameters"], "keywords": entry["keywords"]}
    if entry["as"] is not None:
        found["file"] = file
        if entry["as"] != entry["parameters"]:
            found["as"] = entry["as"]
    return found


def _torch_version() -> str:
    import torch

    return str(torch.__version__).partition("+")[0]


def _schemas() -> dict[str, str]:
    """The signatures that entries of `catalog/operators/` take from ATen, so that they can be read without it."""
    from opscan.numerics import names as described

    found = {}
    for place in described.places():
        entry = described.load(place)
        if entry.aten:
            found[entry.aten] = described.schema_of(entry.aten, place)
    return dict(sorted(found.items()))
