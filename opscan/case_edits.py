"""Where the findings of a case file stand and what mends them: looked up when asked for, since few ask for all."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, overload

from opscan import editing, reading
from opscan.model import CaseFile, Edit, Finding, Span

if TYPE_CHECKING:
    from opscan.judging.case_tally import CaseProblem

_SHOWN = 8
"""Places of each finding that are looked up at once: reports show a few."""


class CasePlaces(Sequence[Span]):
    """The place of every case that has a problem, in the order of the file. `known`: those of the first few."""

    def __init__(self, case_file: CaseFile, indices: array[int], known: Mapping[int, Span]) -> None:
        self._case_file = case_file
        self._indices = indices
        self._known = known

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, position: int) -> Span: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Span]: ...
    def __getitem__(self, position: int | slice) -> Span | Sequence[Span]:
        if isinstance(position, slice):
            return list(self._spans(self._indices[position]))
        return next(self._spans(self._indices[position:][:1]))

    def __iter__(self) -> Iterator[Span]:
        return chain(self._spans(self._indices[:_SHOWN]), self._spans(self._indices[_SHOWN:]))

    def _spans(self, indices: array[int]) -> Iterator[Span]:
        if all(index in self._known for index in indices[:_SHOWN]) and len(indices) <= _SHOWN:
            yield from [self._known[index] for index in indices]
            return
        with contextlib.suppress(OSError):  # the file is gone or another one: what was found is told all the same
            for _, place in reading.located(self._case_file, indices):
                yield _span(place)


class CaseEdits(Sequence[Edit]):
    """The edits that mend the cases of a problem, in the order of the file. To count them is to make them."""

    def __init__(self, case_file: CaseFile, problem: CaseProblem) -> None:
        self._case_file = case_file
        self._problem = problem

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return any(True for _ in self)

    @overload
    def __getitem__(self, position: int) -> Edit: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Edit]: ...
    def __getitem__(self, position: int | slice) -> Edit | Sequence[Edit]:
        return next(iter(self)) if position == 0 else list(self)[position]

    def __iter__(self) -> Iterator[Edit]:
        problem = self._problem
        places = reading.located(self._case_file, problem.indices)
        for position, (index, place) in enumerate(places):
            edit = editing.replace_case_acc(index, problem.proposal(position), place)
            if not isinstance(edit, str):
                yield edit


def with_places(case_file: CaseFile, problems: Sequence[CaseProblem]) -> list[Finding]:
    """The findings of a case file, with the places of the cases that have problems and the edits that mend them."""
    first = {index for problem in problems for index in problem.indices[:_SHOWN]}
    known = {index: _span(place) for index, place in reading.located(case_file, first)}
    findings = []
    for problem in problems:
        places = CasePlaces(case_file, problem.indices, known)
        edits = CaseEdits(case_file, problem) if problem.chosen else ()
        findings.append(replace(problem.finding, span=next(iter(places), None), places=places, edits=edits))
    return findings


def _span(place: reading.CaseSpans) -> Span:
    return place.acc or place.standard or place.case
