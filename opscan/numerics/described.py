"""Bind the inputs of a case to a described operator: by name, by the usual other names, then by place and kind.

The executor of such a case is not at hand and may name, order and add inputs as it likes. A tensor that fits no
parameter is refused, since it may change how the result comes about; an attribute that fits none is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from opscan.model import Case, CaseInput
from opscan.numerics.attributes import number_in, numbers_of, parameter_tables, read_value
from opscan.numerics.binding import Binding, TensorArgument, Unbindable, tensor_argument
from opscan.numerics.names import Entry
from opscan.numerics.signatures import Parameter, plain

_NOT_PASSED = frozenset({"non_param", "load_tensor_data"})
_TENSORS = frozenset({"tensor", "tensors", "tensor_tuple"})
_TENSOR_LIKE = ("tensor", "either")

Given = tuple[int, CaseInput]
"""An input with its place in the case."""


def bind_described(case: Case, entry: Entry) -> Binding:
    """Arguments of `case` for the operator of `entry`, every parameter filled. Raises Unbindable."""
    given = _inputs(case)
    matched = match(entry, [item for _, item in given])
    left = [place for place in range(len(given)) if place not in matched.values()]
    _refuse_strangers(entry, [given[place] for place in left])
    args, kwargs = [], {}
    for parameter in entry.parameters:
        place = matched.get(parameter.name)
        if place is None and parameter.required:
            raise Unbindable(f"{entry.name} needs `{parameter.name}`, and no input of the case is it")
        value = parameter.absent if place is None else _value(entry, parameter, given[place], case.backward)
        if parameter.by_name:
            kwargs[parameter.name] = value
        else:
            args.append(value)
    return Binding(tuple(args), kwargs)


def _inputs(case: Case) -> list[Given]:
    inputs = case.inputs
    if case.tensor_input is not None:
        inputs = (case.tensor_input, *(case.method_inputs or case.inputs))
    places = [(place, given) for place, given in enumerate(inputs) if given.dtype not in _NOT_PASSED]
    return [(place, given) for place, given in places if plain(given.name or "") != "format"]


def match(entry: Entry, inputs: list[CaseInput]) -> dict[str, int]:
    """Which input stands for which parameter: equal names first, then the entry's, then the usual other names."""
    matched: dict[str, int] = {}
    free = dict(enumerate(_plain_input(given.name) for given in inputs))
    other = entry.also or {}
    for names_of in (
        lambda parameter: {plain(parameter.name)},
        lambda parameter: {plain(name) for name in other.get(parameter.name, ())},
        lambda parameter: _synonyms().get(plain(parameter.name), frozenset()),
    ):
        for parameter in entry.parameters:
            if parameter.name not in matched:
                names = names_of(parameter)
                place = next((p for p, name in free.items() if name in names and _fits(parameter, inputs[p])), None)
                if place is not None:
                    matched[parameter.name] = place
                    del free[place]
    _match_by_place(entry, inputs, matched, free)
    return matched


def _match_by_place(entry: Entry, inputs: list[CaseInput], matched: dict[str, int], free: dict[int, str]) -> None:
    """Inputs without a name in their order; then what is still needed, where only one order is left.

    Among tensors that are calculated with, one of indices or truth values stands only for a parameter that takes such.
    """
    mixed = any(_floats(given) for given in inputs)

    def fits(parameter: Parameter, given: CaseInput) -> bool:
        marker = mixed and given.kind in _TENSORS and not _floats(given)
        return _fits(parameter, given) and (not marker or _takes_markers(entry, parameter))

    for parameter in entry.parameters:
        if parameter.name in matched:
            continue
        place = next((p for p, name in free.items() if not name and fits(parameter, inputs[p])), None)
        if place is not None:
            matched[parameter.name] = place
            del free[place]
    for kinds in (True, False):
        open_ones = [p for p in entry.parameters if p.required and p.name not in matched]
        needed = [p for p in open_ones if (p.kind in _TENSOR_LIKE) is kinds]
        strangers = [
            p for p, name in free.items() if (inputs[p].kind in _TENSORS) is kinds and not _is_ignored(entry, name)
        ]
        if needed and (len(needed) == len(strangers) or not kinds):
            for parameter in needed:
                place = next((p for p in strangers if p in free and fits(parameter, inputs[p])), None)
                if place is not None:
                    matched[parameter.name] = place
                    del free[place]


def _floats(given: CaseInput) -> bool:
    """Whether a tensor, or a tensor of a list, is of a dtype that is calculated with; int8 and uint8 are quantised."""
    if given.members is not None:
        return any(map(_floats, given.members))
    dtypes = ("fp", "bf", "hf", "float", "double", "complex", "int8", "uint8", "int4")
    return given.kind in _TENSORS and (given.dtype or "").startswith(dtypes)


def _takes_markers(entry: Entry, parameter: Parameter) -> bool:
    cast = (entry.cast or {}).get(parameter.name, "")
    return plain(parameter.name) in _markers() or cast.startswith(("int", "bool", "uint"))


def _fits(parameter: Parameter, given: CaseInput) -> bool:
    """Whether an input of this kind can stand for the parameter at all."""
    tensor = given.kind in _TENSORS
    if parameter.kind == "either":
        return given.members is None
    if parameter.kind == "tensor":
        return (tensor or given.kind.startswith("scalar")) and (parameter.many or given.kind in ("tensor", "scalar"))
    if parameter.kind in ("scalar", "float", "int"):
        return not tensor or given.members is None
    return not tensor or parameter.many


def _refuse_strangers(entry: Entry, left: Iterable[Given]) -> None:
    for place, given in left:
        name = _plain_input(given.name)
        if given.kind in _TENSORS and not _is_ignored(entry, name) and not _is_placeholder(given):
            raise Unbindable(f"{entry.name} has no tensor {given.name or f'#{place}'}")


def _is_ignored(entry: Entry, name: str) -> bool:
    return name in _ignored() or name in {plain(other) for other in entry.ignores}


def _is_placeholder(given: CaseInput) -> bool:
    """Where a case has no such tensor, a list or a tensor without elements often stands for it."""
    return given.shape is not None and 0 in given.shape


def _plain_input(name: str | None) -> str:
    key = plain(name or "")
    for ending in ("optional", "ref"):
        if len(key) > len(ending):
            key = key.removesuffix(ending)
    return "" if key == "none" else key


@lru_cache(maxsize=1)
def _synonyms() -> Mapping[str, frozenset[str]]:
    known: dict[str, frozenset[str]] = {}
    for group in parameter_tables()["synonyms"]:
        for name in group:
            known[name] = known.get(name, frozenset()) | frozenset(group)
    return known


@lru_cache(maxsize=1)
def _markers() -> frozenset[str]:
    return frozenset(parameter_tables()["markers"])


@lru_cache(maxsize=1)
def _ignored() -> frozenset[str]:
    return frozenset(parameter_tables()["ignored"])


def _value(entry: Entry, parameter: Parameter, item: Given, backward: bool) -> Any:
    place, given = item
    label = given.name or parameter.name
    if parameter.kind == "tensor" or (parameter.kind == "either" and given.kind in _TENSORS):
        return _tensor(entry, parameter, given, backward, label, place)
    if given.kind in _TENSORS and given.members is None and parameter.kind in ("scalar", "float"):
        return number_in(given)
    values = numbers_of(given)
    if parameter.many:
        return [read_value(parameter, value, given) for value in values]
    return read_value(parameter, values if len(values) > 1 else next(iter(values), None), given)


def _tensor(entry: Entry, parameter: Parameter, given: CaseInput, backward: bool, label: str, place: int) -> Any:
    if given.kind not in _TENSORS:
        members = [replace(member, shape=()) for member in given.members or ()]
        given = replace(given, kind="tensors" if members else "tensor", shape=(), members=tuple(members) or None)
    value = tensor_argument(given, backward, label, place)
    if parameter.many and isinstance(value, TensorArgument):
        value = [value]
    dtype = (entry.cast or {}).get(parameter.name)
    return value if dtype is None else _recast(value, dtype)


def _recast(value: Any, dtype: str) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_recast(item, dtype) for item in value)
    if not isinstance(value, TensorArgument) or (dtype == "int64" and value.dtype == "bool"):
        return value
    return replace(value, dtype=dtype, requires_grad=False)
