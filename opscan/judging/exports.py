"""The names that other tools have for standards, as data: `rules/exports.yaml`, with a user's entries before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opscan.dataclass import dataclass
from opscan.judging.folders import files_named
from opscan.judging.standards import DTYPES, standards_of
from opscan.judging.standards_file import Document, Place, read_document
from opscan.model import NumericClass

TOOLS = ("ttk", "atb", "msprobe")
_CLASSES = tuple(kind.value for kind in NumericClass)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a tool: `words` are the conditions, `name` what the tool calls it, None where it has no name."""

    words: Mapping[str, frozenset[str]]
    name: str | None
    note: str


def load_entries(tool: str, own: tuple[Path, ...] = ()) -> tuple[Entry, ...]:
    """The entries of a tool, a user's before those that ship. Raises StandardsError."""
    entries: list[Entry] = []
    for path in files_named("exports.yaml", own):
        document = read_document(path)
        document.only(document.value, (), ("schema", "exports"), ("exports",))
        tools = document.mapping(document.value["exports"], ("exports",))
        for name in tools:
            document.one_of(name, ("exports", name), TOOLS)
        rows = tools.get(tool, [])
        if not isinstance(rows, list):
            raise document.error(("exports", tool), f"exports.{tool} must be a list of entries")
        entries = [*(_read(document, ("exports", tool, n), row, own) for n, row in enumerate(rows)), *entries]
    return tuple(entries)


def _read(document: Document, where: Place, row: Any, own: tuple[Path, ...]) -> Entry:
    body = document.mapping(row, where)
    document.only(body, where, ("class", "standard", "dtype", "is", "note"), ("is",))
    allowed = {"class": _CLASSES, "standard": tuple(standards_of(own).standards), "dtype": DTYPES}
    words = {}
    for condition, known in allowed.items():
        if condition in body:
            given = document.texts(body[condition], (*where, condition))
            words[condition] = frozenset(document.one_of(word, (*where, condition), known) for word in given)
    name = None if body["is"] is None else document.text(body["is"], (*where, "is"))
    return Entry(words, name, str(body.get("note", "")))


def entry_for(entries: Sequence[Entry], kind: NumericClass, standard: str | None, dtype: str) -> Entry | None:
    """The first entry whose conditions hold for a tensor of a class under a standard."""
    held = {"class": kind.value, "standard": standard, "dtype": dtype}
    return next((e for e in entries if all(held[name] in words for name, words in e.words.items())), None)
