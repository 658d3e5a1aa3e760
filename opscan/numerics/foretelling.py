"""Classify a case from what ships, without torch: the paths of its operator, evaluated at its sizes.

It answers only where the traced answer would be the same; everything else is left to the tracer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from opscan.dataclass import dataclass
from opscan.model import Case, CaseInput, Classification
from opscan.numerics.binding import Binding, TensorArgument, Unbindable, bind, readings
from opscan.numerics.described import bind_described
from opscan.numerics.names import Entry, MalformedEntry, basis_of, described, is_npu_name
from opscan.numerics.paths.evaluating import evaluate, signed
from opscan.numerics.paths.path import Outline, Path, told
from opscan.numerics.paths.shipping import Known, find
from opscan.numerics.paths.signature import Instance, Sizes


def foretell(case: Case) -> Classification | None:
    """The classes of a case whose golden is not in a plugin, or None where that takes a trace."""
    found = _subject(case)
    if found is None or isinstance(found, Classification):
        return found
    known, binding, basis = found
    tensors = evaluate(known, binding)
    return None if tensors is None else Classification(tensors, basis)


def _subject(case: Case) -> tuple[Known, Binding, str] | Classification | None:
    """What ships for the operator of a case and how the case calls it, or why it cannot; None where nothing ships."""
    basis = basis_of(case)
    if basis == "name" or is_npu_name(case.name or ""):
        try:
            entry = described(case)
        except MalformedEntry:
            return None
        if entry is not None:
            return _by_entry(case, entry)
    if not case.name or case.outputs is not None:
        return None
    known = find(subject_name(case.name, method=case.tensor_input is not None))
    return None if known is None else _by_name(case, known, basis)


@dataclass(frozen=True, slots=True)
class Plan:
    """How cases are classified that differ in their shapes only: what there is to read of such a case is read once.

    It speaks of cases that have shapes at the same inputs, none of them with a size of 0.
    """

    paths: tuple[Path, ...]
    tensors: tuple[TensorArgument, ...]
    places: tuple[int | None, ...]
    """Of each tensor, the place of its shape among those of the case; None for one that is a number in the case."""
    numbers: Mapping[str, Any]
    basis: str

    def outline(self, shapes: Sequence[Sizes | None]) -> tuple[Instance, Path, list[Outline]] | None:
        """What the first path says that speaks of these shapes; None where that takes a trace."""
        sizes = [() if place is None else shapes[place] or () for place in self.places]
        call = Instance(sizes, self.numbers, self.tensors)
        for path in self.paths:
            outlines = path.outline(call)
            if outlines is not None:
                return call, path, outlines
        return None

    def told(self, call: Instance, outlines: Sequence[Outline]) -> Classification:
        return Classification(told(call, outlines), self.basis)


def plan_of(case: Case) -> Plan | None:
    """The plan for cases that are like this one but for their shapes; None where there is none."""
    marked = replace(
        case,
        inputs=_marked(case.inputs, places := count()),
        tensor_input=case.tensor_input and _marked((case.tensor_input,), places)[0],
        method_inputs=_marked(case.method_inputs, places),
    )
    found = _subject(marked)
    if found is None or isinstance(found, Classification):
        return None
    known, binding, basis = found
    call = signed(known, binding)
    if call is None:
        return None
    paths, instance = call
    tensors = instance.tensors
    slots = [tensor.shape.place if isinstance(tensor.shape, _Slot) else None for tensor in tensors]
    return Plan(paths, tensors, tuple(slots), instance.numbers, basis) if paths else None


def shapes_of(case: Case) -> list[Sizes | None]:
    """The shapes of the inputs of a case, lists of tensors flattened; None for what has none."""
    receiver = (case.tensor_input,) if case.tensor_input else ()
    return [*_flattened(case.inputs), *_flattened(receiver), *_flattened(case.method_inputs)]


def _flattened(inputs: Iterable[CaseInput]) -> Iterator[Sizes | None]:
    for given in inputs:
        if given.members is None:
            yield given.shape
        else:
            yield from _flattened(given.members)


class _Slot(tuple[int, ...]):
    """Stands for a shape, and says which."""

    place: int


def _marked(inputs: Sequence[CaseInput], places: Iterator[int]) -> tuple[CaseInput, ...]:
    marked = []
    for given in inputs:
        if given.members is not None:
            marked.append(replace(given, members=_marked(given.members, places)))
            continue
        slot = _Slot((1,))
        slot.place = next(places)
        marked.append(given if given.shape is None else replace(given, shape=slot))
    return tuple(marked)


def subject_name(name: str, *, method: bool) -> str:
    """The name under which the paths of a spec's operator ship."""
    head, _, last = name.rpartition(".")
    if method or head in ("Tensor", "torch.Tensor"):
        return f"torch.Tensor.{last}"
    if name.startswith("aten."):
        return f"torch.ops.{name}"
    return f"torch.nn.functional.{last}" if head in ("F", "nn.functional", "functional") else name


def path_name(entry: Entry) -> str:
    """The name under which the paths of an entry of `catalog/operators/` ship."""
    return f"torch.ops.aten.{entry.aten}" if entry.aten else f"entry:{entry.name}"


def _by_entry(case: Case, entry: Entry) -> tuple[Known, Binding, str] | Classification | None:
    known = find(path_name(entry))
    if known is None:
        return None
    try:
        return known, bind_described(case, entry), "name"
    except Unbindable as problem:
        return Classification((), "name", str(problem))


def _by_name(case: Case, known: Known, basis: str) -> tuple[Known, Binding, str] | None:
    try:
        attempts = readings(case, known.parameters) if basis == "name" else [bind(case, known.parameters)]
    except Unbindable:
        return None
    for attempt in attempts:
        if not set(attempt.kwargs) <= known.keywords:
            continue  # torch takes no such keyword
        return known, attempt, basis
    return None
