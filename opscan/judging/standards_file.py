"""Reading the YAML files of rules, shipped or a user's own: values with their places, and errors that name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from opscan.cache import keep, recall
from opscan.data import data_path
from opscan.dataclass import dataclass

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Place = tuple[Any, ...]


class StandardsError(ValueError):
    """A file of rules or standards does not say what it should; the message begins with `file:line:column:`."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: its value, and the line and column of every key and list item by key path."""

    path: Path
    value: Mapping[str, Any]
    places: Mapping[Place, tuple[int, int]] = field(default_factory=dict)

    def error(self, where: Place, message: str) -> StandardsError:
        """An error at a key path, or at the nearest path above it that stands in the file."""
        shown = where
        while shown and shown not in self.places:
            shown = shown[:-1]
        line, column = self.places.get(shown, (1, 1))
        return StandardsError(f"{self.path}:{line}:{column}: {message}")

    def mapping(self, value: Any, where: Place) -> Mapping[str, Any]:
        """`value` as a mapping, or an error."""
        if not isinstance(value, dict):
            raise self.error(where, f"{named(where)} must be a mapping, not {_kind(value)}")
        return value

    def only(
        self, value: Mapping[str, Any], where: Place, allowed: Iterable[str], required: Iterable[str] = ()
    ) -> None:
        """Refuse unknown and missing keys."""
        names = tuple(allowed)
        for key in value:
            if key not in names:
                hint = closest(key, names)
                suffix = f"; did you mean {hint}?" if hint else f"; known: {', '.join(names)}"
                raise self.error((*where, key), f"unknown key {key!r} in {named(where)}{suffix}")
        for key in required:
            if key not in value:
                raise self.error(where, f"{named(where)} lacks {key!r}")

    def text(self, value: Any, where: Place) -> str:
        """`value` as text, or an error."""
        if not isinstance(value, str) or not value.strip():
            raise self.error(where, f"{named(where)} must be text, not {_kind(value) if value != '' else 'empty'}")
        return value

    def texts(self, value: Any, where: Place) -> tuple[str, ...]:
        """`value`, a text or a list of texts, as a tuple, or an error."""
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list):
            raise self.error(where, f"{named(where)} must be a text or a list of texts, not {_kind(value)}")
        return tuple(self.text(item, (*where, number)) for number, item in enumerate(value))

    def flag(self, value: Any, where: Place) -> bool:
        """`value` as true or false, or an error."""
        if not isinstance(value, bool):
            raise self.error(where, f"{named(where)} must be true or false, not {_kind(value)}")
        return value

    def one_of(self, value: Any, where: Place, allowed: Iterable[str]) -> str:
        """`value` as one of the allowed words, or an error."""
        words = tuple(allowed)
        if value not in words:
            hint = closest(str(value), words)
            suffix = f"; did you mean {hint}?" if hint else f"; known: {', '.join(words)}"
            raise self.error(where, f"{named(where)} is {value!r}{suffix}")
        return str(value)

    def number(self, value: Any, where: Place) -> float:
        """`value` as a non-negative number; text such as 1e-4 is refused with the way to write it."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            hint = f"; YAML 1.1 reads {value!r} as text, write it as 1.0e-4 or 0.0001" if isinstance(value, str) else ""
            raise self.error(where, f"{named(where)} must be a number, not {_kind(value)}{hint}")
        if not value >= 0:
            raise self.error(where, f"{named(where)} must not be negative")
        return float(value)


def named(where: Place) -> str:
    """A key path as a message writes it."""
    return ".".join(map(str, where)) or "the file"


def read_document(path: Path) -> Document:
    """Parse one file; one that ships only once, for it is read in every run.

    Raises StandardsError for text that cannot be read or parsed, and for a key given twice.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StandardsError(f"{path}:1:1: cannot be read: {error}") from error
    if path.parent != data_path("rules"):
        return _parsed(path, text)
    maker = _maker()
    kept = recall(path, text, maker)
    if kept is not None:
        return Document(path, *kept)
    document = _parsed(path, text)
    keep(path, text, maker, (document.value, document.places))
    return document


@lru_cache(maxsize=1)
def _maker() -> str:
    """What the answer depends on besides the text: whatever reads it."""
    status = Path(__file__).stat()
    return f"{yaml.__version__} {Loader.__name__} {status.st_size} {status.st_mtime_ns}"


def _parsed(path: Path, text: str) -> Document:
    loader = Loader(text)
    try:
        node = loader.get_single_node()
        places: dict[Place, tuple[int, int]] = {}
        repeated = _index(node, (), places, set()) if node is not None else None
        value = loader.construct_document(node) if node is not None else {}
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise StandardsError(f"{path}:{line}:{column}: not valid YAML: {problem}") from error
    except RecursionError:
        raise StandardsError(f"{path}:1:1: nested too deeply to be read") from None
    finally:
        loader.dispose()
    document = Document(path, {}, places)
    if repeated:
        key, (line, column) = repeated
        raise StandardsError(f"{path}:{line}:{column}: key {key!r} is given twice")
    return Document(path, document.mapping(value, ()), places)


def _index(
    node: Any, where: Place, places: dict[Place, tuple[int, int]], known: set[int]
) -> tuple[str, tuple[int, int]] | None:
    """Note the place of everything below `node`; returns the first key that is given twice, with its place.

    What stands behind an alias keeps the places of its first appearance only, so that aliases of aliases end.
    """
    if id(node) in known:
        return None
    known.add(id(node))
    repeated = None
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            place = (key.start_mark.line + 1, key.start_mark.column + 1)
            if name in seen and name != "<<":
                repeated = repeated or (name, place)
            seen.add(name)
            places.setdefault((*where, name), place)
            repeated = _index(value, (*where, name), places, known) or repeated
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            places.setdefault((*where, number), (value.start_mark.line + 1, value.start_mark.column + 1))
            repeated = _index(value, (*where, number), places, known) or repeated
    return repeated


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` is most likely a misspelling of, or None."""
    from difflib import get_close_matches

    found = get_close_matches(str(name), list(candidates), n=1, cutoff=0.75)
    return found[0] if found else None


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")
