"""The cases of one file, told apart by kind: equal ones are kept once, and none as an object.

A case is a frame, which is all of it but shapes, position and id, and the shapes of its inputs in order. Both are kept
as bytes, some hundred a kind, so that the cases of a large file take less memory than its text. A case is put together
when it is asked for.
"""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, overload

from opscan.model import Case, CaseInput

_READ = (
    "name",
    "inputs",
    "standard",
    "aclnn_name",
    "api",
    "api_type",
    "backward",
    "outputs",
    "tensor_input",
    "method_inputs",
    "is_boundary",
)
_SHAPED = ("inputs", "tensor_input", "method_inputs")
_KEPT = 2048
"""Frames and kinds that stay put together."""

Read = Callable[[int, Any], Case]
"""From the position and the value of an entry of a file's list to its case. Raises ValueError for an unusable one."""


class CaseTable(Sequence[Case]):
    """The usable cases of a file, in its order. Cases of a kind differ in position and id only.

    `numbers`: the kind of each case; `indices`: its position in the file; `firsts`: of each kind, the first case.
    """

    def __init__(self, read: Read) -> None:
        self.numbers = array("I")
        self.indices = array("I")
        self.firsts = array("I")
        self._ids: list[Any] | array[int] = array("q")
        self._read = read
        self._frames: list[bytes] = []
        self._places = array("I")
        """The frame of each kind."""
        self._shapes: list[bytes] = []
        """The shapes of each kind."""
        self._odd: dict[int, Case] = {}
        """Kinds that are not kept as bytes."""
        self._framed: dict[int, Case] = {}
        self._built: dict[int, Case] = {}
        self._acc: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, position: int) -> Case: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Case]: ...
    def __getitem__(self, position: int | slice) -> Case | Sequence[Case]:
        if isinstance(position, slice):
            return [self._at(place) for place in range(*position.indices(len(self)))]
        return self._at(range(len(self))[position])

    def __iter__(self) -> Iterator[Case]:
        return map(self._at, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_equal, self, other))

    __hash__ = None  # type: ignore[assignment]

    def kind(self, number: int) -> Case:
        """The first case of a kind; the same object while it is remembered."""
        built = self._built.get(number)
        if built is None:
            built = self._put_together(number)
            _remember(self._built, number, built)
        return built

    def shapes(self, number: int) -> list[list[int] | None]:
        """The shapes of the inputs of a kind, lists of tensors flattened; None for what has none."""
        found: list[list[int] | None] = marshal.loads(self._shapes[number])
        return found

    def frame(self, number: int) -> int | None:
        """Which frame a kind has; None where it has one of its own."""
        return None if number in self._odd else self._places[number]

    def frames(self) -> Iterator[Case]:
        """Everything but shapes, position and id that occurs."""
        yield from map(self._frame, range(len(self._frames)))
        yield from self._odd.values()

    def with_acc(self, acc: Any) -> CaseTable:
        """The same cases under another standard."""
        changed = copy(self)
        changed._acc, changed._built = (acc,), {}
        return changed

    def _at(self, position: int) -> Case:
        case = self.kind(self.numbers[position])
        index = self.indices[position]
        return case if case.index == index else _renumbered(case, index, self._ids[position])

    def _put_together(self, number: int) -> Case:
        first = self.firsts[number]
        frame = self._odd.get(number)
        if frame is None:
            frame = _with_shapes(self._frame(self._places[number]), iter(self.shapes(number)))
        case = _renumbered(frame, self.indices[first], self._ids[first])
        return replace(case, acc=self._acc[0]) if self._acc else case

    def _frame(self, place: int) -> Case:
        framed = self._framed.get(place)
        if framed is None:
            framed = self._read(0, dict(zip(_READ, marshal.loads(self._frames[place]), strict=True)))
            _remember(self._framed, place, framed)
        return framed


class CaseCollector:
    """Takes in the entries of a file one by one; `table` holds them then."""

    def __init__(self, read: Read) -> None:
        self.table = CaseTable(read)
        self._read = read
        self._frames: dict[bytes, int] = {}
        self._kinds: dict[bytes, int] = {}

    def add(self, index: int, entry: Any) -> None:
        """Raises what `read` raises."""
        table = self.table
        get = entry.get if isinstance(entry, dict) else None
        if get is None:
            self._read(index, entry)
            return
        shapes: list[Any] = []
        shaped = [get(name) for name in _SHAPED]
        _take_shapes(shaped, shapes)
        try:
            frame = marshal.dumps([get(name) for name in _READ], 2)
            sizes = marshal.dumps(shapes, 2)
        except ValueError:  # nested too deeply for it
            _give_shapes(shaped, iter(shapes))
            self._add_odd(self._read(index, entry))
            return
        place = self._frames.get(frame)
        if place is None:
            _give_shapes(shaped, iter(shapes))
            self._read(index, entry)
            place = self._frames[frame] = len(table._frames)
            table._frames.append(frame)
        key = sizes + place.to_bytes(4, "little")
        number = self._kinds.get(key)
        if number is None:
            if not _are_shapes(shapes):
                _give_shapes(shaped, iter(shapes))
                self._read(index, entry)
            number = self._kinds[key] = len(table.firsts)
            table._places.append(place)
            table._shapes.append(key)
            table.firsts.append(len(table.numbers))
        table.numbers.append(number)
        table.indices.append(index)
        self._add_id(get("id"))

    def _add_odd(self, case: Case) -> None:
        table = self.table
        number = len(table.firsts)
        table._odd[number] = case
        table._places.append(0)
        table._shapes.append(b"")
        table.firsts.append(len(table.numbers))
        table.numbers.append(number)
        table.indices.append(case.index)
        self._add_id(case.id)

    def _add_id(self, identity: Any) -> None:
        table = self.table
        if (type(identity) is int and -(1 << 63) <= identity < 1 << 63) or isinstance(table._ids, list):
            table._ids.append(identity)
        else:
            table._ids = [*table._ids, identity]


def _take_shapes(given: Any, shapes: list[Any]) -> None:
    """Move the shapes out of inputs, in order; lists of inputs are gone through."""
    for value in given:
        if type(value) is dict:
            shapes.append(value.pop("shape", None))
        elif type(value) is list:
            _take_shapes(value, shapes)


def _give_shapes(given: Any, shapes: Iterator[Any]) -> None:
    """Put the shapes back where they were."""
    for value in given:
        if type(value) is dict:
            value["shape"] = next(shapes)
        elif type(value) is list:
            _give_shapes(value, shapes)


def _are_shapes(shapes: Iterable[Any]) -> bool:
    """Whether all of them are lists of sizes or nothing."""
    for sizes in shapes:
        if sizes is None:
            continue
        if type(sizes) is not list:
            return False
        for size in sizes:
            if type(size) is not int or size < 0:
                return False
    return True


def _with_shapes(frame: Case, shapes: Iterator[list[int] | None]) -> Case:
    inputs = _filled(frame.inputs, shapes)
    receiver = frame.tensor_input and _filled((frame.tensor_input,), shapes)[0]
    return replace(frame, inputs=inputs, tensor_input=receiver, method_inputs=_filled(frame.method_inputs, shapes))


def _filled(inputs: Sequence[CaseInput], shapes: Iterator[list[int] | None]) -> tuple[CaseInput, ...]:
    filled = []
    for given in inputs:
        if given.members is not None:
            filled.append(replace(given, members=_filled(given.members, shapes)))
            continue
        sizes = next(shapes)
        filled.append(
            given
            if sizes is None
            else CaseInput(
                given.name,
                given.kind,
                given.dtype,
                tuple(sizes),
                given.values,
                given.backward,
                given.required,
                outliers=given.outliers,
            )
        )
    return tuple(filled)


def _renumbered(case: Case, index: int, identity: Any) -> Case:
    return Case(
        index,
        identity,
        case.name,
        case.inputs,
        case.acc,
        case.aclnn_name,
        case.api,
        case.api_type,
        case.backward,
        case.outputs,
        case.tensor_input,
        case.method_inputs,
        case.is_boundary,
    )


def _remember(known: dict[int, Case], number: int, case: Case) -> None:
    if len(known) >= _KEPT:
        known.clear()
    known[number] = case


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other)
