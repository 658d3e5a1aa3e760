"""What paths are derived for: names of operators, each with calls to start from.

Calls come from PyTorch's operator database, from the ATen calls that its samples make (so that explicit backward
operators have some too), and from the specs of a catalog.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import contextlib
import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from opscan.model import Case
from opscan.numerics import names as described_names
from opscan.numerics.binding import Binding, TensorArgument, Unbindable, bind
from opscan.numerics.described import bind_described
from opscan.numerics.foretelling import path_name, subject_name
from opscan.numerics.names import Entry, basis_of
from opscan.numerics.operators import Operator, resolve
from opscan.numerics.paths import seeds
from opscan.numerics.paths.sampling import as_derived, with_all_gradients, without_gradients
from opscan.numerics.paths.seeds import NotPlain, described_call, filled
from opscan.numerics.signatures import Parameter

_PER_OVERLOAD = 40
_PER_ENTRY = 4
_PER_FILE = 60
_PLAIN = {"int": 1, "float": 1.375, "scalar": 1.375, "bool": False, "str": "none"}


@dataclass(frozen=True)
class Subject:
    """A name to derive paths for. `aliases`: names that may have the same paths. `calls`: to start from."""

    name: str
    aliases: tuple[str, ...] = ()
    calls: tuple[Binding, ...] = ()


def operator_of(name: str) -> Operator | str:
    """The operator of a subject: an entry of `catalog/operators/` after `entry:`, else what the name means to ATK."""
    if name.startswith("entry:"):
        place = described_names.find(name.removeprefix("entry:"))
        return described_names.load(place).operator() if place else f"{name} is in no catalog"
    return resolve(name)


def subjects(only: Sequence[str], folders: Sequence[Path], cases: Sequence[Case] = ()) -> list[Subject]:
    """Everything there is to derive: the database, the ATen calls it makes, what the specs in `folders` name, `cases`.

    `only`: those whose name contains one of these, where there are any.
    """
    found = _all_subjects(folders, cases, harvest=not only or any("aten" in part for part in only))
    return [subject for subject in found if not only or any(part in subject.name for part in only)]


def _all_subjects(folders: Sequence[Path], cases: Sequence[Case], *, harvest: bool) -> list[Subject]:
    from_specs = _calls_of([*_cases_in(folders), *cases])
    found: list[Subject] = []
    for base in sorted({entry.name for entries in seeds.database().values() for entry in entries}):
        first, *others = seeds.spellings(base) or [""]
        if first:
            calls = [call for name in (first, *others) for call in from_specs.get(name, ())]
            found.append(Subject(first, tuple(others), tuple(calls)))
            found += [Subject(name) for name in seeds.in_place(base)]
    taken = {name for subject in found for name in (subject.name, *subject.aliases)}
    wanted = _wanted_overloads()
    for name, calls in sorted(_harvest(wanted).items()) if harvest else ():
        if name not in taken:
            packet = name.rpartition(".")[0]
            # few backward operators have a gradient of their own, and no spec asks for it
            kept = [without_gradients(call) for call in calls] if "_backward" in name else calls
            kept = [*from_specs.get(name, ()), *kept]
            found.append(Subject(name, (packet,) if packet not in taken else (), tuple(kept)))
            taken.add(packet)
    for entry in _formulas():
        from_specs.setdefault(path_name(entry), [_plain_call(entry)])
    found += [Subject(name, (), tuple(calls)) for name, calls in sorted(from_specs.items()) if name not in taken]
    return sorted(found, key=lambda subject: (not subject.calls or "aten" in subject.name, subject.name.endswith("_")))


def _formulas() -> Iterator[Entry]:
    """The entries of `catalog/operators/` that are described by a formula, each once."""
    for place in described_names.places():
        with contextlib.suppress(described_names.MalformedEntry):
            entry = described_names.load(place)
            if entry.formula and entry.place == place:
                yield entry


def _plain_call(entry: Entry) -> Binding:
    """A call with every tensor that is needed, all of one shape, for an entry that no spec calls."""
    places = itertools.count()

    def value(parameter: Parameter) -> Any:
        if not parameter.required:
            return parameter.absent
        if parameter.kind == "tensor":
            dtype = (entry.cast or {}).get(parameter.name, "float32")
            given: Any = TensorArgument(dtype, (4, 6), False, parameter.name, next(places))
        else:
            given = _PLAIN.get(parameter.kind)
        return [given, given] if parameter.many else given

    values = {parameter.name: value(parameter) for parameter in entry.parameters}
    return filled(Binding((), values), entry.parameters)


def _wanted_overloads() -> dict[str, Entry]:
    """ATen overloads that an entry of `catalog/operators/` stands for."""
    wanted = {}
    for place in described_names.places():
        with contextlib.suppress(described_names.MalformedEntry):
            entry = described_names.load(place)
            if entry.aten:
                wanted[entry.aten if "." in entry.aten else f"{entry.aten}.default"] = entry
    return wanted


def _harvest(wanted: Mapping[str, Entry]) -> dict[str, list[Binding]]:
    """Bindings of the ATen calls that the samples of the database make, forward and backward."""
    watch = _Harvest(wanted)
    for entries in seeds.database().values():
        for entry in entries:
            if torch.float32 not in entry.dtypes:
                continue
            torch.manual_seed(0)
            with warnings.catch_warnings(), contextlib.suppress(Exception):
                warnings.simplefilter("ignore")
                gradients = entry.supports_autograd
                samples = itertools.islice(entry.sample_inputs("cpu", torch.float32, requires_grad=gradients), 40)
                for sample in itertools.islice(samples, 0, None, max(1, 40 // _PER_ENTRY)):
                    with watch, contextlib.suppress(Exception):
                        result = entry.op(sample.input, *sample.args, **sample.kwargs)
                        roots = [t for t in _tensors(result) if t.requires_grad]
                        if roots:
                            torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])
    return watch.calls


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


class _Harvest(TorchDispatchMode):  # type: ignore[misc]
    """Keeps the calls of the wanted overloads, and of every operator whose name ends in backward."""

    def __init__(self, wanted: Mapping[str, Entry]) -> None:
        super().__init__()
        self.calls: dict[str, list[Binding]] = {}
        self._wanted = wanted

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        overload = str(func).removeprefix("aten.")
        backward = func._schema.name.endswith("_backward") and not func._schema.name.startswith("aten::_")
        if func.namespace == "aten" and (overload in self._wanted or backward):
            entry = self._wanted.get(overload)
            kept = self.calls.setdefault(path_name(entry) if entry else f"torch.ops.aten.{overload}", [])
            if len(kept) < _PER_OVERLOAD:
                with contextlib.suppress(NotPlain):
                    names = [argument.name for argument in func._schema.arguments]
                    call = described_call(args, kwargs or {}, names)
                    kept.append(filled(call, entry.parameters) if entry else call)
        return func(*args, **(kwargs or {}))


def _cases_in(folders: Sequence[Path]) -> Iterator[Case]:
    """The cases of the specs and case files below `folders`, drawn where a spec has none."""
    from opscan import reading
    from opscan.model import CaseFile, Spec
    from opscan.shapes import companions, evidence_of, link

    found, _ = reading.discover(folders) if folders else ([], None)
    files = [reading.read_file(path) for path in found]
    beside = [
        reading.read_file(path) for file in files if isinstance(file, Spec) for path in companions(file.source.path)
    ]
    catalog = link([*files, *beside])
    for file in files:
        if isinstance(file, CaseFile):
            yield from file.cases[:_PER_FILE]
        elif isinstance(file, Spec):
            yield from evidence_of(file, catalog.links(file), draws=40, seed=0).cases[:_PER_FILE]


def _calls_of(cases: Sequence[Case]) -> dict[str, list[Binding]]:
    """The calls that the cases make, by subject; each in the dtypes it is written in too, where these differ."""
    calls: dict[str, list[Binding]] = {}
    for case in cases:
        if (call := _spec_call(case)) is None:
            continue
        name, binding = call
        # an aclnn operator has no gradient, few backward operators have one, and no spec asks for it
        differentiated = case.backward or described_names.is_differentiated(case.name or "")
        forward = "_backward" in name or (name.startswith("entry:") and not differentiated)
        known = calls.setdefault(name, [])
        for written in (as_derived(binding), with_all_gradients(binding)):
            kept = without_gradients(written) if forward else written
            known += [kept] if kept not in known else []
    return calls


def _spec_call(case: Case) -> tuple[str, Binding] | None:
    try:
        if basis_of(case) == "name" or described_names.is_npu_name(case.name or ""):
            entry = described_names.described(case)
            if entry is not None:
                return path_name(entry), bind_described(case, entry)
        if not case.name:
            return None
        operator = resolve(case.name, method=case.tensor_input is not None)
        if isinstance(operator, str):
            return None
        return subject_name(case.name, method=operator.method), bind(case, operator.parameters)
    except (Unbindable, described_names.MalformedEntry):
        return None
