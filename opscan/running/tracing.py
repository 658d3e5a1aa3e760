"""The goldens of executors whose text cannot be followed, traced in the sandbox."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from opscan.config import Settings
from opscan.model import Classification, Fault, Plugin
from opscan.numerics import Classifier, Question
from opscan.numerics.memo import fingerprint
from opscan.numerics.store import load
from opscan.running.apart import run_apart
from opscan.running.messages import Bounds, Tracing, Trouble
from opscan.running.telling import Telling, trouble_of

Executor = tuple[str, str]
"""The path of a plugin, and the name that one of its executors registers."""


def trace_goldens(
    questions: Sequence[Question], classifier: Classifier, settings: Settings
) -> dict[Executor, list[Fault]]:
    """Run the golden of each question that could not be followed, and have the classifier take the answers.

    Returns what went wrong, by executor. Where a golden cannot be run either, the answer stays as it was.
    """
    unanswered: dict[Executor, dict[str, Question]] = {}
    for question in questions:
        if isinstance(question.golden, Plugin) and not _is_followed(classifier, question):
            executor = executor_of(question.golden, question.case.api_type)
            unanswered.setdefault(executor, {}).setdefault(fingerprint(question.case), question)
    faults = {}
    for executor, asked in unanswered.items():
        answers, faults[executor] = _trace(list(asked.values()), settings)
        known = dict(zip(asked, answers, strict=False))
        for question in questions:
            if isinstance(question.golden, Plugin) and executor_of(question.golden, question.case.api_type) == executor:
                answer = known.get(fingerprint(question.case))
                if answer is not None:
                    classifier.take(question, _merged(classifier.classify(question.case, question.golden), answer))
    return faults


def _merged(read: Classification, ran: Classification) -> Classification:
    """What the run says; where that is nothing, what the text said, with both reasons."""
    if ran.tensors:
        return ran
    return replace(read, reason="; when it is run: ".join(filter(None, (read.reason, ran.reason))))


def executor_of(plugin: Plugin, name: str) -> Executor:
    return str(plugin.source.path), name


def _is_followed(classifier: Classifier, question: Question) -> bool:
    known = classifier.classify(question.case, question.golden)
    return known.basis == "plugin" and (bool(known.tensors) or known.mismatch)


def _trace(questions: Sequence[Question], settings: Settings) -> tuple[list[Classification], list[Fault]]:
    """The answers, in the order of the questions, as far as the run came; and what ended it before."""
    plugin = questions[0].golden
    assert isinstance(plugin, Plugin)
    ended = run_apart(
        Tracing(
            plugin=os.path.realpath(plugin.source.path),
            bounds=Bounds.of(settings),
            executor=questions[0].case.api_type,
            cases=tuple(question.case for question in questions),
        )
    )
    telling = Telling(plugin)
    faults = [telling.fault(ended.trouble)] if ended.trouble else []
    try:
        if ended.answer is not None:
            if ended.answer["trouble"] is not None:
                faults.append(telling.fault(trouble_of(ended.answer["trouble"])))
            faults += telling.denials(ended.answer["denials"])
        if any(fault.rule == "plugin-refused" for fault in faults):
            return [], faults
        return [_known(part) for part in ended.parts], faults
    except (KeyError, TypeError, ValueError):
        return [], [*faults, telling.fault(Trouble("plugin-run-failed", "gives an answer that cannot be read"))]


def _known(part: Any) -> Classification:
    return replace(load(part), basis="plugin")
