"""The table of expected classes, and inputs for the entries that it leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from opscan.explaining import case_of
from opscan.model import Case, Classification
from opscan.numerics.names import Entry, find, load, places

_OUTPUTS = Path(__file__).with_name("expected.txt")
_GRADIENTS = Path(__file__).with_name("gradients.txt")
_PLAIN = {"int": "1", "float": "1.375", "scalar": "1.375", "bool": "false", "str": "none", "dtype": "1"}


@dataclass(frozen=True)
class Row:
    """One line of the table; `classes` as they are written there."""

    line: int
    name: str
    inputs: tuple[str, ...]
    classes: str
    backward: bool = False

    @property
    def case(self) -> Case:
        return case_of(self.name, self.inputs, backward=self.backward)


@lru_cache(maxsize=1)
def rows() -> tuple[Row, ...]:
    return tuple(_read(_OUTPUTS, backward=False))


@lru_cache(maxsize=1)
def gradient_rows() -> tuple[Row, ...]:
    return tuple(_read(_GRADIENTS, backward=True))


def _read(path: Path, *, backward: bool) -> Iterator[Row]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            name, inputs, classes = (part.strip() for part in line.split("|"))
            yield Row(number, name, tuple(inputs.split()), classes, backward)


def written(known: Classification, role: str = "output") -> str:
    """The classes of all outputs or all gradients as the tables write them."""
    return " ".join(
        f"{tensor.numeric_class}{'*' if tensor.correctly_rounded else ''}{'?' if 'values' in tensor.depends_on else ''}"
        for tensor in known.tensors
        if tensor.role == role
    )


def entries() -> Iterator[Entry]:
    """Every entry once, under its own name."""
    for place in places():
        entry = load(place)
        if entry.place == place:
            yield entry


def cases_of(entry: Entry) -> list[Case]:
    """The cases of the table for an entry, or one with tensors of one shape for what the table leaves out."""
    found = [row.case for row in rows() if _entry_name(row.name) == entry.name]
    return found or [case_of(f"aclnn{entry.name}", _same_shape(entry), backward=False)]


@lru_cache(maxsize=1024)
def _entry_name(name: str) -> str | None:
    place = find(name)
    return None if place is None else load(place).name


def _same_shape(entry: Entry) -> list[str]:
    inputs = []
    for parameter in entry.parameters:
        if not parameter.required:
            continue
        dtype = (entry.cast or {}).get(parameter.name, "fp32")
        value = f"{dtype}[4,6]" if parameter.kind in ("tensor", "either") else _PLAIN[parameter.kind]
        inputs.append(f"{parameter.name}={f'[{value},{value}]' if parameter.many else value}")
    return inputs
