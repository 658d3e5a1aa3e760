"""What opscan finds: the shapes that can meet, the classes of the compared tensors, what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from pathlib import Path
from typing import Any

from opscan.dataclass import dataclass
from opscan.model.written import Case, Edit, Fault, Span

# -- what a spec is for ------------------------------------------------------------------------------------------------


SCENARIOS = ("accuracy", "small-value", "memory", "determinism", "performance")


@dataclass(frozen=True, slots=True)
class Scenarios:
    """What a spec or case file is for: some of SCENARIOS, in their order.

    `source`: the file, with a line where there is one, that says so; None where accuracy is no more than assumed.
    """

    names: tuple[str, ...] = ("accuracy",)
    source: str | None = None


# -- which shapes can meet -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Evidence:
    """Concrete cases that stand for all that a spec can generate, and where they come from.

    `source`: cases, generator-run, generator-static, declared, none. `certain`: each case here can really occur.
    `complete`: nothing outside these patterns can occur.
    """

    source: str
    cases: Sequence[Case] = ()
    certain: bool = False
    complete: bool = False
    reason: str = ""
    origin: Path | None = None
    faults: tuple[Fault, ...] = ()


# -- how the bits of a tensor come about -----------------------------------------------------------------------------


class NumericClass(str, Enum):
    """How the bits of a compared tensor come about, from the strictest to the loosest."""

    SELECT_ONLY = "select-only"
    ARITHMETIC = "arithmetic"
    BROADCAST_REDUCED = "broadcast-reduced"
    ACCUMULATED = "accumulated"
    RANDOM = "random"
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        return self.value


CLASS_ORDER: Mapping[NumericClass, int] = {c: i for i, c in enumerate(NumericClass)}


@dataclass(frozen=True, slots=True)
class Step:
    """One ATen call on the way to a compared tensor, with the class of its result."""

    op: str
    phase: str
    """`forward` or `backward`."""
    numeric_class: NumericClass
    extent: int = 1


@dataclass(frozen=True, slots=True)
class Stage:
    """A sum on the way to an element whose order is open. `cause`: broadcast, reduction, contraction, scatter, window
    or scan; `extent`: its addends."""

    cause: str
    extent: int


@dataclass(frozen=True, slots=True)
class TensorClass:
    """The class of one compared tensor at concrete shapes.

    `extent`: the addends of the largest single sum that meets in one element. `stages`: the sums in the order in which
    the bits meet them, a rounding between each and the next.
    """

    name: str
    role: str
    """`output` or `gradient`."""
    dtype: str
    shape: tuple[int, ...]
    numeric_class: NumericClass
    input: int | None = None
    correctly_rounded: bool = False
    cause: str | None = None
    depends_on: tuple[str, ...] = ()
    extent: int = 1
    products: bool = False
    """The addends are products or other rounded values, not copies."""
    path: tuple[Step, ...] = ()
    reason: str = ""
    stages: tuple[Stage, ...] = ()
    formula: tuple[Any, ...] = ()
    """What an element is computed from: see `opscan.numerics.elements.term.Formula`."""
    traced: bool = False
    """PyTorch was asked, for want of declared steps."""


@dataclass(frozen=True, slots=True)
class Classification:
    """Every compared tensor of one case. Without tensors, `reason` says why nothing is known."""

    tensors: tuple[TensorClass, ...]
    basis: str
    reason: str = ""
    mismatch: bool = False
    """The operator itself refuses these inputs (shapes that cannot meet, a missing argument)."""


# -- what is wrong, and what to do -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of problem in one file. `fix` is safe, unsafe, manual or none; the edits are alternatives to nothing."""

    rule: str
    name: str
    severity: str
    path: str
    message: str
    why: str = ""
    span: Span | None = None
    count: int = 1
    places: Sequence[Span] = ()
    fix: str = "none"
    edits: Sequence[Edit] = ()


@dataclass(frozen=True, slots=True)
class StageReport:
    """A sum on the way to a compared tensor over all the cases of a file. `extent`: the least and the most addends."""

    cause: str
    extent: tuple[int, int]


@dataclass(frozen=True, slots=True)
class TensorReport:
    """One compared tensor over all the cases of a file."""

    name: str
    role: str
    input: int | None
    dtypes: tuple[str, ...]
    numeric_class: NumericClass
    correctly_rounded: bool
    cause: str | None
    depends_on: tuple[str, ...]
    extent: tuple[int, int]
    cases: Mapping[str, int]
    present: int
    effective: Mapping[str, str]
    status: str
    path: tuple[Step, ...]
    evidence: str
    reason: str = ""
    stages: tuple[StageReport, ...] = ()
    traced: bool = False


@dataclass(frozen=True, slots=True)
class FileReport:
    """What the audit says of one file."""

    path: str
    kind: str
    status: str
    reason: str
    operator: str | None = None
    basis: str = "none"
    scenarios: tuple[str, ...] = ()
    scenario_source: str | None = None
    backward: bool = False
    found: Any = None
    recommended: Mapping[str, str] | None = None
    expression: Any = None
    expression_reason: str = ""
    verdicts: Mapping[str, int] = field(default_factory=dict)
    tensors: tuple[TensorReport, ...] = ()
    diff: str = ""


@dataclass(frozen=True, slots=True)
class Audit:
    """The whole result of a run. `atk_version` is the profile the effective standards were read under.

    `suppressed`: findings that comments in the files silence; they are counted, never reported. `device`: the one whose
    documented accuracy standards were judged by, "" where none was named.
    """

    atk_version: str
    files: tuple[FileReport, ...]
    findings: tuple[Finding, ...]
    suppressed: tuple[Finding, ...] = ()
    device: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the runs of one compared tensor end under a standard: `failed` of `runs`; "" where none is known."""

    standard: str
    runs: int
    failed: int


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What two devices said of one compared tensor. `verdict`: confirmed, refuted, not-shown, skipped."""

    path: str
    operator: str
    tensor: str
    numeric_class: NumericClass
    device: str
    verdict: str
    runs: int = 0
    differing: int = 0
    """Runs in which the bits differ."""
    worst_ulp: float = 0.0
    counterfactual_differing: int | None = None
    """The same with the broadcast removed; None where nothing was broadcast."""
    counterfactual_runs: int = 0
    reason: str = ""
    under: tuple[Outcome, ...] = ()
    """Under the standard as it is written, and under the recommended one, over all classes that the tensor has."""
    repeats: int = 0
    unrepeated: int = 0
    """Runs made twice on the device, and those whose bits were others the second time."""
    peak: int | None = None
    """The most bytes allocated on the device during one run; None where nobody counts."""
