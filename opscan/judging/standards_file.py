"""Reading `rules/standards.yaml` and its extensions: YAML with line numbers, and errors that name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Place = tuple[str, ...]


class StandardsError(ValueError):
    """A standards file does not say what it should; the message begins with `file:line:`."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed standards file: its value, and the line of every mapping key by key path."""

    path: Path
    value: Mapping[str, Any]
    lines: Mapping[Place, int] = field(default_factory=dict)

    def error(self, where: Place, message: str) -> StandardsError:
        """An error at a key path, or at the nearest path above it that stands in the file."""
        shown = where
        while shown and shown not in self.lines:
            shown = shown[:-1]
        return StandardsError(f"{self.path}:{self.lines.get(shown, 1)}: {message}")

    def mapping(self, value: Any, where: Place) -> Mapping[str, Any]:
        """`value` as a mapping, or an error."""
        if not isinstance(value, dict):
            raise self.error(where, f"{'.'.join(where) or 'the file'} must be a mapping, not {_kind(value)}")
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
                raise self.error((*where, key), f"unknown key {key!r} in {'.'.join(where) or 'the file'}{suffix}")
        for key in required:
            if key not in value:
                raise self.error(where, f"{'.'.join(where) or 'the file'} lacks {key!r}")

    def number(self, value: Any, where: Place) -> float:
        """`value` as a non-negative number; text such as 1e-4 is refused with the way to write it."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            hint = f"; YAML 1.1 reads {value!r} as text, write it as 1.0e-4 or 0.0001" if isinstance(value, str) else ""
            raise self.error(where, f"{'.'.join(where)} must be a number, not {_kind(value)}{hint}")
        if not value >= 0:
            raise self.error(where, f"{'.'.join(where)} must not be negative")
        return float(value)


def read_document(path: Path) -> Document:
    """Parse one file. Raises StandardsError for text that cannot be read or parsed, and for a key given twice."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StandardsError(f"{path}:1: cannot be read: {error}") from error
    loader = Loader(text)
    try:
        node = loader.get_single_node()
        lines: dict[Place, int] = {}
        repeated = _index(node, (), lines) if node is not None else None
        value = loader.construct_document(node) if node is not None else {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise StandardsError(f"{path}:{mark.line + 1 if mark else 1}: not valid YAML: {problem}") from error
    finally:
        loader.dispose()
    document = Document(path, {}, lines)
    if repeated:
        raise StandardsError(f"{path}:{repeated[1]}: key {repeated[0]!r} is given twice")
    return Document(path, document.mapping(value, ()), lines)


def _index(node: Any, where: Place, lines: dict[Place, int]) -> tuple[str, int] | None:
    """Note the line of every key below `node`; returns the first key that is given twice, with its line."""
    repeated = None
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in seen:
                repeated = repeated or (key.value, line)
            seen.add(key.value)
            lines.setdefault((*where, key.value), line)
            repeated = _index(value, (*where, key.value), lines) or repeated
    return repeated


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` is most likely a misspelling of, or None."""
    from difflib import get_close_matches

    found = get_close_matches(str(name), list(candidates), n=1, cutoff=0.75)
    return found[0] if found else None


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")
