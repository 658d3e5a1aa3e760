"""What an engineer wrote: files, specs, cases, plugins, and where in the text each of them stands.

Offsets count code points of the decoded text (BOM stripped); lines and columns are 1-based.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from opscan.dataclass import dataclass

KeyPath = tuple["str | int", ...]
"""Where a value stands in a YAML or JSON document: `("inputs", 0, "dtypes", "values")`."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a file's text: `text[start:end]`, from line:column up to (not including) end_line:end_column."""

    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Source:
    """A decoded file. `text` keeps the line ends as they are and has no BOM."""

    path: Path
    text: str
    bom: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `text[start:end]`; afterwards the document must hold `value` at `where` and be otherwise the same.

    `within`: the stretch that holds the whole of the element `where[0]` of a list; what is around it cannot be touched
    by an edit inside, so a large file needs no other verification.
    """

    start: int
    end: int
    text: str
    where: KeyPath
    value: Any
    within: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with the text of a file, found while reading it. `rule` is a rule's name.

    `severity`: that of the rule where it is None.
    """

    rule: str
    message: str
    span: Span | None = None
    edit: Edit | None = None
    severity: str | None = None


@dataclass(frozen=True, slots=True)
class Choices:
    """ATK's RandomConfig: one of `values` is drawn, by `weights` where they are given (same length)."""

    values: tuple[Any, ...] = ()
    weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class SpecInput:
    """One entry of a spec's `inputs`. `kind` is ATK's `type`: tensor, tensors, scalar, attr, attr_tuple ..."""

    name: str | None
    kind: str
    required: bool = True
    backward: bool = True
    dtypes: Choices = Choices()
    ranges: Choices = Choices()
    """`ranges.valid`; empty where the spec leaves it out and ATK's default applies."""
    dim_numbers: Choices = Choices()
    dim_values: tuple[Choices, ...] = ()
    """One for all axes, or one per axis."""
    max_length: int | None = None
    boundary: Mapping[str, bool] = field(default_factory=dict)
    tuple_numbers: Choices = Choices()
    align_32b: bool | None = None
    outlier_values: tuple[float, float] | None = None
    span: Span | None = None
    invalid: Choices | None = None
    """`ranges.invalid`; None where the spec leaves it out and ATK's default applies."""
    valid_weights: float = 0.95
    """How often a value comes from `ranges` and not from `invalid`."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A case-design YAML. `acc` is `standard.acc` as PyYAML reads it (None where absent)."""

    source: Source
    name: str | None
    inputs: tuple[SpecInput, ...]
    acc: Any = None
    aclnn_name: str | None = None
    api: str = "pytorch"
    api_type: str = "function"
    generate: str = "default"
    backward: bool = False
    outputs: int | None = None
    tensor_input: SpecInput | None = None
    method_inputs: tuple[SpecInput, ...] = ()
    dtype_numbers: int = 700
    extra_numbers: int | str = 0
    shape_distributions: tuple[tuple[float, float], ...] | None = None
    """Pairs of elements and the share of cases with at least so many; None where ATK's default applies."""
    spans: Mapping[KeyPath, Span] = field(default_factory=dict)
    """The span of every value by key path."""
    key_spans: Mapping[KeyPath, Span] = field(default_factory=dict)
    """The span of every mapping key, by the key path of its value."""
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseInput:
    """One input of a concrete case. A list of tensors or attributes has `members` and no shape of its own."""

    name: str | None
    kind: str
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    values: Any = None
    """`range_values`: a range for a tensor, the value itself for an attribute."""
    backward: bool = True
    required: bool = True
    members: tuple[CaseInput, ...] | None = None
    outliers: tuple[float, float] | None = None
    """`outlier_values`: the share of elements that are so many times as large."""


@dataclass(frozen=True, slots=True)
class Case:
    """One concrete case; `index` is its position in its file."""

    index: int
    id: Any
    name: str | None
    inputs: tuple[CaseInput, ...]
    acc: Any = None
    aclnn_name: str | None = None
    api: str = "pytorch"
    api_type: str = "function"
    backward: bool = False
    outputs: int | None = None
    tensor_input: CaseInput | None = None
    method_inputs: tuple[CaseInput, ...] = ()
    is_boundary: bool = False


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A generated case JSON. `starts`: the offset of every entry of its list, by position; unusable ones included."""

    source: Source
    cases: Sequence[Case]
    faults: tuple[Fault, ...] = ()
    starts: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Plugin:
    """A Python file beside specs: the names it registers, and its syntax tree (an `ast.Module`, or None)."""

    source: Source
    generators: tuple[str, ...]
    executors: tuple[str, ...]
    tree: Any
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """One device of a node file."""

    backend: str
    tasks: tuple[str, ...]
    name: str | None = None
    span: Span | None = None
    run_modes: tuple[str, ...] = ()
    """Every word under `run_modes`, `deterministic` among them."""


@dataclass(frozen=True, slots=True)
class NodeFile:
    source: Source
    nodes: tuple[Node, ...]
    faults: tuple[Fault, ...] = ()


HERE = "\u2302"
"""In a path of a run script: the folder of the script itself, wherever it has gone to."""
ANYTHING = "**"
"""In a name of a run script: what a variable stands for that cannot be told."""


@dataclass(frozen=True, slots=True)
class Command:
    """One `atk case` or `atk task` line of a run script; paths as they are written, `**` for what cannot be told.

    `folder`: where the script has gone by `cd`, from where it was started; None where that cannot be told.
    """

    verb: str
    files: tuple[str, ...] = ()
    node_files: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    task: str | None = None
    memcheck: bool = False
    line: int = 1
    folder: str | None = ""


@dataclass(frozen=True, slots=True)
class RunScript:
    source: Source
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that is none of the above, or could not be read. `kind` is "other" or what it was meant to be."""

    path: Path
    kind: str
    reason: str
    faults: tuple[Fault, ...] = ()


def two_numbers(value: object) -> tuple[float, float] | None:
    """A pair of numbers; None for anything else."""
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(type(item) in (int, float) for item in value):
        return (float(value[0]), float(value[1]))
    return None
