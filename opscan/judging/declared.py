"""Rules that are data: what a rule file says under `match`, and where a spec meets it.

    match:
      at: inputs[*].dtypes.values[*]
      one-of: [fp64, complex128]
      when:
        - {at: backward, is: true}
    message: "`{value}` is not supported on the NPU ({at})"

Every condition of the entry must hold at the same place, and every `when` somewhere in the same spec; where the paths
begin alike, `[*]` means the same input in both. With `in: cases` a rule is about the cases of case files, one by one,
and paths are those of a case. The language has no loops and no code, patterns match in linear time, and all of it is
checked when the file is loaded, so that a rule cannot fail or hang over a spec.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from opscan.judging.patterns import Pattern, PatternError, compile_pattern
from opscan.judging.standards_file import Document, Place, named
from opscan.model import KeyPath

_PART = re.compile(r"(?:^|\.)(?P<key>[A-Za-z_][\w-]*|\*)|\[(?P<index>\d+|\*)\]")
_VALUE = ("is", "is-not", "one-of", "none-of", "matches", "matches-not", "above", "below", "type")
_TYPES: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "flag": lambda value: isinstance(value, bool),
    "list": lambda value: isinstance(value, list),
    "mapping": lambda value: isinstance(value, dict),
    "nothing": lambda value: value is None,
}
_FIELD = re.compile(r"\{(\w*)\}")
_MISSING = object()
WILDCARD = "*"


@dataclass(frozen=True, slots=True)
class Condition:
    """A key path and what must hold there. `absent`: the last key must not be there, where all before it is."""

    at: KeyPath
    tests: tuple[Callable[[Any], bool], ...]
    absent: bool = False

    def holds(self, value: Any) -> bool:
        return (value is _MISSING) if self.absent else value is not _MISSING and all(t(value) for t in self.tests)


@dataclass(frozen=True, slots=True)
class Match:
    """What a rule file demands of a spec, or of a case; `fix` is the value to write, `fixes` whether there is one."""

    condition: Condition
    when: tuple[Condition, ...]
    message: str
    fix: Any = None
    fixes: bool = False
    cases: bool = False
    """It is about the cases of a case file, one by one, and paths are those of a case."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where a rule holds: the key path, the value there (None where it is absent) and the message."""

    where: KeyPath
    value: Any
    message: str


def hits(match: Match, tree: Any) -> Iterator[Hit]:
    """Every place of a document where a rule holds, in the order of the document."""
    at = match.condition.at
    for where, value in places(tree, at):
        if match.condition.holds(value) and all(_somewhere(when, at, where, tree) for when in match.when):
            shown = None if value is _MISSING else value
            text = match.message.replace("{at}", path_text(where)).replace("{value}", _value_text(shown))
            yield Hit(where, shown, text)


def places(tree: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Every concrete place that a key path with wildcards names, with its value; the last key may be missing."""
    found: list[tuple[KeyPath, Any]] = [((), tree)]
    for depth, part in enumerate(path, 1):
        last = depth == len(path)
        found = [entry for where, value in found for entry in _below(where, value, part, last=last)]
    yield from found


def _below(where: KeyPath, value: Any, part: str | int, *, last: bool) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(value, dict):
        if part == WILDCARD:
            yield from (((*where, key if isinstance(key, (str, int)) else str(key)), v) for key, v in value.items())
        elif part in value:
            yield (*where, part), value[part]
        elif last and isinstance(part, str):
            yield (*where, part), _MISSING
    elif isinstance(value, list):
        if part == WILDCARD:
            yield from (((*where, index), item) for index, item in enumerate(value))
        elif isinstance(part, int) and part < len(value):
            yield (*where, part), value[part]


def _somewhere(when: Condition, at: KeyPath, where: KeyPath, tree: Any) -> bool:
    """Whether a condition holds somewhere, its wildcards bound to `where` as far as its path runs along `at`."""
    bound = list(when.at)
    for depth, (ours, theirs) in enumerate(zip(when.at, at, strict=False)):
        if ours != theirs:
            break
        bound[depth] = where[depth]
    return any(when.holds(value) for _, value in places(tree, tuple(bound)))


def _value_text(value: Any) -> str:
    return "nothing" if value is None else str(value).lower() if isinstance(value, bool) else str(value)[:80]


def path_text(path: KeyPath) -> str:
    """A key path as a rule file writes it: `inputs[*].dtypes`."""
    written = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return written.lstrip(".")


# -- reading ---------------------------------------------------------------------------------------------------------


def read_match(document: Document, body: Mapping[str, Any], summary: str) -> Match:
    """The match of a rule file. Raises StandardsError with the place of whatever cannot be used."""
    where = ("match",)
    entry = document.mapping(body["match"], where)
    document.only(entry, where, ("in", "at", *_VALUE, "absent", "when"), ("at",))
    cases = document.one_of(entry.get("in", "specs"), (*where, "in"), ("specs", "cases")) == "cases"
    when = entry.get("when", [])
    if not isinstance(when, list):
        raise document.error((*where, "when"), "match.when must be a list of conditions")
    condition = _read_condition(document, where, entry)
    others = tuple(_read_when(document, (*where, "when", number), item) for number, item in enumerate(when))
    message = str(body.get("message", "")) or f"{summary}: `{{at}}` is `{{value}}`"
    for name in _FIELD.findall(message):
        if name not in ("at", "value"):
            raise document.error(("message",), f"{{{name}}} stands for nothing; a message knows {{at}} and {{value}}")
    if "fix" not in body:
        return Match(condition, others, message, cases=cases)
    if condition.absent:
        raise document.error(("fix",), "`fix` replaces a value; where a key is absent there is none to replace")
    if isinstance(body["fix"], (dict, list)):
        raise document.error(("fix",), "`fix` must be a single value, not a list or a mapping")
    return Match(condition, others, message, body["fix"], True, cases)


def _read_when(document: Document, where: Place, item: Any) -> Condition:
    entry = document.mapping(item, where)
    document.only(entry, where, ("at", *_VALUE, "absent"), ("at",))
    return _read_condition(document, where, entry)


def _read_condition(document: Document, where: Place, entry: Mapping[str, Any]) -> Condition:
    at = _read_path(document, (*where, "at"), entry["at"])
    given = [key for key in _VALUE if key in entry]
    if "absent" in entry:
        if document.flag(entry["absent"], (*where, "absent")) is False or given:
            raise document.error((*where, "absent"), "`absent: true` stands alone; without it a value must be there")
        if at[-1] == WILDCARD or isinstance(at[-1], int):
            raise document.error((*where, "at"), "a path that can be absent ends in a key")
        return Condition(at, (), True)
    if not given:
        raise document.error(where, f"{named(where)} demands nothing: give one of {', '.join(_VALUE)} or absent")
    return Condition(at, tuple(_read_test(document, (*where, key), key, entry[key]) for key in given))


def _read_path(document: Document, where: Place, value: Any) -> KeyPath:
    """`inputs[*].dtypes.values[0]` as a key path; `[0]` is an index, `[*]` and `.*` are everything below."""
    text = document.text(value, where)
    path: list[str | int] = []
    end = 0
    while end < len(text):
        found = _PART.match(text, end)
        if found is None or not found.group():
            raise document.error(where, f"{text!r} is no key path: `{text[end:][:20]}` should be a .key, [0] or [*]")
        index = found["index"]
        path.append(int(index) if index and index.isdecimal() else index or found["key"])
        end = found.end()
    if not path:
        raise document.error(where, "a key path is empty")
    return tuple(path)


def _read_test(document: Document, where: Place, key: str, wanted: Any) -> Callable[[Any], bool]:
    if key in ("is", "is-not"):
        return _equals(wanted) if key == "is" else _negated(_equals(wanted))
    if key in ("one-of", "none-of"):
        if not isinstance(wanted, list) or not wanted:
            raise document.error(where, f"{named(where)} must be a list of values")
        tests = tuple(map(_equals, wanted))
        one = _any_of(tests)
        return one if key == "one-of" else _negated(one)
    if key in ("matches", "matches-not"):
        pattern = _read_pattern(document, where, wanted)
        return _matches(pattern, key == "matches")
    if key == "type":
        return _TYPES[document.one_of(wanted, where, _TYPES)]
    if isinstance(wanted, bool) or not isinstance(wanted, (int, float)):
        raise document.error(where, f"{named(where)} must be a number")
    return _above(wanted) if key == "above" else _below_number(wanted)


def _read_pattern(document: Document, where: Place, wanted: Any) -> Pattern:
    text = document.text(wanted, where)
    try:
        return compile_pattern(text)
    except PatternError as problem:
        raise document.error(where, f"{named(where)}: {text!r} is no pattern: {problem}") from None


def _equals(wanted: Any) -> Callable[[Any], bool]:
    """Equal as YAML writes it: true is not 1, and 1 is not 1.0."""
    return lambda value: type(value) is type(wanted) and bool(value == wanted)


def _negated(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: not test(value)


def _any_of(tests: tuple[Callable[[Any], bool], ...]) -> Callable[[Any], bool]:
    return lambda value: any(test(value) for test in tests)


def _matches(pattern: Pattern, wanted: bool) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and (pattern.search(value) is not None) is wanted


def _above(bound: float) -> Callable[[Any], bool]:
    return lambda value: _TYPES["number"](value) and value > bound


def _below_number(bound: float) -> Callable[[Any], bool]:
    return lambda value: _TYPES["number"](value) and value < bound
