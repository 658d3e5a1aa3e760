"""Fold the verdicts of many cases into one report per compared tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opscan.dataclass import dataclass
from opscan.judging.verdicts import STATUSES, CaseVerdict, TensorVerdict
from opscan.model import CLASS_ORDER, NumericClass, StageReport, TensorClass, TensorReport


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

    def add(self, case: CaseVerdict, statuses: Sequence[str]) -> None:
        """One case; `statuses` runs parallel to the tensors."""
        for slot, verdict in zip(self.slots(case, statuses), case.tensors, strict=True):
            slot.count += 1
            if slot.widen(verdict.tensor.extent):
                slot.tensor = verdict.tensor

    def slots(self, case: CaseVerdict, statuses: Sequence[str]) -> list[Slot]:
        """Where the tensors of all the cases count that differ from this one in nothing but extents and shapes."""
        return [self._slot(verdict, status) for verdict, status in zip(case.tensors, statuses, strict=True)]

    def _slot(self, verdict: TensorVerdict, status: str) -> Slot:
        folded = self._tensors.get(verdict.tensor.name)
        if folded is None:
            folded = self._tensors[verdict.tensor.name] = _Folded()
        return folded.slot(verdict, status)

    def wanted(self) -> Iterator[Slot]:
        """The slots whose tensors the reports show."""
        return (folded.loosest for folded in self._tensors.values())

    def reports(self, evidence: str) -> tuple[TensorReport, ...]:
        return tuple(folded.report(name, evidence) for name, folded in self._tensors.items())


def worst(statuses: Sequence[str]) -> str:
    """The worst of the statuses; `ok` if there is none."""
    return min(statuses, key=STATUSES.index, default="ok")


@dataclass(slots=True)
class Slot:
    """One compared tensor in the cases in which it has one class. `tensor`: where its extent is largest.

    `origin`: the case of that tensor, where it has to be looked up.
    """

    tensor: TensorClass
    count: int = 0
    least: int = 0
    most: int = -1
    origin: int | None = None

    def widen(self, extent: int) -> bool:
        """Take in an extent; whether it is larger than those before."""
        if self.most < 0:
            self.least = self.most = extent
            return True
        self.least = min(self.least, extent)
        if extent <= self.most:
            return False
        self.most = extent
        return True


class _Folded:
    """One compared tensor over the cases so far."""

    def __init__(self) -> None:
        self._slots: dict[tuple[NumericClass, bool], Slot] = {}
        self._dtypes: dict[str, str] = {}
        """The name of the rule in effect, by dtype."""
        self._depends: set[str] = set()
        self._statuses: dict[str, None] = {}
        self._needs_tolerance = False

    def slot(self, verdict: TensorVerdict, status: str) -> Slot:
        tensor = verdict.tensor
        self._dtypes.setdefault(tensor.dtype, verdict.effective.name)
        self._depends.update(tensor.depends_on)
        self._statuses[status] = None
        self._needs_tolerance = self._needs_tolerance or verdict.need == "tolerance"
        key = tensor.numeric_class, tensor.correctly_rounded
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = Slot(tensor)
        return slot

    @property
    def loosest(self) -> Slot:
        return max(self._slots.values(), key=lambda slot: _looseness(slot.tensor))

    def report(self, name: str, evidence: str) -> TensorReport:
        loosest = self.loosest.tensor
        counts: dict[str, int] = {}
        for (kind, _), slot in self._slots.items():
            counts[str(kind)] = counts.get(str(kind), 0) + slot.count
        rounded = all(once for kind, once in self._slots if kind is loosest.numeric_class)
        depends = self._depends | ({"shapes"} if len(counts) > 1 else set())
        least = min(slot.least for slot in self._slots.values())
        return TensorReport(
            name=name,
            role=loosest.role,
            input=loosest.input,
            dtypes=tuple(self._dtypes),
            numeric_class=loosest.numeric_class,
            correctly_rounded=rounded,
            cause=loosest.cause,
            depends_on=tuple(sorted(depends)),
            extent=(least, max(slot.most for slot in self._slots.values())),
            cases=counts,
            present=sum(counts.values()),
            effective=dict(self._dtypes),
            status=self._status(),
            path=loosest.path,
            evidence=evidence,
            reason=loosest.reason,
            # no stage of the case with the least extent is longer than that
            stages=tuple(StageReport(own.cause, (min(own.extent, least), own.extent)) for own in loosest.stages),
            traced=any(slot.tensor.traced for slot in self._slots.values()),
        )

    def _status(self) -> str:
        """The worst status over the cases; a tensor that itself needs the tolerance in some case shares nobody's."""
        spared = self._needs_tolerance
        return worst(["ok" if status == "shared" and spared else status for status in self._statuses])


def _looseness(tensor: TensorClass) -> tuple[int, bool]:
    return CLASS_ORDER[tensor.numeric_class], not tensor.correctly_rounded
