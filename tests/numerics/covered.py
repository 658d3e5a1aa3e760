"""How much of PyTorch's operator database gets a class: every sample of every entry, forward and backward.

    python -m tests.numerics.covered [--only REGEX] [--seconds N] [--json FILE]

Each sample is classified four times: by a trace on the sample's own data, which shows what the kinds table leaves out;
as an audit does it, from shapes, dtypes and attributes alone; from a case that a spec could hold, under the name of the
operator, where a case can express the sample; and the same from declared steps, without torch. An entry counts where no
tensor of any of its samples is unknown or missing. Also listed: ATen overloads that were reached and have no kind, and
names that do not resolve.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import argparse
import importlib
import json
import re
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import torch
from numerics_claims import claims_of
from sweep import limit
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_unflatten

from opscan.checking.calls import Inexpressible, call_of, case_of, range_of
from opscan.checking.runs import Subject, of_sample, run
from opscan.model import Case, Classification, NumericClass
from opscan.numerics.binding import Binding, TensorArgument
from opscan.numerics.classify import _trace, classify
from opscan.numerics.declared.answering import declare
from opscan.numerics.kinds import kind_of
from opscan.numerics.operators import Operator, resolve
from opscan.numerics.tracer import _is_view

PREFERRED = (torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool)
"""The dtype of an entry: the first of these that it knows."""
ROUTES = ("own data", "shapes alone", "as a case", "as a case without torch")
NAMED = ("torch.{}", "Tensor.{}", "{}", "torch.ops.aten.{}")
"""How the name of an entry may be written in a spec."""


@dataclass
class Reached(TorchDispatchMode):
    """Enter it around a run; `overloads` holds the ATen overloads that were called."""

    overloads: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def __hash__(self) -> int:
        return id(self)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace != "prim":
            self.overloads.add(func)
        return func(*args, **(kwargs or {}))


def dtype_of(operator: Any) -> torch.dtype:
    return next((dtype for dtype in PREFERRED if dtype in operator.dtypes), next(iter(operator.dtypes)))


def samples_of(operator: Any) -> Iterator[Subject]:
    """Every sample of an entry in its dtype, gradients wanted where they exist."""
    dtype = dtype_of(operator)
    gradients = operator.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    gradients = gradients and dtype in operator.supported_backward_dtypes("cpu")
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, sample in enumerate(operator.sample_inputs("cpu", dtype, requires_grad=gradients)):
            yield of_sample(operator, sample, f"#{number}", generator)


def on_own_data(what: Subject, wanted: set[str]) -> str:
    """Why the trace of the sample itself leaves something unknown; empty where it does not."""
    claims = claims_of(what)
    unknown = [name for name, claim in claims.items() if claim.numeric_class == NumericClass.UNKNOWN]
    missing = wanted - set(claims)
    return f"unknown: {', '.join(unknown)}" if unknown else f"missing: {', '.join(missing)}" if missing else ""


def as_audited(what: Subject, wanted: set[str]) -> str:
    """Why an audit of the same call would leave something unknown; empty where it would not."""
    places = iter(range(len(what.leaves)))

    def described(leaf: Any) -> Any:
        place = next(places)
        if not isinstance(leaf, torch.Tensor):
            return leaf
        dtype = str(leaf.dtype).removeprefix("torch.")
        return TensorArgument(dtype, tuple(leaf.shape), leaf.requires_grad, str(place), place, range_of(leaf))

    args, kwargs = tree_unflatten([described(leaf) for leaf in what.leaves], what.structure)
    binding = Binding(tuple(args), kwargs)
    operator = Operator(what.name, what.call, ())
    known = _trace(operator, binding, Case(0, 0, what.name, (), backward=True), "golden")
    return _left_out(known, wanted)


def without_torch(what: Subject, wanted: set[str]) -> str:
    """The same from declared steps alone."""
    nothing = Classification((), "none", "no steps are declared for it")
    return as_a_case(what, wanted, lambda case: declare(case) or nothing)


def as_a_case(what: Subject, wanted: set[str], answer: Callable[[Case], Classification] = classify) -> str:
    """The same for a case that holds the call; a sample that no case can express counts as none."""
    args, kwargs = tree_unflatten(list(what.leaves), what.structure)
    outputs = {name for name in wanted if name.startswith("output")}
    gradients = len(wanted) - len(outputs)
    faults = []
    for name in names_of(what.name):
        try:
            known = answer(case_of(call_of(name, args, kwargs)))
        except Inexpressible:
            return ""
        found = sum(tensor.role == "gradient" for tensor in known.tensors)
        fault = _left_out(known, outputs) or (f"{gradients - found} gradients missing" if found < gradients else "")
        if not fault:
            return ""
        faults.append(fault)
    return faults[0] if faults else "no name that a spec can use"


def names_of(entry: str) -> list[str]:
    """The names under which a spec can have an entry; the first word after the operator's own name is a variant."""
    bare = entry.removeprefix("torch.ops.aten.").removeprefix("torch.")
    found = []
    for name in (bare, bare.rpartition(".")[0]):
        found += [form.format(name) for form in NAMED if name and not isinstance(resolve(form.format(name)), str)]
    return found


def _left_out(known: Classification, wanted: set[str]) -> str:
    if not known.tensors:
        return known.reason if wanted else ""
    if unknown := [tensor for tensor in known.tensors if tensor.numeric_class == NumericClass.UNKNOWN]:
        return f"unknown {unknown[0].name}: {unknown[0].reason}"
    found = {tensor.name.partition("(")[0] for tensor in known.tensors}
    return f"missing: {', '.join(sorted(wanted - found))}" if wanted - found else ""


@dataclass
class Coverage:
    """What was found of one entry: samples, and for each route the reasons of those that got no class."""

    samples: int = 0
    refused: int = 0
    faults: dict[str, Counter[str]] = field(default_factory=lambda: {route: Counter() for route in ROUTES})


def cover(operator: Any, reached: set[Any], seconds: float, most: int | None = None) -> Coverage:
    """What is found of the first `most` samples of an entry; the overloads that it calls are added to `reached`."""
    found = Coverage()
    try:
        samples = list(islice(samples_of(operator), most))
    except Exception as problem:  # the database draws samples that this machine cannot make
        found.faults[ROUTES[0]][f"no samples: {_first_line(problem)}"] += 1
        return found
    for what in samples:
        mode = Reached()
        try:
            with limit(seconds):
                tensors = run(what, mode=mode).tensors
        except Exception:  # the operator itself refuses its sample on this machine
            found.refused += 1
            continue
        reached |= mode.overloads
        found.samples += 1
        for route, classified in zip(ROUTES, (on_own_data, as_audited, as_a_case, without_torch), strict=True):
            try:
                with limit(seconds):
                    fault = classified(what, set(tensors))
            except Exception as problem:
                fault = f"{type(problem).__name__}: {_first_line(problem)}"
            if fault:
                found.faults[route][fault] += 1
    return found


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or [""])[0][:160]


def has_kind(overload: Any) -> bool:
    packet = overload._schema.name.split("::")[1]
    return kind_of(packet.removeprefix("_foreach_")) is not None or _is_view(overload)


def main() -> int:
    from torch.testing._internal.common_methods_invocations import op_db

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=10, help="limit per sample and route")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    importlib.import_module("torch._dynamo")  # torch imports it at its first use: no limit may cut that short
    started = time.monotonic()
    reached: set[Any] = set()
    entries: dict[str, Coverage] = {}
    unresolved = []
    for operator in op_db:
        name = operator.name + (f".{operator.variant_test_name}" if operator.variant_test_name else "")
        if re.search(options.only, name):
            entries[name] = cover(operator, reached, options.seconds)
            if not names_of(operator.name):
                unresolved.append(operator.name)
    report(entries, reached, unresolved, time.monotonic() - started)
    if options.json:
        told = {name: {"samples": c.samples, "refused": c.refused, **c.faults} for name, c in entries.items()}
        options.json.write_text(json.dumps(told, indent=1), encoding="utf-8")
    return 0


def report(entries: dict[str, Coverage], reached: set[Any], unresolved: list[str], seconds: float) -> None:
    samples = sum(found.samples for found in entries.values())
    refused = sum(found.refused for found in entries.values())
    print(f"{len(entries)} entries, {samples} samples, {refused} that the operator itself refuses, {seconds:.0f} s")
    for route in ROUTES:
        whole = [name for name, found in entries.items() if found.samples and not found.faults[route]]
        print(f"classified at all samples, {route}: {len(whole)} ({len(whole) / max(len(entries), 1):.1%})")
    untried = [name for name, found in entries.items() if not found.samples]
    print(f"entries that have no sample on this machine: {len(untried)} {untried}")
    unruled = sorted(str(overload) for overload in reached if not has_kind(overload))
    print(f"ATen overloads reached: {len(reached)}; without a kind: {len(unruled)} {unruled}")
    print(f"names that do not resolve: {len(set(unresolved))} {sorted(set(unresolved))}")
    for route in ROUTES:
        faults: dict[str, list[str]] = defaultdict(list)
        for name, found in entries.items():
            for fault, count in found.faults[route].items():
                faults[re.sub(r"\d+", "N", fault)].append(f"{name} ({count} of {found.samples})")
        for fault, names in sorted(faults.items(), key=lambda item: -len(item[1])):
            print(f"NOT CLASSIFIED, {route}: {fault}: {', '.join(sorted(set(names)))}")


if __name__ == "__main__":
    raise SystemExit(main())
