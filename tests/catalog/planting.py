"""What a planted mistake is held against: calls, what is expected of them, and the answers before and after."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
from numerics_rows import Row, case_of, disagreement, load_rows

from opscan.checking import calls as checking_calls
from opscan.checking import examining
from opscan.checking.comparing import contradiction, differences, is_explained, pairs
from opscan.checking.crew import examine_all
from opscan.checking.drawing import draw
from opscan.checking.examining import first_run, gradient_names, look
from opscan.checking.naming import parameters_of
from opscan.checking.tasks import tasks_of
from opscan.checking.truths import Truth
from opscan.model import Case, Classification
from opscan.numerics import transfer as transfer_package
from opscan.numerics.classify import classify
from opscan.numerics.declared import answering, entries, operators
from opscan.numerics.declared.answering import declare


@dataclass(frozen=True)
class Probe:
    """A call: of a row of expectations, or drawn afresh. `number`, `base`: which call of the check.

    `suite`: one that the suite's tests look at, and not only one by which a change of an answer is noticed.
    """

    text: str
    case: Case
    row: Row | None = None
    base: str = ""
    number: int = 0
    seed: int = 0
    suite: bool = True


@dataclass(frozen=True)
class Seen:
    """What answering a probe went through: entries of the catalog, packets, kinds."""

    entries: frozenset[str]
    packets: frozenset[str]
    kinds: frozenset[str]


@dataclass(frozen=True)
class Mutant:
    """A mistake. `traced`: it changes what traces say too, and not only the answers without torch."""

    name: str
    mistake: str
    touches: Callable[[Seen], bool]
    planted: Callable[[], AbstractContextManager[None]]
    traced: bool


Answer = tuple[Classification | None, Classification]
"""Without torch, and traced."""


def row_probes() -> list[Probe]:
    return [Probe(row.id, case_of(row.operator, row.inputs), row) for row in load_rows()]


def fresh_probes(calls: int, seed: int, *, suite: bool = True) -> list[Probe]:
    """The calls that a check with this seed draws and that torch takes."""
    found = []
    for task, number, told in examine_all(tasks_of((), calls=calls, seed=seed, share=0, seconds=5), jobs=2):
        if told["outcome"] == "accepted" and (call := draw(task.base, number, seed)) is not None:
            text = checking_calls.line_of(call, parameters_of(call.name))
            found.append(Probe(text, checking_calls.case_of(call), None, task.base, number, seed, suite))
    return found


@dataclass
class Answers:
    """The answers to the probes as they are, and what the tests say of others."""

    probes: Sequence[Probe]
    _before: dict[int, Answer] = field(default_factory=dict)
    _seen: dict[int, Seen] = field(default_factory=dict)
    _truths: dict[int, tuple[dict[str, Truth], dict[str, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        torch.set_num_threads(1)
        forget()
        for probe in self.probes:
            with watched() as seen:
                self._before[id(probe)] = (declare(probe.case), classify(probe.case))
            self._seen[id(probe)] = Seen(*map(frozenset, seen))

    def seen(self, probe: Probe) -> Seen:
        return self._seen[id(probe)]

    def before(self, probe: Probe) -> Answer:
        return self._before[id(probe)]

    def now(self, probe: Probe, mutant: Mutant) -> Answer:
        """The answers while the mutant is planted."""
        return declare(probe.case), classify(probe.case) if mutant.traced else self.before(probe)[1]

    def problem(self, probe: Probe, answer: Answer) -> str:
        """What a test of the suite says of these answers; empty where it passes."""
        declared, traced = answer
        if declared is not None and declared.tensors and traced.tensors:
            for remark in differences(declared, traced):
                return remark.text
        if declared is not None and not declared.tensors and traced.tensors:
            return f"refused: {declared.reason}"
        if probe.row is not None:
            return next(filter(None, (_of_row(probe.row, known) for known in answer)), "")
        return self._of_oracles(probe, answer)

    def _of_oracles(self, probe: Probe, answer: Answer) -> str:
        truths, names = self._looked(probe)
        for known in answer:
            for label, tensor, truth in pairs(known, truths, names) if known is not None else ():
                if truth is None or not truth.numel:
                    continue
                found = contradiction(tensor, truth, probe.case.name or "")
                if found and not is_explained(found, probe.case.name or ""):
                    return f"{label} {found}"
        return ""

    def _looked(self, probe: Probe) -> tuple[dict[str, Truth], dict[str, str]]:
        if id(probe) not in self._truths:
            call = draw(probe.base, probe.number, probe.seed)
            assert call is not None
            found = first_run(call, probe.number)
            truths: tuple[dict[str, Truth], dict[str, str]] = ({}, {})
            if not isinstance(found, str):
                with contextlib.suppress(examining.OutOfTime), examining.limit(5):
                    truths = look(call, *found, probe.number), dict(gradient_names(call, found[1]))
            self._truths[id(probe)] = truths
        return self._truths[id(probe)]

    def difference(self, probe: Probe, answer: Answer) -> str:
        """The first field in which the answers are no longer what they were; empty where there is none."""
        for before, now in zip(self.before(probe), answer, strict=True):
            if before is None or now is None:
                if before is not now:
                    return "unanswered" if now is None else "answered"
                continue
            for remark in differences(now, before):
                return f"{remark.tensor} {remark.text.replace('traced', 'was')}"
        return ""


def _of_row(row: Row, known: Classification | None) -> str:
    if known is None:
        return ""
    found = {tensor.name: tensor for tensor in known.tensors}
    if not set(row.claims) <= set(found):
        return f"tensors {', '.join(found)}"
    return next(filter(None, (disagreement(claim, found[name]) for name, claim in row.claims.items())), "")


# -- what is remembered between answers ---------------------------------------------------------------------------------


def forget() -> None:
    """Everything that is kept of entries and rules."""
    for cached in (
        entries.find, operators.operator, answering._described_operator, transfer_package.rule_of,
    ):  # fmt: skip
        getattr(cached, "cache_clear", lambda: None)()


@contextlib.contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """`owner.name` as another value inside of the block, and nothing remembered on either side of it."""
    before = getattr(owner, name)
    forget()
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
        forget()


@contextlib.contextmanager
def watched() -> Iterator[tuple[set[str], set[str], set[str]]]:
    """The entries, packets and kinds that are asked for inside of the block."""
    from opscan.numerics import tracer
    from opscan.numerics.declared import engine

    seen: tuple[set[str], set[str], set[str]] = (set(), set(), set())
    find, judge = engine.find, transfer_package.transfer

    @lru_cache(maxsize=None)
    def noted(name: str) -> Any:
        return find(name)

    def looked(name: str) -> Any:
        seen[0].add(name)
        return noted(name)

    def judged(call: Any, kind: str | None) -> Any:
        seen[1].add(call.packet)
        if kind:
            seen[2].add(kind)
        return judge(call, kind)

    places = [(engine, "find", looked), (engine, "transfer", judged), (tracer, "transfer", judged)]
    with contextlib.ExitStack() as stack:
        for owner, name, value in places:
            before = getattr(owner, name)
            setattr(owner, name, value)
            stack.callback(setattr, owner, name, before)
        yield seen
