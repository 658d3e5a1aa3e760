"""Processes that derive and check paths, one subject each at a time: what crashes or hangs costs only its subject."""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_STARTING_S = 120.0
"""Importing PyTorch from a cold drive takes long."""

Task = dict[str, Any]
"""What a worker is asked: `number` of the subject, `task`, and its settings."""


@dataclass
class _Member:
    process: subprocess.Popen[str]
    task: Task | None = None
    deadline: float = 0.0


class Crew:
    """`listing`: the file of the subjects; `seconds`: after which a task is given up. Close it to end the processes."""

    def __init__(self, listing: Path, jobs: int, seconds: float) -> None:
        self._listing = listing
        self._jobs = jobs
        self._seconds = seconds
        self._members: list[_Member] = []
        self._selector = selectors.DefaultSelector()

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, dict[str, Any]]]:
        """Each task with its result, as they come; one that took its process along has only `failures`."""
        left = deque(tasks)
        while left or any(member.task is not None for member in self._members):
            while left and len(self._members) < min(self._jobs, len(left) + len(self._members)):
                self._hire()
            for member in self._members:
                if member.task is None and left:
                    self._give(member, left.popleft())
            yield from self._wait()

    def _hire(self) -> None:
        command = [sys.executable, "-m", "opscan.numerics.paths.worker", str(self._listing)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        member = _Member(process)
        self._members.append(member)
        self._selector.register(process.stdout, selectors.EVENT_READ, member)  # type: ignore[arg-type]

    def _give(self, member: _Member, task: Task) -> None:
        member.task = task
        member.deadline = time.monotonic() + self._seconds + _STARTING_S
        with suppress(OSError):
            print(json.dumps(task), file=member.process.stdin, flush=True)

    def _wait(self) -> Iterator[tuple[Task, dict[str, Any]]]:
        for key, _ in self._selector.select(timeout=5):
            member: _Member = key.data
            line = member.process.stdout.readline() if member.process.stdout else ""
            task = member.task
            if not line:
                yield from self._lose(member, "the process died")
            elif task is not None:
                member.task = None
                yield task, json.loads(line)
        late = [m for m in self._members if m.task is not None and m.deadline < time.monotonic()]
        for member in late:
            yield from self._lose(member, "it took too long")

    def _lose(self, member: _Member, reason: str) -> Iterator[tuple[Task, dict[str, Any]]]:
        self._members.remove(member)
        self._selector.unregister(member.process.stdout)  # type: ignore[arg-type]
        _end(member)
        if member.task is not None:
            yield member.task, {"failures": {"": reason}}

    def close(self) -> None:
        for member in self._members:
            _end(member)
        self._selector.close()


def _end(member: _Member) -> None:
    member.process.kill()
    member.process.wait()
    for stream in (member.process.stdin, member.process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
