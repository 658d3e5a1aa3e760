"""Derive or check the paths of the subjects that are asked for, line by line.

A process of its own, so that an operator that crashes or hangs costs only itself.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import json
import pickle
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import torch

from opscan.numerics import names
from opscan.numerics.binding import Binding
from opscan.numerics.classify import describe
from opscan.numerics.foretelling import path_name
from opscan.numerics.names import Entry
from opscan.numerics.operators import Operator
from opscan.numerics.paths import sampling, seeds
from opscan.numerics.paths.checking import check
from opscan.numerics.paths.deriving import derive, holds_as
from opscan.numerics.paths.shipping import dump, find
from opscan.numerics.paths.subjects import Subject, operator_of
from opscan.numerics.paths.tracing import Traces

_ALIAS_CALLS = 10
_KIND_CALLS = 6


def main(listing: str) -> None:
    """Answer each line on stdin, a task as JSON, with a line of JSON."""
    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what an operator prints must not look like an answer
    with Path(listing).open("rb") as stream:
        subjects: list[Subject] = pickle.load(stream)
    for line in sys.stdin:
        task = json.loads(line)
        subject = subjects[task["number"]]
        result = _derived(subject, task["seconds"]) if task["task"] == "derive" else _checked(subject, task)
        print(json.dumps(result, separators=(",", ":")), file=answers, flush=True)


def _derived(subject: Subject, seconds: float) -> dict[str, Any]:
    operator = operator_of(subject.name)
    if isinstance(operator, str):
        return {"name": subject.name, "failures": {"": operator}}
    derivation = derive(operator, _calls(subject.name, operator, subject.calls), describe, seconds=seconds)
    aliases = {}
    for name in subject.aliases:
        other = operator_of(name)
        if isinstance(other, Operator):
            paths_as = _paths_as(operator, other)
            variants = _varied(_calls(name, other, ()))
            same = bool(derivation.paths) and holds_as(derivation.paths, Traces(other, describe), paths_as, variants)
            aliases[name] = _entry(other, paths_as if same else None)
    return {
        "name": subject.name,
        "entry": _entry(operator, operator.parameters if derivation.paths else None),
        "aliases": aliases,
        "paths": dump(derivation.paths),
        "failures": derivation.failures,
        "traces": derivation.traces,
        "seconds": round(derivation.seconds, 2),
        "refused": derivation.refused,
        "leaks": derivation.leaks,
    }


def _checked(subject: Subject, task: dict[str, Any]) -> dict[str, Any]:
    """What a check says of the first name and of each alias that ships paths."""
    found = {}
    for name in (subject.name, *subject.aliases):
        known, operator = find(name), operator_of(name)
        if known is not None and known.file is not None and isinstance(operator, Operator):
            calls = _calls(name, operator, subject.calls if name == subject.name else ())
            count = task["calls"] if name == subject.name else max(task["calls"] // 4, 1)
            found[name] = asdict(check(known, Traces(operator, describe), calls, count, task["seed"]))
    return {"checked": found}


def _calls(name: str, operator: Operator, more: Sequence[Binding]) -> list[Binding]:
    """Where to start: what the specs ask first, then the database; swapped where it has another order."""
    found = [*more]
    described = _described(name)
    if not name.startswith(("entry:", "torch.ops.aten.")) or described or not more:
        known = list(seeds.seeds(name, operator.parameters))
        traces = Traces(operator, describe)
        if known and not any(_is_taken(traces, call) for call in known[:6]):
            known = [seeds.swapped(call, operator.parameters) for call in known]
        if described:
            known = [seeds.filled(call, described.parameters) for call in known]
        found += known
    return found if name.startswith("entry:") else [*found, *_other_kinds(found, operator)]


def _described(name: str) -> Entry | None:
    """The entry of `catalog/operators/` that stands for an ATen overload."""
    for place in names.places() if name.startswith("torch.ops.aten.") else ():
        entry = names.load(place)
        if path_name(entry) == name:
            return entry
    return None


def _other_kinds(calls: Sequence[Binding], operator: Operator) -> list[Binding]:
    """Calls with numbers of another kind, where the operator takes such."""
    traces, found = Traces(operator, describe), []
    random = Random(2)
    for call in random.sample(list(calls), min(len(calls), _KIND_CALLS)):
        found += [other for other in seeds.of_other_kinds(call) if _is_taken(traces, other)]
    return found


def _is_taken(traces: Traces, call: Binding) -> bool:
    try:
        return traces.row(call) is not None
    except Exception:
        return False


def _varied(calls: Sequence[Binding]) -> list[Binding]:
    random = Random(1)
    chosen = calls if len(calls) <= _ALIAS_CALLS else random.sample(list(calls), _ALIAS_CALLS)
    return [*chosen, *(sampling.vary(call, random) for call in chosen)]


def _paths_as(operator: Operator, other: Operator) -> tuple[str, ...]:
    """What the first name calls the parameters of the other: the same where both have it, else by place."""
    own = operator.parameters
    return tuple(
        name if name in own or place >= len(own) else own[place] for place, name in enumerate(other.parameters)
    )


def _entry(operator: Operator, paths_as: Sequence[str] | None) -> dict[str, Any]:
    return {"parameters": operator.parameters, "keywords": _keywords(operator), "as": paths_as}


def _keywords(operator: Operator) -> list[str]:
    """Every name that some overload takes by keyword, beyond the parameters."""
    packet = getattr(torch.ops.aten, operator.name.rpartition(".")[2].rstrip("_"), None)
    found: set[str] = set()
    for overload in packet.overloads() if packet is not None and hasattr(packet, "overloads") else ():
        found |= {argument.name for argument in getattr(packet, overload)._schema.arguments}
    return sorted(found - set(operator.parameters))


if __name__ == "__main__":
    main(*sys.argv[1:])
