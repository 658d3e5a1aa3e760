"""Trace in processes of their own, several at once: what crashes, hangs or fills memory takes only its own case along.

A process gets a batch and answers case by case. When it dies, the case it was at is tried once more, alone in a fresh
process, for an earlier one may have corrupted the memory; the rest of its batch goes back to the others.
"""

from __future__ import annotations

import os
import queue
import sys
import time
import weakref
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from opscan.model import Classification
from opscan.numerics.messages import Answer, Limits, Question, missing_torch
from opscan.numerics.process import Event, Process
from opscan.numerics.store import load

COMMAND = (sys.executable, "-m", "opscan.numerics.worker")
MOST_PROCESSES = 4
"""Without a wish: each takes 300 MiB, and gains less than the one before."""
WORTH = 250
"""So many cases take about as long to trace as PyTorch takes to import, which every process has to do."""
LARGEST_BATCH = 32
TRIES = 2
SPARED_AFTER = 3
"""Cases of one operator that may fail in the same way before its others are not tried any more."""


@lru_cache(maxsize=4)
def shared_workers(limits: Limits) -> Workers:
    """The workers of this process with these limits; they wait for the next audit and end with the process."""
    return Workers(limits)


class Workers:
    """Processes are started when there is something to ask, and kept; `close` ends them, as the end of Python does."""

    def __init__(self, limits: Limits, command: Sequence[str] = ()) -> None:
        self._limits = limits
        self._command = tuple(command)
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._processes: list[Process] = []
        self._failed_starts = 0
        self._finalizer = weakref.finalize(self, _end_all, self._processes, os.getpid())

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """One answer per question, in the same order. What cannot be traced is `unknown` with the cause."""
        if not questions:
            return []
        work = _Work(questions, self._wanted(len(questions)), self._limits)
        try:
            while work.open:
                self._staff(work)
                self._step(work)
        except BaseException:
            self.close()  # the answers that are still to come belong to nobody
            raise
        return work.answers()

    def close(self) -> None:
        """End all processes now."""
        _end_all(self._processes, os.getpid())

    def _wanted(self, count: int) -> int:
        if self._limits.processes:
            return min(self._limits.processes, count)
        return max(1, min(_usable_cpus(), MOST_PROCESSES, count // WORTH))

    def _staff(self, work: _Work) -> None:
        """Start the processes that are missing, and give every idle one something to do."""
        fresh = sum(process.fresh for process in self._processes)
        while work.waiting and (len(self._processes) < work.wanted or fresh < len(work.suspects)):
            try:
                self._processes.append(Process(self._command or COMMAND, self._limits, self._events))
            except OSError as problem:
                if self._processes:
                    break
                work.give_up(f"no process can be started to trace in: {problem.strerror or problem}")
                return
            fresh += 1
        for process in self._processes:
            if process.idle and (places := work.next_batch(fresh=process.fresh)):
                process.ask(places, [work.questions[place] for place in places])

    def _step(self, work: _Work) -> None:
        """Wait for the next message or the next deadline, and act on it."""
        now = time.monotonic()
        for late in [process for process in self._processes if process.deadline <= now]:
            late.kill(f"ran longer than {self._limits.seconds:g} s" if late.ready else "took too long to start")
        nearest = min((process.deadline for process in self._processes), default=now)
        try:
            process, message = self._events.get(timeout=min(max(nearest - now, 0.01), 60))
        except queue.Empty:
            return
        if process not in self._processes:
            return
        if message is None:
            self._bury(process, work)
        elif not process.ready:
            process.ready = True
            self._failed_starts = 0
            process.rest()
        elif message[0] == "memory":
            process.kill(f"needs more than {self._limits.mebibytes} MiB")
        else:
            work.settle(process.asked.popleft(), message)
            if not process.asked:
                process.rest()

    def _bury(self, process: Process, work: _Work) -> None:
        self._processes.remove(process)
        cause = process.end()
        if process.ready:
            work.fail(list(process.asked), cause)
            return
        self._failed_starts += 1
        if self._failed_starts >= TRIES:
            work.give_up(f"no process can be started to trace in: it {cause}")


class _Work:
    """What one call of `answer` still has to find out. `suspects`: cases at which a process died, to be tried alone."""

    def __init__(self, questions: Sequence[Question], wanted: int, limits: Limits) -> None:
        self.questions = questions
        self.wanted = wanted
        self.suspects: deque[int] = deque()
        self._limits = limits
        self._batches = deque(_batches(len(questions), wanted))
        self._answers: dict[int, Answer] = {}
        self._tries: Counter[int] = Counter()
        self._failures: dict[str | None, list[str]] = {}

    @property
    def open(self) -> bool:
        return len(self._answers) < len(self.questions)

    @property
    def waiting(self) -> bool:
        return bool(self._batches or self.suspects)

    def answers(self) -> list[Answer]:
        return [self._answers[place] for place in range(len(self.questions))]

    def next_batch(self, *, fresh: bool) -> list[int]:
        """Places of the next questions to ask, none if there are none for such a process."""
        if fresh and self.suspects:
            return [self.suspects.popleft()]
        while self._batches:
            if batch := [place for place in self._batches.popleft() if not self._is_spared(place)]:
                return batch
        return []

    def settle(self, place: int, message: list[Any]) -> None:
        """Take an answer. Raises nothing for one that makes no sense: it is a failure like others."""
        try:
            kind, content = message
            if kind == "known":
                self._answers[place] = Answer(load(content))
            elif kind == "missing":
                self._answers[place] = missing_torch(content)
            else:
                self._answers[place] = self._unknown(place, f"raised {content}")
        except (TypeError, ValueError, KeyError):
            self._answers[place] = self._unknown(place, "gave an answer that cannot be read")

    def fail(self, places: list[int], cause: str) -> None:
        """A process died at the first of `places`."""
        if not places:
            return
        first, rest = places[0], places[1:]
        self._tries[first] += 1
        if self._tries[first] < TRIES:
            self.suspects.append(first)
        else:
            self._answers[first] = self._unknown(first, cause)
            self._failures.setdefault(self._operator(first), []).append(cause)
        if rest:
            self._batches.appendleft(rest)

    def give_up(self, reason: str) -> None:
        """Answer all that is left with `reason`."""
        for place in range(len(self.questions)):
            self._answers.setdefault(place, self._unknown(place, "", reason))
        self._batches.clear()
        self.suspects.clear()

    def _is_spared(self, place: int) -> bool:
        """Whether the operator has failed often enough; its case is then answered at once."""
        failures = self._failures.get(self._operator(place), [])
        if len(failures) < SPARED_AFTER:
            return False
        self._answers[place] = self._unknown(place, f"was not tried: {len(failures)} others {failures[-1]}")
        return True

    def _operator(self, place: int) -> str | None:
        case = self.questions[place].case
        return case.name or case.aclnn_name

    def _unknown(self, place: int, cause: str, reason: str = "") -> Answer:
        from opscan.numerics.names import basis_of

        reason = reason or f"the trace of {self._operator(place)} {cause}"
        return Answer(Classification((), basis_of(self.questions[place].case), reason), lasting=False)


def _batches(count: int, processes: int) -> Iterator[list[int]]:
    """Small enough that all processes have work until the end."""
    size = max(1, min(LARGEST_BATCH, count // (4 * processes)))
    for start in range(0, count, size):
        yield list(range(start, min(start + size, count)))


def _usable_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _end_all(processes: list[Process], owner: int) -> None:
    """Kill first and wait then, so that they end at the same time. A fork has the list, but not the processes."""
    if os.getpid() != owner:
        return
    for process in processes:
        process.kill("was no longer needed")
    for process in processes:
        process.end()
    processes.clear()
