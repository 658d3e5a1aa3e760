"""Cases that are traced in processes of their own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from opscan.model import Classification
from opscan.numerics.messages import Answer, Question, missing_torch
from opscan.numerics.names import basis_of
from opscan.numerics.store import load
from opscan.workers.limits import Limits
from opscan.workers.pool import Workers

COMMAND = (sys.executable, "-m", "opscan.numerics.worker")


@lru_cache(maxsize=4)
def shared_workers(limits: Limits) -> Workers[Question, Answer]:
    """The workers of this process with these limits; they wait for the next audit and end with the process."""
    return Workers(limits, Tracing())


class Tracing:
    """A question is a case; what cannot be traced is `unknown` with the cause."""

    task = "trace"

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self.command = tuple(command)

    def sent(self, question: Question) -> Question:
        return question.without_tree()

    def subject(self, question: Question) -> str | None:
        return question.case.name or question.case.aclnn_name

    def answer(self, question: Question, message: Sequence[Any]) -> Answer:
        kind, content = message
        if kind == "known":
            return Answer(load(content))
        if kind == "missing":
            return missing_torch(content)
        return self.failure(question, f"the trace of {self.subject(question)} raised {content}")

    def failure(self, question: Question, reason: str) -> Answer:
        return Answer(Classification((), basis_of(question.case), reason), lasting=False)
