"""Classify a case from the steps that people declared, without torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache, partial
from itertools import count
from typing import Any

from opscan.dataclass import dataclass, replace
from opscan.model import Case, CaseInput, Classification, TensorClass
from opscan.numerics.binding import KNOWN_INDICES, Binding, TensorArgument, Unbindable, members, readings
from opscan.numerics.declared.engine import any_dtype, gradients, leaf
from opscan.numerics.declared.entries import Expression, MalformedEntry, Place
from opscan.numerics.declared.operators import DeclaredOperator, operator
from opscan.numerics.declared.values import Dtype, NotDeclared, Refused, Tensor, begin
from opscan.numerics.described import bind_described
from opscan.numerics.elements.term import input_term
from opscan.numerics.facts import Facts
from opscan.numerics.names import Entry, basis_of, described, is_npu_name, load
from opscan.numerics.outcome import describe

Sizes = tuple[int, ...]
_REMEMBERED = 1 << 16


@dataclass(frozen=True, slots=True)
class Subject:
    """The operator of a case and the ways in which its inputs may be passed to it, the first that fits counts."""

    operator: DeclaredOperator
    bindings: tuple[Binding, ...]
    basis: str


def declare(case: Case) -> Classification | None:
    """The classes of a case whose golden is not in a plugin; None where no steps answer it.

    Where the operator takes no such call: a Classification without tensors, with the reason, `mismatch` set.
    """
    subject = subject_of(case)
    if subject is None or isinstance(subject, Classification):
        return subject
    return _answer(subject, subject.bindings)


def subject_of(case: Case) -> Subject | Classification | None:
    """What is declared for the operator of a case, or why its inputs cannot be bound; None where nothing is."""
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
    known = operator(case.name, is_method=case.tensor_input is not None)
    return None if known is None else _by_name(case, known, basis)


def _by_entry(case: Case, entry: Entry) -> Subject | Classification | None:
    known = _described_operator(entry.place)
    if known is None:
        return None
    try:
        return Subject(known, (bind_described(case, entry),), "name")
    except Unbindable as problem:
        return Classification((), "name", str(problem))


@lru_cache(maxsize=1024)
def _described_operator(place: Place) -> DeclaredOperator | None:
    entry = load(place)
    names = tuple(parameter.name for parameter in entry.parameters)
    if entry.aten is not None:
        known = operator(f"torch.ops.aten.{entry.aten.partition('.')[0]}")
        return None if known is None else replace(known, call=partial(_by_keyword, known, names))
    formula = Expression(entry.formula or "", names, str(entry.place))
    try:
        formula.compiled  # noqa: B018  what names no declared operator is left to a trace
    except MalformedEntry:
        return None

    def follow(*args: Any, **kwargs: Any) -> Any:
        return formula.evaluate(dict(zip(names, args, strict=False)) | kwargs)

    return DeclaredOperator(entry.name, follow, names)


def _by_keyword(known: DeclaredOperator, names: Sequence[str], /, *args: Any, **kwargs: Any) -> Any:
    """The call with what an overload takes by place, and the steps only by keyword, under its name."""
    most = len(args) if known.placed is None else known.placed
    given = dict(zip(names, args, strict=False))
    named = {name: value for place, (name, value) in enumerate(given.items()) if place >= most or name == "dtype"}
    return known.call(*(value for name, value in given.items() if name not in named), **named, **kwargs)


def _by_name(case: Case, known: DeclaredOperator, basis: str) -> Subject | Classification:
    try:
        attempts = readings(case, known.parameters, basis)
    except Unbindable as problem:
        return Classification((), basis, str(problem), mismatch=basis == "golden")
    return Subject(known, tuple(attempts), basis)


def _answer(subject: Subject, ways: Iterable[Binding]) -> Classification | None:
    refusal = ""
    for binding in ways:
        try:
            with any_dtype() if subject.basis == "name" else nullcontext():
                tensors = evaluate(subject.operator, binding)
        except Refused as problem:
            if any(0 in tensor.shape for tensor in binding.tensors()):
                return None  # kernels that have nothing to do check little
            refusal = refusal or f"{subject.operator.name} refuses these inputs: {problem}"
        except (NotDeclared, RecursionError):
            return None
        else:
            return Classification(tensors, subject.basis) if tensors else None
    # of another device's operator only its own document could say what it refuses
    return Classification((), subject.basis, refusal, mismatch=True) if subject.basis == "golden" else None


def evaluate(known: DeclaredOperator, binding: Binding) -> tuple[TensorClass, ...]:
    """The class of every compared tensor of one call. Raises NotDeclared, Refused."""
    begin()
    leaves: list[tuple[TensorArgument, Tensor]] = []

    def make(argument: TensorArgument) -> Tensor:
        facts = Facts(distinct=KNOWN_INDICES.get(argument.values) if isinstance(argument.values, str) else None)
        term = input_term(argument)
        tensor = leaf(argument.shape, argument.dtype, requires_grad=argument.requires_grad, facts=facts, term=term)
        leaves.append((argument, tensor))
        return tensor

    args, kwargs = binding.fill(make, Dtype)
    try:
        result = known.call(*args, **kwargs)
    except (AttributeError, TypeError, ValueError, KeyError, IndexError, ZeroDivisionError) as problem:
        raise NotDeclared(f"{known.name}: {problem}") from None
    outputs = list(members(result, Tensor))
    if known.in_place:
        labels = [given.label for given in members(binding.args[:1], TensorArgument)]
        names = [f"output:{place}({label})" for place, label in enumerate(labels)]
    else:
        names = [f"output:{place}" for place in range(len(outputs))]
    answers = [
        describe(name, "output", None, tensor.dtype, tensor.shape, tensor.bits)
        for name, tensor in zip(names, outputs, strict=True)
    ]
    return (*answers, *_gradients(outputs, leaves))


def _gradients(outputs: Sequence[Tensor], leaves: Sequence[tuple[TensorArgument, Tensor]]) -> Iterator[TensorClass]:
    roots = [tensor for tensor in outputs if tensor.requires_grad]
    wanted = [(argument, tensor) for argument, tensor in leaves if argument.requires_grad]
    if not roots or not wanted:
        return
    for (argument, _), gradient in zip(wanted, gradients(roots, [tensor for _, tensor in wanted]), strict=True):
        if gradient is not None:
            name = f"grad:{argument.label}"
            yield describe(name, "gradient", argument, gradient.dtype, gradient.shape, gradient.bits)


# -- cases that differ in their shapes only ----------------------------------------------------------------------------


class Plan:
    """How cases are classified that differ in their shapes only: what there is to read of such a case is read once.

    It speaks of cases that have shapes at the same inputs.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._known: dict[tuple[Sizes | None, ...], Classification | None] = {}

    def classify(self, shapes: Sequence[Sizes | None]) -> Classification | None:
        """The classes at these shapes, those of `shapes_of`; None where that takes a trace."""
        key = tuple(shapes)
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            ways = [_shaped(binding, key) for binding in self._subject.bindings]
            found = _answer(self._subject, ways)
            self._known[key] = found if found is not None and found.tensors else None
        return self._known[key]


def plan_of(case: Case) -> Plan | None:
    """The plan for cases that are like this one but for their shapes; None where there is none."""
    marked = replace(
        case,
        inputs=_marked(case.inputs, places := count()),
        tensor_input=case.tensor_input and _marked((case.tensor_input,), places)[0],
        method_inputs=_marked(case.method_inputs, places),
    )
    subject = subject_of(marked)
    return Plan(subject) if isinstance(subject, Subject) else None


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


def _shaped(binding: Binding, shapes: Sequence[Sizes | None]) -> Binding:
    def put(value: Any) -> Any:
        if isinstance(value, TensorArgument) and isinstance(value.shape, _Slot):
            return replace(value, shape=shapes[value.shape.place] or ())
        return type(value)(put(item) for item in value) if isinstance(value, (list, tuple)) else value

    kwargs: Mapping[str, Any] = {name: put(value) for name, value in binding.kwargs.items()}
    return Binding(tuple(put(value) for value in binding.args), kwargs)
