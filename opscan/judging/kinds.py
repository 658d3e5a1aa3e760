"""The kinds of cases of a file, and what their shapes alone say of their classes."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Hashable, Sequence
from itertools import chain

from opscan.dataclass import dataclass
from opscan.judging.drifts.formulas import composed
from opscan.judging.equivalence import EXACTLY, IN_STEPS, dependence, scale
from opscan.judging.scopes import judge_one
from opscan.judging.settings import Judge
from opscan.model import Case, Classification, TensorClass
from opscan.numerics import Plan, shapes_of
from opscan.reading.case_table import CaseTable

AT_ONCE = 2048
"""Kinds that are looked at together, so that several processes have work where they must be traced."""

Classify = Callable[[Sequence[Case]], Sequence[Classification]]
PlanOf = Callable[[Case], "Plan | None"]


class HeldKinds:
    """Cases that are held, as a `CaseTable` gives them: those that share their values are of one kind."""

    def __init__(self, cases: Sequence[Case]) -> None:
        numbers: dict[Hashable, int] = {}
        self.numbers = array("I", [numbers.setdefault(_kind_of(case), len(numbers)) for case in cases])
        self.indices = array("I", [case.index for case in cases])
        self._cases: list[Case] = []
        for number, case in zip(self.numbers, cases, strict=True):
            self._cases += [case] if number == len(self._cases) else []

    def kind(self, number: int) -> Case:
        return self._cases[number]

    def shapes(self, number: int) -> Sequence[Sequence[int] | None]:
        return shapes_of(self._cases[number])

    def frame(self, number: int) -> int | None:  # noqa: ARG002  every kind has one of its own
        return None


def kinds_of(cases: Sequence[Case]) -> CaseTable | HeldKinds:
    return cases if isinstance(cases, CaseTable) else HeldKinds(cases)


def _kind_of(case: Case) -> Hashable:
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


@dataclass(frozen=True, slots=True)
class PlannedCase:
    """What a plan says of a kind. `classes`: equal for kinds whose tensors come about alike, whatever their extents.

    `given`: the shapes of the tensors of the call.
    """

    classes: int
    known: Classification
    given: list[tuple[int, ...]]

    @property
    def extents(self) -> list[int]:
        return [tensor.extent for tensor in self.known.tensors]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        return [tensor.shape for tensor in self.known.tensors]


class ShapePlans:
    """Plans by frame, made when they are needed."""

    def __init__(self, kinds: CaseTable | HeldKinds, plan_of: PlanOf) -> None:
        self._kinds = kinds
        self._plan_of = plan_of
        self._plans: dict[Hashable, Plan | None] = {}
        self._classes: dict[Hashable, int] = {}

    def of(self, number: int) -> PlannedCase | None:
        """What the plan of its frame says of a kind; None where that takes more than its shapes."""
        frame = self._kinds.frame(number)
        if frame is None:
            return None
        shapes = [None if sizes is None else tuple(sizes) for sizes in self._kinds.shapes(number)]
        key = frame, tuple([sizes is None for sizes in shapes])
        if key not in self._plans:
            self._plans[key] = self._plan_of(self._kinds.kind(number))
        plan = self._plans[key]
        if plan is None or 0 in chain.from_iterable(filter(None, shapes)):
            return None
        known = plan.classify(shapes)
        if known is None:
            return None
        classes = key, tuple([_sameness(tensor) for tensor in known.tensors])
        given = [sizes for sizes in shapes if sizes is not None]
        return PlannedCase(self._classes.setdefault(classes, len(self._classes)), known, given)


def _sameness(tensor: TensorClass) -> Hashable:
    """All that is said of a tensor but for sizes and extents."""
    steps = tuple([(step.op, step.phase, step.numeric_class) for step in tensor.path])
    return (
        tensor.name, tensor.numeric_class, tensor.correctly_rounded, tensor.cause, tensor.depends_on, tensor.products,
        tensor.reason, steps, composed(tensor),
    )  # fmt: skip


def shared_pairs(
    cases: CaseTable, classify: Classify, plan_of: PlanOf, judge: Judge
) -> list[tuple[Case, Classification]]:
    """Every case with its classes; cases that are judged alike are one object, that of the first of them.

    Where a tensor's extent or size goes beyond those before, the case stands for itself, so that least and largest are
    as they are.
    """
    plans = ShapePlans(cases, plan_of)
    sharing = _Sharing(judge)
    found: list[tuple[Case, Classification]] = []
    for start in range(0, len(cases.firsts), AT_ONCE):
        planned = [plans.of(number) for number in range(start, min(start + AT_ONCE, len(cases.firsts)))]
        left = [cases.kind(number) for number, planned_case in enumerate(planned, start) if planned_case is None]
        answers = iter(classify(left) if left else ())
        traced = iter(left)
        for number, planned_case in enumerate(planned, start):
            if planned_case is None:
                found.append((next(traced), next(answers)))
            else:
                found.append(sharing.pair(planned_case, cases, number))
    return [found[number] for number in cases.numbers]


class _Sharing:
    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._depends: dict[Hashable, tuple[int, ...]] = {}
        self._bounds: dict[Hashable, list[list[int]]] = {}
        self._pairs: dict[Hashable, tuple[Case, Classification]] = {}

    def pair(self, planned_case: PlannedCase, cases: CaseTable, number: int) -> tuple[Case, Classification]:
        depends = self._depends.get(planned_case.classes)
        if depends is None:
            case, known = cases.kind(number), planned_case.known
            found = (
                dependence(judge_one(case, known, self._judge), self._judge.rules.assignments.limits_extents)
                if known.tensors
                else ()
            )
            # over many cases the extents count as they are
            depends = tuple([EXACTLY if how == IN_STEPS else how for how in found])
            self._depends[planned_case.classes] = depends
        extents, shapes = planned_case.extents, planned_case.shapes
        key = planned_case.classes, scale(extents, shapes, depends, planned_case.given)
        alike = self._pairs.get(key)
        if not self._widens(planned_case.classes, [*extents, *map(math.prod, shapes)]) and alike is not None:
            return alike
        own = cases.kind(number), planned_case.known
        self._pairs.setdefault(key, own)
        return own

    def _widens(self, classes: Hashable, counts: Sequence[int]) -> bool:
        """Take in extents and sizes; whether any is less or more than those before."""
        bounds = self._bounds.get(classes)
        if bounds is None:
            self._bounds[classes] = [[count, count] for count in counts]
            return True
        widened = False
        for bound, count in zip(bounds, counts, strict=True):
            if not bound[0] <= count <= bound[1]:
                bound[:] = min(bound[0], count), max(bound[1], count)
                widened = True
        return widened
