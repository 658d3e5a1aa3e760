"""Where the tensors of a case stand, and which of them a twin must give the full shape."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from opscan.editing.full_shapes import CASE, FullShapes, Together
from opscan.model import Spec, SpecInput, TensorReport
from opscan.splitting.candidates import NotSplit

_LISTS = ("tensors", "tensor_tuple")
_MEMBER = re.compile(r"\[\d+\]$")


@dataclass(frozen=True, slots=True)
class Place:
    """An input of the call. `code` leads to it from the case; `index` is its place in a tensor's report."""

    code: str
    index: int
    given: SpecInput

    @property
    def name(self) -> str:
        return self.given.name or ("self" if self.code == "tensor_input" else f"input {self.index}")


def places_of(spec: Spec) -> tuple[Place, ...]:
    """The inputs in the order of the call: a method's receiver comes first, and its arguments count from 0 again."""
    if spec.tensor_input is None:
        return tuple(Place(f"inputs[{at}]", at, given) for at, given in enumerate(spec.inputs))
    field, arguments = ("method_inputs", spec.method_inputs) if spec.method_inputs else ("inputs", spec.inputs)
    return (
        Place("tensor_input", 0, spec.tensor_input),
        *(Place(f"{field}[{at}]", at, given) for at, given in enumerate(arguments)),
    )


def full_shapes(spec: Spec, reduced: Sequence[TensorReport], name: str) -> FullShapes:
    """The generator `name` of a twin, in which the tensors whose gradients were summed are broadcast no more.

    Raises NotSplit where their shapes cannot be made to agree.
    """
    places = places_of(spec)
    optional = [one.name for one in places if one.given.kind.startswith("tensor") and not one.given.required]
    if optional:
        raise NotSplit(f"`{optional[0]}` can be left out (required: false), and then has no shape")
    summed = [place for place in places if any(_is_of(tensor, place, places) for tensor in reduced)]
    if not summed:
        raise NotSplit("the inputs that are broadcast are not known")
    groups = [
        _together(spec, [place for place in places if place.given.kind == "tensor"], summed),
        _member_by_member([place for place in places if place.given.kind in _LISTS], summed),
    ]
    together = tuple(group for group in groups if group is not None)
    return FullShapes(spec.generate, name, tuple(place.name for place in summed), together)


def tensors_text(spec: Spec) -> str:
    """A list of a case's tensors as Python text, with `{case}` for the case; empty where its inputs are searched.

    Raises NotSplit where some are lists.
    """
    places = places_of(spec)
    if any(place.given.kind in _LISTS for place in places):
        raise NotSplit("it has a list of tensors, and each pair of members has a shape of its own")
    if spec.tensor_input is None and not any(_is_list(place.given) for place in places):
        return ""
    return _listed("{case}", [place for place in places if place.given.kind == "tensor"])


def _is_of(tensor: TensorReport, place: Place, places: Sequence[Place]) -> bool:
    """Whether a report is on an input; a receiver and the first argument have the same index, so names count first."""
    if not place.given.kind.startswith("tensor"):
        return False
    named = _MEMBER.sub("", tensor.name.removeprefix("grad:"))
    if any(named == one.given.name for one in places):
        return named == place.given.name
    return tensor.input == place.index


def _together(spec: Spec, tensors: Sequence[Place], summed: Sequence[Place]) -> Together | None:
    """The tensors that all broadcast with each other."""
    changed = [place for place in tensors if place in summed]
    if not changed:
        return None
    if len(tensors) == 1:
        raise NotSplit(f"no other tensor's shape broadcasts `{changed[0].name}`: an attribute or a list does")
    kinds = {given.kind for given in spec.inputs}
    if spec.tensor_input is not None or any(map(_is_list, spec.inputs)):
        text = _listed(CASE, tensors)
    elif kinds == {"tensor"}:
        text = f"{CASE}.inputs"
    else:
        text = f'[given for given in {CASE}.inputs if given.type == "tensor"]'
    return Together(text, tuple(f"{CASE}.{place.code}" for place in changed))


def _member_by_member(lists: Sequence[Place], summed: Sequence[Place]) -> Together | None:
    """Lists whose first members broadcast with each other, then the second ones, and so on."""
    changed = [at for at, place in enumerate(lists) if place in summed]
    if not changed:
        return None
    if len(lists) == 1:
        raise NotSplit(f"the tensors in `{lists[0].name}` are broadcast with each other or with another input; which "
                       "of them should agree is not known")  # fmt: skip
    lengths = {place.given.tuple_numbers.values for place in lists}
    if len(lengths) > 1 or len(next(iter(lengths))) != 1:
        names = " and ".join(f"`{place.name}`" for place in lists)
        raise NotSplit(
            f"{names} need not have as many tensors as each other: give them the same single `tuple_numbers`"
        )
    return Together(
        ", ".join(f"{CASE}.{place.code}" for place in lists), tuple(f"tensors[{at}]" for at in changed), True
    )


def _is_list(given: SpecInput) -> bool:
    """Whether a case holds a list in the place of the input, which has no type of its own."""
    return given.kind.endswith(("s", "_tuple"))


def _listed(case: str, places: Sequence[Place]) -> str:
    return "[" + ", ".join(f"{case}.{place.code}" for place in places) + "]"
