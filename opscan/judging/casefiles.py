"""Judge a case file: every case has a standard of its own, so every case is a unit of its own.

What is said of a case follows from all of it but its number, so each kind of case is judged once; of the cases
themselves only positions are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from opscan.judging.assignments import compares_values, judged_as
from opscan.judging.case_tally import CaseProblem, Kind, Tally
from opscan.judging.settings import Judge
from opscan.judging.units import judge_each
from opscan.model import Case, CaseFile, Classification, FileReport

_AT_ONCE = 2048
"""Cases that are classified and judged together, so that several processes have work where they must be traced."""
_REMEMBERED = 4096
"""Kinds of cases, each with its verdicts."""


@dataclass(frozen=True, slots=True)
class JudgedCases:
    report: FileReport
    problems: tuple[CaseProblem, ...]


def judge_case_file(
    case_file: CaseFile,
    shown: str,
    scenarios: tuple[str, ...],
    classify: Callable[[Sequence[Case]], Sequence[Classification]],
    judge: Judge,
) -> JudgedCases:
    """The report on a case file: statuses by case, and one problem per kind of finding."""
    judge = replace(judge, scenario=judged_as(scenarios))
    tally = Tally(compares_values(scenarios))
    kinds: dict[Hashable, Kind] = {}
    for cases in _batches(case_file.cases):
        keys = [_kind_of(case) for case in cases]
        fresh: dict[Hashable, Case] = {}
        for key, case in zip(keys, cases, strict=True):
            if key not in kinds:
                fresh.setdefault(key, case)
        pairs = list(zip(fresh.values(), classify(list(fresh.values())), strict=True))
        units = iter(judge_each([(case, known) for case, known in pairs if known.tensors], judge))
        for key, (case, known) in zip(fresh, pairs, strict=True):
            kinds[key] = tally.kind(case, known, next(units) if known.tensors else None)
        for key, case in zip(keys, cases, strict=True):
            tally.add(kinds[key], case.index)
        if len(kinds) > _REMEMBERED:
            tally.settle(kinds.values())
            kinds.clear()
    tally.settle(kinds.values())
    report = tally.report(shown, scenarios)
    return JudgedCases(report, tuple(tally.problems(shown, report.basis)))


def _batches(cases: Sequence[Case]) -> Iterator[Sequence[Case]]:
    for start in range(0, len(cases), _AT_ONCE):
        yield cases[start : start + _AT_ONCE]


def _kind_of(case: Case) -> Hashable:
    """Equal only for cases of one file that differ in position and id: the reader has them share their values."""
    return (
        id(case.inputs),
        id(case.acc),
        id(case.tensor_input),
        id(case.method_inputs),
        case.name,
        case.aclnn_name,
        case.api,
        case.api_type,
        case.backward,
        case.outputs,
        case.is_boundary,
    )
