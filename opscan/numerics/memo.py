"""Classify cases: from declared steps, else traced once per distinct operator, shapes, dtypes and attributes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opscan.model import Case, CaseInput, Classification, Plugin, Source
from opscan.numerics.declared.answering import Plan, declare, plan_of
from opscan.numerics.messages import NEEDS_TORCH, Answer, Question, missing_torch
from opscan.numerics.store import Store
from opscan.workers.limits import Limits

_TOLD = 1 << 16
"""Cases; all of a catalog's specs together are asked about twice, once to trace what must be, once to judge."""


class Classifier:
    """Remembers every answer: generated cases repeat their patterns, and so do runs. Close it to keep them.

    `limits`: trace in processes of their own, within these; without it tracing happens here, unlimited.
    Where OPSCAN_STEPS is `off` everything is traced.
    """

    def __init__(self, store: Store | None = None, limits: Limits | None = None) -> None:
        self._known: dict[str, Classification] = {}
        self._from_steps: dict[str, Classification | None] = {}
        """Declared answers."""
        self._helpers: dict[Path, list[str]] = {}
        self._store = store
        self._limits = limits
        self._only_traces = os.environ.get("OPSCAN_STEPS") == "off"
        self.missing = ""
        """Why nothing can be traced, once a case has asked for it."""

    def classify(self, case: Case, golden: Plugin | str | None = None) -> Classification:
        """The classes of a case. Without torch only what is declared and what an earlier run has traced is known."""
        return self.classify_many([Question(case, golden)])[0]

    def classify_many(self, questions: Sequence[Question]) -> list[Classification]:
        """The classes of many cases, in their order: what is not known yet is traced at once, several at a time.

        A call that the declared steps refuse is traced too, so that the reason is torch's own where torch is there.
        """
        answers = [self._declared(question) for question in questions]
        left = [place for place, answer in enumerate(answers) if answer is None or answer.mismatch]
        for place, answer in zip(left, self._classify([questions[place] for place in left]), strict=True):
            if answers[place] is None or not answer.reason.startswith(NEEDS_TORCH):
                answers[place] = answer
        return answers  # type: ignore[return-value]  # every place is filled now

    def plan(self, question: Question) -> Plan | None:
        """How cases that differ from this one in their shapes only are classified without a trace."""
        return None if self._only_traces or question.golden is not None else plan_of(question.case)

    def _declared(self, question: Question) -> Classification | None:
        if isinstance(question.golden, str):
            return Classification((), "none", question.golden)
        if self._only_traces or question.golden is not None:
            return None
        key = fingerprint(question.case)
        if key in self._from_steps:
            return self._from_steps[key]
        by_steps = declare(question.case)
        if len(self._from_steps) < _TOLD:
            self._from_steps[key] = by_steps
        return by_steps

    def _classify(self, questions: Sequence[Question]) -> list[Classification]:
        keys = [_key(question, self._helpers) for question in questions]
        asked: dict[str, Question] = {}
        for key, question in zip(keys, questions, strict=True):
            if key in self._known or key in asked:
                continue
            known = self._store.get(key) if self._store is not None else None
            if known is None:
                asked[key] = question
            else:
                self._known[key] = known
        if asked:
            self._learn(asked)
        return [self._known[key] for key in keys]

    def _learn(self, asked: Mapping[str, Question]) -> None:
        for key, answer in zip(asked, self._answers(list(asked.values())), strict=True):
            self._known[key] = answer.classification
            self.missing = self.missing or answer.missing
            if answer.lasting and self._store is not None and not self._reads_files(asked[key]):
                self._store.put(key, answer.classification)

    def _reads_files(self, question: Question) -> bool:
        """Whether the golden may read more than the texts that its key holds."""
        if not isinstance(question.golden, Plugin):
            return False
        from opscan.pyread.neighbours import READS_FILES

        texts = (question.golden.source.text, *_helpers(question.golden.source, self._helpers))
        return any(READS_FILES.search(text) for text in texts)

    def _answers(self, questions: Sequence[Question]) -> list[Answer]:
        if self._limits is None:
            return [_answer_here(question) for question in questions]
        from opscan.numerics.tracing import shared_workers

        return shared_workers(self._limits).answer(questions)

    def take(self, question: Question, known: Classification) -> None:
        """Have `known` for an answer, in this run only."""
        self._known[_key(question, self._helpers)] = known

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


def _answer_here(question: Question) -> Answer:
    try:
        from opscan.numerics.classify import classify

        return Answer(classify(question.case, question.golden))
    except ImportError as problem:
        return missing_torch(problem)


def _key(question: Question, known: dict[Path, list[str]]) -> str:
    key = fingerprint(question.case)
    if not isinstance(question.golden, Plugin):
        return key
    from hashlib import blake2b

    source = question.golden.source
    text = "\n".join([str(source.path), source.text, *_helpers(source, known)])
    return f"{key} {blake2b(text.encode(errors='replace'), digest_size=16).hexdigest()}"


def _helpers(source: Source, known: dict[Path, list[str]]) -> list[str]:
    """The texts beside a plugin that its code may follow; read once in a run."""
    if source.path not in known:
        from opscan.pyread.neighbours import folders_above, imported_files

        files = imported_files(source.text, (source.path.parent, *folders_above(source.path.absolute())))
        known[source.path] = [file.read_text(encoding="utf-8", errors="replace") for file in files]
    return known[source.path]


def fingerprint(case: Case) -> str:
    """Everything of a case that its classes can depend on, as text. Ranges of float tensors are left out."""
    return json.dumps(
        [
            case.name,
            case.aclnn_name,
            case.api,
            case.api_type,
            case.backward,
            case.outputs,
            _input(case.tensor_input) if case.tensor_input else None,
            [_input(given) for given in case.method_inputs],
            [_input(given) for given in case.inputs],
        ],
        default=str,
    )


def _input(given: CaseInput) -> list[Any]:
    floating = given.shape is not None and (given.dtype or "").startswith(("fp", "bf", "hf", "float", "complex"))
    return [
        given.name,
        given.kind,
        given.dtype,
        given.shape,
        None if floating else given.values,
        given.backward,
        given.required,
        None if given.members is None else [_input(member) for member in given.members],
    ]
