"""Classify a case from what ships, without torch: the paths of its operator, evaluated at its sizes.

It answers only where the traced answer would be the same; everything else is left to the tracer.
"""

from __future__ import annotations

from opscan.model import Case, Classification
from opscan.numerics.binding import Binding, Unbindable, arrangements, bind
from opscan.numerics.described import bind_described
from opscan.numerics.names import Entry, MalformedEntry, basis_of, described, is_npu_name
from opscan.numerics.paths.evaluating import evaluate
from opscan.numerics.paths.shipping import Known, find


def foretell(case: Case) -> Classification | None:
    """The classes of a case whose golden is not in a plugin, or None where that takes a trace."""
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


def _by_entry(case: Case, entry: Entry) -> Classification | None:
    known = find(path_name(entry))
    if known is None:
        return None
    try:
        binding = bind_described(case, entry)
    except Unbindable as problem:
        return Classification((), "name", str(problem))
    return _evaluated(known, binding, "name")


def _by_name(case: Case, known: Known, basis: str) -> Classification | None:
    try:
        binding = bind(case, known.parameters)
    except Unbindable:
        return None
    attempts = [binding]
    if basis == "name":
        attempts += arrangements(case.name or "", known.parameters, binding)
    for attempt in attempts:
        if not set(attempt.kwargs) <= known.keywords:
            continue  # torch takes no such keyword
        return _evaluated(known, attempt, basis)
    return None


def _evaluated(known: Known, binding: Binding, basis: str) -> Classification | None:
    tensors = evaluate(known, binding)
    return None if tensors is None else Classification(tensors, basis)
