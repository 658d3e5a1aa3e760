"""Runs experiments in a process of its own, and remembers what it ran until all are done."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from opscan.validating.experiments import Counts, Experiment, load, refused
from opscan.validating.journal import Journal
from opscan.validating.missing import DeviceMissing
from opscan.workers.limits import Limits
from opscan.workers.pool import Workers

Answer = Mapping[str, Counts]
Progress = Callable[[int, int], None]
"""Is told how many cases of how many are done."""


class Running:
    """A question is an experiment, or None for whether the device is there."""

    task = "run"

    def __init__(self, device: str, hf32: Sequence[str], rules: Sequence[str]) -> None:
        self.command = (
            sys.executable, "-m", "opscan.validating.worker", device, json.dumps(list(hf32)), json.dumps(list(rules)),
        )  # fmt: skip

    def sent(self, question: Experiment | None) -> object:
        return None if question is None else question.without_tree()

    def subject(self, question: Experiment | None) -> str | None:
        return question.case.name if question is not None else "the device"

    def answer(self, question: Experiment | None, message: Sequence[Any]) -> Answer:
        """Raises DeviceMissing where the process cannot open its device."""
        kind, content = message
        if kind == "known":
            return load(content)
        if kind == "missing":
            raise DeviceMissing(content)
        return self.failure(question, f"the run of {self.subject(question)} raised {content}")

    def failure(self, question: Experiment | None, reason: str) -> Answer:
        if question is None:
            raise DeviceMissing(f"the device cannot be opened: {reason}")
        return refused(question, reason)


@lru_cache(maxsize=4)
def _workers(
    device: str, hf32: tuple[str, ...], rules: tuple[str, ...], seconds: float
) -> Workers[Experiment | None, Answer]:
    return Workers(Limits(1, seconds, 0), Running(device, hf32, rules))


class Bench:
    """`device`: see `devices.open_device`; one case may take `seconds`. Raises DeviceMissing where it is not there."""

    def __init__(
        self, device: str, hf32: Sequence[str], rules: Sequence[str], *, seconds: float, resume: bool = False
    ) -> None:
        self._workers = _workers(device, tuple(hf32), tuple(rules), seconds)
        self._workers.answer([None])
        self._device = f"{device} {list(hf32)} {list(rules)}"
        self._resume = resume

    def run(self, experiments: Sequence[Experiment], progress: Progress) -> list[Answer]:
        """One answer per experiment. Those of a run that was cut off are taken over where it is resumed."""
        journal = Journal(self._device)
        known: dict[int, Answer] = journal.recall(experiments) if self._resume else {}
        left = [one for place, one in enumerate(experiments) if place not in known]
        done = len(known)

        def note(question: Experiment | None, answer: Answer) -> None:
            nonlocal done
            done += 1
            if question is not None:
                journal.keep(question, answer)
            progress(done, len(experiments))

        fresh = iter(self._workers.answer(left, note))
        answers = [known[place] if place in known else next(fresh) for place in range(len(experiments))]
        journal.forget(experiments)
        return answers
