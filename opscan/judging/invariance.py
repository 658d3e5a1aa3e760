"""Operators whose classes no shape can change: `less` compares bits whatever meets what.

Where no generator relates the shapes, every broadcast pattern is tried. If all give the same classes and none of them
accumulates, the classes hold for any shapes; otherwise nothing is known. A generator may change more than shapes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from opscan.model import Case, CaseInput, Classification, Evidence, Spec
from opscan.shapes.draw import draw_cases, tensor_inputs
from opscan.shapes.spaces import Unsatisfiable

_FULL = (3, 4, 5)
_NARROWED = ((), (1,), (5,), (1, 5), (3, 1, 5), (1, 1, 1))
_MOST_INPUTS = 6
_DRAWS = 8


def invariant_evidence(spec: Spec, classify: Callable[[Case], Classification], seed: int = 0) -> Evidence | None:
    """Cases of every broadcast pattern, if all of them have the same classes; None if not, or if one is refused."""
    if not 1 < len(tensor_inputs(spec)) <= _MOST_INPUTS or spec.tensor_input is not None or spec.generate != "default":
        return None
    try:
        drawn = draw_cases(spec, _DRAWS, random.Random(seed))
    except Unsatisfiable:
        return None
    kept: list[Case] = []
    for case in drawn:
        answers = set()
        for pattern in _patterns(_with_one_dtype(case, spec)):
            known = classify(pattern)
            if not known.tensors or any(t.extent > 1 or "shapes" in t.depends_on for t in known.tensors):
                return None
            answers.add(tuple((t.name, t.dtype, t.numeric_class, t.correctly_rounded) for t in known.tensors))
            kept.append(replace(pattern, index=len(kept), id=len(kept)))
        if len(answers) != 1:
            return None
    return Evidence("none", tuple(kept), reason="the classes are the same whatever shapes meet")


def _with_one_dtype(case: Case, spec: Spec) -> Case:
    """ATK draws dtypes independently as well; one that all inputs allow stands for what a kernel accepts."""
    first = next(given.dtype for given in case.inputs if given.shape is not None)
    inputs = tuple(
        replace(given, dtype=first) if given.shape is not None and first in declared.dtypes.values else given
        for given, declared in zip(case.inputs, spec.inputs, strict=True)
    )
    return replace(case, inputs=inputs)


def _patterns(case: Case) -> Iterator[Case]:
    """All tensors equal, then each of them narrowed in every way."""
    tensors = [place for place, given in enumerate(case.inputs) if given.shape is not None]

    def shaped(narrow: int | None, shape: tuple[int, ...]) -> Case:
        inputs: list[CaseInput] = list(case.inputs)
        for place in tensors:
            inputs[place] = replace(inputs[place], shape=shape if place == narrow else _FULL)
        return replace(case, inputs=tuple(inputs))

    yield shaped(None, _FULL)
    for place in tensors:
        for shape in _NARROWED:
            yield shaped(place, shape)
