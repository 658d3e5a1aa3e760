"""Which standard a compared tensor is judged by, as data: `rules/assign.yaml`, with the user's entries before it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from opscan.dataclass import dataclass
from opscan.judging.floating import PARTS, part_of
from opscan.judging.folders import files_named
from opscan.judging.standards import DTYPES, Standards, standards_of, writable
from opscan.judging.standards_file import Document, Place, read_document
from opscan.model import SCENARIOS, NumericClass, TensorClass

NEEDS = ("bits", "either", "tolerance", "nothing")
COMPARES = ("values", "runs", "nothing")
_WORDS: Mapping[str, tuple[str, ...]] = {
    "scenario": SCENARIOS,
    "class": tuple(kind.value for kind in NumericClass),
    "dtype": (*DTYPES, *PARTS),
    "role": ("output", "gradient"),
    "cause": ("broadcast", "reduction", "contraction", "scatter", "window", "scan"),
    "depends_on": ("shapes", "attributes", "values"),
}
"""The conditions that compare words, and the words each knows."""
_NEVER_WRITTEN = ("distribution", "run-to-run")
"""Standards that no comparator applies element by element; they can be assigned where nothing else is needed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `words`: condition -> the values of which one must occur; `standards`: None for the dtype's ladder."""

    words: Mapping[str, frozenset[str]]
    correctly_rounded: bool | None
    least: float
    most: float
    needs: str
    standards: tuple[str, ...] | None

    def fits(self, tensor: TensorClass, scenario: str) -> bool:
        """Whether every condition holds."""
        held = {
            "scenario": (scenario,),
            "class": (tensor.numeric_class.value,),
            "dtype": (tensor.dtype, part_of(tensor.dtype)),
            "role": (tensor.role,),
            "cause": (tensor.cause or "",),
            "depends_on": tensor.depends_on,
        }
        rounding = self.correctly_rounded in (None, tensor.correctly_rounded)
        words = all(not wanted.isdisjoint(held[name]) for name, wanted in self.words.items())
        return words and rounding and self.least <= tensor.extent <= self.most


@dataclass(frozen=True, eq=False)
class Assignments:
    """The entries in the order in which they are asked, and what a run of each scenario compares.

    Two are the same only if they are one object: answers are remembered by it.
    """

    entries: tuple[Entry, ...]
    scenarios: Mapping[str, str]

    @cached_property
    def limits_extents(self) -> bool:
        """Whether any entry asks for an extent, so that one addend more can change what a tensor needs."""
        return any(entry.least > 0 or entry.most < math.inf for entry in self.entries)


def assigned(tensor: TensorClass, scenario: str, known: Assignments) -> Entry:
    """The entry that decides for a tensor in a scenario."""
    dtype, extent = tensor.dtype, tensor.extent
    what = (tensor.numeric_class, tensor.role, tensor.cause, tensor.depends_on, tensor.correctly_rounded)
    return _assigned(known, scenario, dtype, extent, what)


@lru_cache(maxsize=65536)
def _assigned(known: Assignments, scenario: str, dtype: str, extent: int, what: tuple[Any, ...]) -> Entry:
    kind, role, cause, depends_on, rounded = what
    tensor = TensorClass("", role, dtype, (), kind, None, rounded, cause, depends_on, extent)
    return next(entry for entry in known.entries if entry.fits(tensor, scenario))


def ladder_of(tensor: TensorClass, scenario: str, known: Assignments) -> tuple[str, ...] | None:
    """The standards that may be recommended for a tensor, strictest first; None for the ladder of its dtype."""
    return assigned(tensor, scenario, known).standards


def compares_values(scenarios: Sequence[str], known: Assignments) -> bool:
    """Whether any scenario compares outputs with a golden."""
    return any(known.scenarios.get(name) == "values" for name in scenarios)


def judged_as(scenarios: Sequence[str], known: Assignments) -> str:
    """The scenario that decides the standard of a spec that serves several: small values before accuracy."""
    comparing = [name for name in scenarios if known.scenarios.get(name) == "values"]
    return comparing[-1] if comparing else next(iter(scenarios), "accuracy")


@lru_cache(maxsize=8)
def load_assignments(own: tuple[Path, ...] = ()) -> Assignments:
    """The assignments of the user's folders before those that ship. Raises StandardsError, with file and line."""
    known, paths = standards_of(own), files_named("assign.yaml", own)
    entries: list[Entry] = []
    scenarios: dict[str, str] = {}
    for path in paths:
        document = read_document(path)
        document.only(document.value, (), ("schema", "scenarios", "assign"))
        for name, compares in document.mapping(document.value.get("scenarios", {}), ("scenarios",)).items():
            document.one_of(name, ("scenarios", name), SCENARIOS)
            scenarios[name] = document.one_of(compares, ("scenarios", name), COMPARES)
        rows = document.value.get("assign", [])
        if not isinstance(rows, list):
            raise document.error(("assign",), "assign must be a list of entries")
        entries = [*(_read_entry(document, ("assign", n), row, known) for n, row in enumerate(rows)), *entries]
    return Assignments(tuple(entries), scenarios)


def _read_entry(document: Document, where: Place, row: Any, known: Standards) -> Entry:
    body = document.mapping(row, where)
    document.only(body, where, (*_WORDS, "correctly_rounded", "extent", "needs", "standards"), ("needs",))
    words = {}
    for name, allowed in _WORDS.items():
        if name in body:
            given = document.texts(body[name], (*where, name))
            words[name] = frozenset(document.one_of(word, (*where, name), allowed) for word in given)
    rounded = body.get("correctly_rounded")
    if rounded is not None:
        document.flag(rounded, (*where, "correctly_rounded"))
    extent = document.mapping(body.get("extent", {}), (*where, "extent"))
    document.only(extent, (*where, "extent"), ("least", "most"))
    bounds = {key: document.number(value, (*where, "extent", key)) for key, value in extent.items()}
    needs = document.one_of(body["needs"], (*where, "needs"), NEEDS)
    standards = _read_standards(document, where, body, known, words.get("dtype", frozenset()))
    return Entry(words, rounded, bounds.get("least", 0), bounds.get("most", math.inf), needs, standards)


def _read_standards(
    document: Document, where: Place, body: Mapping[str, Any], known: Standards, dtypes: frozenset[str]
) -> tuple[str, ...] | None:
    if "standards" not in body:
        return None
    place = (*where, "standards")
    names = document.texts(body["standards"], place)
    if not names:
        raise document.error(place, "standards is empty; leave it out for the ladder of the dtype")
    for number, name in enumerate(names):
        standard = known.standards[document.one_of(name, (*place, number), known.standards)]
        if body["needs"] == "nothing" and name in _NEVER_WRITTEN:
            continue
        if not writable(standard):
            raise document.error((*place, number), f"no comparator of ATK applies {name} ({standard.passes})")
        lacking = [dtype for dtype in sorted(dtypes) if known.rule(name, dtype) is None]
        if lacking:
            raise document.error((*place, number), f"{name} has no thresholds for {', '.join(lacking)}")
    return names
