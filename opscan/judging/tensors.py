"""Fold the verdicts of many cases into one report per compared tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from opscan.judging.verdicts import STATUSES, CaseVerdict, TensorVerdict
from opscan.model import CLASS_ORDER, TensorClass, TensorReport


def fold(verdicts: Sequence[CaseVerdict], statuses: Sequence[Sequence[str]], evidence: str) -> tuple[TensorReport, ...]:
    """One report per name, in the order of appearance; `statuses` runs parallel to the tensors of each case.

    Cases that were judged at once share their verdicts, so that each is looked at once and counted.
    """
    grouped: dict[str, dict[tuple[int, str], int]] = {}
    known: dict[int, TensorVerdict] = {}
    for case, judged in zip(verdicts, statuses, strict=True):
        for verdict, status in zip(case.tensors, judged, strict=True):
            known[id(verdict)] = verdict
            counts = grouped.setdefault(verdict.tensor.name, {})
            key = (id(verdict), status)
            counts[key] = counts.get(key, 0) + 1
    return tuple(
        _fold_one(name, [(known[number], status, count) for (number, status), count in counts.items()], evidence)
        for name, counts in grouped.items()
    )


def worst(statuses: Sequence[str]) -> str:
    """The worst of the statuses; `ok` if there is none."""
    return min(statuses, key=STATUSES.index, default="ok")


def _fold_one(name: str, entries: Sequence[tuple[TensorVerdict, str, int]], evidence: str) -> TensorReport:
    tensors = [verdict.tensor for verdict, _, _ in entries]
    cases: Counter[str] = Counter()
    for verdict, _, count in entries:
        cases[str(verdict.tensor.numeric_class)] += count
    loosest = max(tensors, key=_looseness)
    same = [tensor for tensor in tensors if tensor.numeric_class is loosest.numeric_class]
    depends = {word for tensor in tensors for word in tensor.depends_on}
    if len({tensor.numeric_class for tensor in tensors}) > 1:
        depends.add("shapes")
    effective: dict[str, str] = {}
    for verdict, _, _ in entries:
        effective.setdefault(verdict.tensor.dtype, verdict.effective.name)
    return TensorReport(
        name=name,
        role=loosest.role,
        input=loosest.input,
        dtypes=tuple(dict.fromkeys(tensor.dtype for tensor in tensors)),
        numeric_class=loosest.numeric_class,
        correctly_rounded=all(tensor.correctly_rounded for tensor in same),
        cause=loosest.cause,
        depends_on=tuple(sorted(depends)),
        extent=(min(tensor.extent for tensor in tensors), max(tensor.extent for tensor in tensors)),
        cases=dict(cases),
        present=cases.total(),
        effective=effective,
        status=_status(entries),
        path=loosest.path,
        evidence=evidence,
        reason=loosest.reason,
    )


def _status(entries: Sequence[tuple[TensorVerdict, str, int]]) -> str:
    """The worst status over the cases; a tensor that itself needs the tolerance in some case shares nobody's."""
    needs = any(verdict.need == "tolerance" for verdict, _, _ in entries)
    return worst(["ok" if status == "shared" and needs else status for _, status, _ in entries])


def _looseness(tensor: TensorClass) -> tuple[int, bool, int]:
    return CLASS_ORDER[tensor.numeric_class], not tensor.correctly_rounded, tensor.extent
