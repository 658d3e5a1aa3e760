"""Work in processes of their own, several at once: what crashes, hangs or fills memory takes its own question along.

A process gets a batch and answers one after the other. When it dies, the question it was at is tried again, alone in a
fresh process, for an earlier one may have corrupted the memory; the rest of its batch goes back to the others.
"""

from __future__ import annotations

import os
import queue
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from opscan.workers.limits import Limits
from opscan.workers.process import Event, Process

Q = TypeVar("Q")
A = TypeVar("A")
Q_contra = TypeVar("Q_contra", contravariant=True)
A_co = TypeVar("A_co", covariant=True)

MOST_PROCESSES = 4
"""Without a wish: each takes 300 MiB, and gains less than the one before."""
WORTH = 250
"""So many cases take about as long to trace as PyTorch takes to import, which every process has to do."""
LARGEST_BATCH = 32
TRIES = 2
SPARED_AFTER = 3
"""Questions on one subject that may fail in the same way before its others are not tried any more."""


class Service(Protocol[Q_contra, A_co]):
    """What the processes are asked. `command`: what starts one, which then calls `serving.serve`; `task`: a verb."""

    @property
    def command(self) -> Sequence[str]: ...

    @property
    def task(self) -> str: ...

    def sent(self, question: Q_contra) -> object:
        """The question as it travels; it must pickle."""

    def subject(self, question: Q_contra) -> str | None:
        """Whose questions are spared after some have failed."""

    def answer(self, question: Q_contra, message: Sequence[Any]) -> A_co:
        """What a message says; raises TypeError, ValueError or KeyError for one that makes no sense."""

    def failure(self, question: Q_contra, reason: str) -> A_co:
        """The answer where there is none, and why."""


class Workers(Generic[Q, A]):
    """Processes are started when there is something to ask, and kept; `close` ends them, as the end of Python does."""

    def __init__(self, limits: Limits, service: Service[Q, A]) -> None:
        self._limits = limits
        self._service = service
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._processes: list[Process] = []
        self._failed_starts = 0
        self._finalizer = weakref.finalize(self, _end_all, self._processes, os.getpid())

    def answer(self, questions: Sequence[Q], note: Callable[[Q, A], None] = lambda *_: None) -> list[A]:
        """One answer per question, in the same order; `note` is told each as soon as it is there."""
        if not questions:
            return []
        work = _Work(questions, self._wanted(len(questions)), self._service, note)
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

    def _staff(self, work: _Work[Q, A]) -> None:
        """Start the processes that are missing, and give every idle one something to do."""
        fresh = sum(process.fresh for process in self._processes)
        while work.waiting and (len(self._processes) < work.wanted or fresh < len(work.suspects)):
            try:
                self._processes.append(Process(self._service.command, self._limits, self._events))
            except OSError as problem:
                if self._processes:
                    break
                work.give_up(f"no process can be started to {self._service.task} in: {problem.strerror or problem}")
                return
            fresh += 1
        for process in self._processes:
            if process.idle and (places := work.next_batch(fresh=process.fresh)):
                process.ask(places, [self._service.sent(work.questions[place]) for place in places])

    def _step(self, work: _Work[Q, A]) -> None:
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

    def _bury(self, process: Process, work: _Work[Q, A]) -> None:
        self._processes.remove(process)
        cause = process.end()
        if process.ready:
            work.fail(list(process.asked), cause)
            return
        self._failed_starts += 1
        if self._failed_starts >= TRIES:
            work.give_up(f"no process can be started to {self._service.task} in: it {cause}")


class _Work(Generic[Q, A]):
    """What one call of `answer` still has to find out. `suspects`: those at which a process died, to be tried alone."""

    def __init__(
        self, questions: Sequence[Q], wanted: int, service: Service[Q, A], note: Callable[[Q, A], None]
    ) -> None:
        self.questions = questions
        self.wanted = wanted
        self.suspects: deque[int] = deque()
        self._service = service
        self._note = note
        self._batches = deque(_batches(len(questions), wanted))
        self._answers: dict[int, A] = {}
        self._tries: Counter[int] = Counter()
        self._failures: dict[str | None, list[str]] = {}

    @property
    def open(self) -> bool:
        return len(self._answers) < len(self.questions)

    @property
    def waiting(self) -> bool:
        return bool(self._batches or self.suspects)

    def answers(self) -> list[A]:
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
            self._put(place, self._service.answer(self.questions[place], message))
        except (TypeError, ValueError, KeyError):
            self._fail(place, "gave an answer that cannot be read")

    def fail(self, places: list[int], cause: str) -> None:
        """A process died at the first of `places`."""
        if not places:
            return
        first, rest = places[0], places[1:]
        self._tries[first] += 1
        if self._tries[first] < TRIES:
            self.suspects.append(first)
        else:
            self._fail(first, cause)
            self._failures.setdefault(self._subject(first), []).append(cause)
        if rest:
            self._batches.appendleft(rest)

    def give_up(self, reason: str) -> None:
        """Answer all that is left with `reason`."""
        for place, question in enumerate(self.questions):
            if place not in self._answers:
                self._put(place, self._service.failure(question, reason))
        self._batches.clear()
        self.suspects.clear()

    def _is_spared(self, place: int) -> bool:
        """Whether the subject has failed often enough; its question is then answered at once."""
        failures = self._failures.get(self._subject(place), [])
        if len(failures) < SPARED_AFTER:
            return False
        self._fail(place, f"was not tried: {len(failures)} others {failures[-1]}")
        return True

    def _subject(self, place: int) -> str | None:
        return self._service.subject(self.questions[place])

    def _fail(self, place: int, cause: str) -> None:
        question, task = self.questions[place], self._service.task
        self._put(place, self._service.failure(question, f"the {task} of {self._subject(place)} {cause}"))

    def _put(self, place: int, answer: A) -> None:
        self._answers[place] = answer
        self._note(self.questions[place], answer)


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
