"""Which cases of a spec to run: few that show every class of every compared tensor, where it shows best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from opscan.model import Case, CaseInput, Classification, NumericClass, TensorClass
from opscan.numerics.memo import fingerprint

MAX_ELEMENTS = 1 << 22
"""Cases with more elements than this, all tensors together, are not run."""
REDUCED = (NumericClass.BROADCAST_REDUCED, NumericClass.ACCUMULATED)

Facet = tuple[NumericClass, bool, bool]
"""What a tensor is held to: its class, whether it is correctly rounded, whether values decide."""


def facet_of(tensor: TensorClass) -> Facet:
    return tensor.numeric_class, tensor.correctly_rounded, "values" in tensor.depends_on


@dataclass(frozen=True, slots=True)
class Candidate:
    case: Case
    classification: Classification
    elements: int


@dataclass(frozen=True, slots=True)
class Choice:
    """`too_large`: how many distinct cases were left out for their size. `reason`: why nothing is known, if so."""

    candidates: tuple[Candidate, ...]
    every: tuple[Candidate, ...] = field(repr=False)
    too_large: int = 0
    reason: str = ""


def choose(cases: Sequence[Case], classify: Callable[[Case], Classification], max_cases: int) -> Choice:
    """At most `max_cases` of the distinct cases. Every class of every tensor comes first, at its largest extent; then
    every dtype of it; then its smallest extent."""
    distinct = list({fingerprint(case): case for case in reversed(cases)}.values())[::-1]
    every = []
    reason = ""
    for case in distinct:
        classification = classify(case)
        if classification.tensors:
            every.append(Candidate(case, classification, _elements(case, classification)))
        else:
            reason = reason or classification.reason
    feasible = [candidate for candidate in every if candidate.elements <= MAX_ELEMENTS]
    chosen: dict[int, Candidate] = {}
    for candidate in _in_turn(feasible):
        if len(chosen) == max_cases:
            break
        chosen.setdefault(id(candidate), candidate)
    return Choice(tuple(chosen.values()), tuple(every), len(every) - len(feasible), reason)


def _in_turn(feasible: Sequence[Candidate]) -> Iterator[Candidate]:
    """Candidates in the order of what they add; some come more than once."""
    shown: dict[tuple[str, Facet], list[tuple[Candidate, TensorClass]]] = {}
    for candidate in feasible:
        for tensor in candidate.classification.tensors:
            if math.prod(tensor.shape):
                shown.setdefault((tensor.name, facet_of(tensor)), []).append((candidate, tensor))
    groups = [sorted(group, key=_most_telling) for _, group in sorted(shown.items(), key=lambda item: _rank(*item[0]))]
    yield from (group[0][0] for group in groups)
    for group in groups:
        yield from {tensor.dtype: candidate for candidate, tensor in reversed(group)}.values()
    yield from (group[-1][0] for group in groups)
    yield from feasible[:1]  # nothing but empty tensors


def _rank(name: str, facet: Facet) -> tuple[bool, str]:
    return facet[0] not in REDUCED, name


def _most_telling(shown: tuple[Candidate, TensorClass]) -> tuple[int, int, int]:
    candidate, tensor = shown
    return -tensor.extent, -candidate.elements, candidate.case.index


def _elements(case: Case, classification: Classification) -> int:
    given = (case.tensor_input, *case.inputs, *case.method_inputs)
    inputs = sum(_count(each) for each in given if each is not None)
    return inputs + sum(math.prod(tensor.shape) for tensor in classification.tensors)


def _count(given: CaseInput) -> int:
    if given.members is not None:
        return sum(_count(member) for member in given.members)
    return 0 if given.shape is None else math.prod(given.shape)
