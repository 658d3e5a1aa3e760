"""Fold the verdicts of many cases into one report per compared tensor."""

from __future__ import annotations

from collections.abc import Sequence

from opscan.judging.verdicts import STATUSES, CaseVerdict, TensorVerdict
from opscan.model import CLASS_ORDER, NumericClass, TensorClass, TensorReport


def fold(verdicts: Sequence[CaseVerdict], statuses: Sequence[Sequence[str]], evidence: str) -> tuple[TensorReport, ...]:
    """One report per name, in the order of appearance; `statuses` runs parallel to the tensors of each case."""
    folding = Folding()
    for case, judged in zip(verdicts, statuses, strict=True):
        folding.add(case, judged)
    return folding.reports(evidence)


class Folding:
    """Takes in the verdicts of one case after another and keeps what the reports need of them."""

    def __init__(self) -> None:
        self._tensors: dict[str, _Folded] = {}

    def add(self, case: CaseVerdict, statuses: Sequence[str], count: int = 1) -> None:
        """`count` cases with the same verdicts; `statuses` runs parallel to the tensors."""
        for verdict, status in zip(case.tensors, statuses, strict=True):
            name = verdict.tensor.name
            folded = self._tensors.get(name)
            if folded is None:
                folded = self._tensors[name] = _Folded(verdict.tensor)
            folded.add(verdict, status, count)

    def reports(self, evidence: str) -> tuple[TensorReport, ...]:
        return tuple(folded.report(name, evidence) for name, folded in self._tensors.items())


def worst(statuses: Sequence[str]) -> str:
    """The worst of the statuses; `ok` if there is none."""
    return min(statuses, key=STATUSES.index, default="ok")


class _Folded:
    """One compared tensor over the cases so far."""

    def __init__(self, first: TensorClass) -> None:
        self._loosest = first
        self._looseness = _looseness(first)
        self._rounded_once: dict[NumericClass, bool] = {}
        self._least = self._most = first.extent
        self._classes: dict[NumericClass, int] = {}
        self._dtypes: dict[str, str] = {}
        """The name of the rule in effect, by dtype."""
        self._depends: set[str] = set()
        self._statuses: dict[str, None] = {}
        self._needs_tolerance = False

    def add(self, verdict: TensorVerdict, status: str, count: int) -> None:
        tensor = verdict.tensor
        looseness = _looseness(tensor)
        if looseness > self._looseness:
            self._loosest, self._looseness = tensor, looseness
        kind, extent = tensor.numeric_class, tensor.extent
        self._classes[kind] = self._classes.get(kind, 0) + count
        self._rounded_once[kind] = self._rounded_once.get(kind, True) and tensor.correctly_rounded
        self._least, self._most = min(self._least, extent), max(self._most, extent)
        if tensor.dtype not in self._dtypes:
            self._dtypes[tensor.dtype] = verdict.effective.name
        self._depends.update(tensor.depends_on)
        self._statuses[status] = None
        self._needs_tolerance = self._needs_tolerance or verdict.need == "tolerance"

    def report(self, name: str, evidence: str) -> TensorReport:
        loosest = self._loosest
        depends = self._depends | ({"shapes"} if len(self._classes) > 1 else set())
        return TensorReport(
            name=name,
            role=loosest.role,
            input=loosest.input,
            dtypes=tuple(self._dtypes),
            numeric_class=loosest.numeric_class,
            correctly_rounded=self._rounded_once[loosest.numeric_class],
            cause=loosest.cause,
            depends_on=tuple(sorted(depends)),
            extent=(self._least, self._most),
            cases={str(kind): count for kind, count in self._classes.items()},
            present=sum(self._classes.values()),
            effective=dict(self._dtypes),
            status=self._status(),
            path=loosest.path,
            evidence=evidence,
            reason=loosest.reason,
        )

    def _status(self) -> str:
        """The worst status over the cases; a tensor that itself needs the tolerance in some case shares nobody's."""
        spared = self._needs_tolerance
        return worst(["ok" if status == "shared" and spared else status for status in self._statuses])


def _looseness(tensor: TensorClass) -> tuple[int, bool, int]:
    return CLASS_ORDER[tensor.numeric_class], not tensor.correctly_rounded, tensor.extent
