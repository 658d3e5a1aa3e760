"""YAML text to values that know where they stand.

ATK reads designs with PyYAML's pure SafeLoader, so that loader decides what is valid. The C loader is fifteen times
faster and agrees on nearly all texts; where the two are known to differ the pure one is asked as well.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from opscan.dataclass import dataclass
from opscan.model import Fault, Source, Span
from opscan.reading.positions import span_at

FAST_LOADER: Any = getattr(yaml, "CSafeLoader", None)
_DOUBTFUL = re.compile(r"[\t!]|[|>][-+\d]*#")
_ODD_BREAKS = "[\x85\u2028\u2029\ufeff]"

_PLAIN_WORDS = {
    "could not find expected ':'": "a ':' is missing after this key, or the line before it is not finished",
    "mapping values are not allowed here": "a ':' is not allowed here; a line break or quotes are missing before it",
    "expected <block end>, but found '<block mapping start>'": "the indentation does not fit the lines above",
    "expected <block end>, but found '<block sequence start>'": "the indentation does not fit the lines above",
    "expected <block end>, but found '-'": "this list item does not fit the lines above",
    "expected ',' or ']', but got '<stream end>'": "a list opened with '[' is never closed with ']'",
    "expected ',' or '}', but got '<stream end>'": "a mapping opened with '{' is never closed with '}'",
    "found character '\\t' that cannot start any token": "a tab cannot stand here; use blanks",
    "found unexpected end of stream": "a quoted text is never closed",
}


@dataclass(frozen=True, slots=True)
class Composed:
    """The node graph of a document (None where it is empty) and what was noticed on the way."""

    root: Any
    loader: Any
    faults: tuple[Fault, ...] = ()


def compose(source: Source) -> Composed | tuple[Fault, ...]:
    """The node graph as ATK's reader sees it, or the faults that keep ATK from reading the file."""
    text = source.text
    if FAST_LOADER is None or odd_breaks(text):
        return compose_pure(source)
    try:
        fast = Composed(_single_node(text, FAST_LOADER), FAST_LOADER)
    except (yaml.YAMLError, RecursionError) as error:
        pure = compose_pure(source)
        if isinstance(pure, Composed):
            note = f"only some YAML readers accept this: {_problem(error)}; write it so that all do (a blank after ':')"
            return Composed(pure.root, pure.loader, (Fault("yaml-portability", note, _place(text, error)),))
        return pure
    if not _readers_may_differ(text):
        return fast
    pure = compose_pure(source)
    if isinstance(pure, Composed):
        return pure
    return tuple(
        Fault(fault.rule, f"{fault.message} (other YAML readers accept it, ATK's does not)", fault.span)
        for fault in pure
    )


def compose_pure(source: Source) -> Composed | tuple[Fault, ...]:
    """The same through the pure loader alone."""
    try:
        return Composed(_single_node(source.text, yaml.SafeLoader), yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        return (_syntax_fault(source.text, error),)


def alias_spans(composed: Composed, text: str) -> list[tuple[int, int]]:
    """Start and end of every alias (`*name`) in the order of the text; nodes do not keep them."""
    loader = composed.loader(text)
    try:
        found = []
        while loader.check_event():
            event = loader.get_event()
            if isinstance(event, yaml.AliasEvent):
                start, end = event.start_mark, event.end_mark
                found.append((start.index if start else 0, end.index if end else 0))
        return found
    finally:
        loader.dispose()


def _readers_may_differ(text: str) -> bool:
    """Where the C loader accepts what the pure one does not: tabs, tags, `|#`, and question marks in flow style."""
    return _DOUBTFUL.search(text) is not None or ("?" in text and ("[" in text or "{" in text))


def odd_breaks(text: str) -> bool:
    """Whether PyYAML's own line numbers differ from what an editor shows."""
    return not text.isascii() and re.search(_ODD_BREAKS, text) is not None


def _single_node(text: str, loader_class: Any) -> Any:
    loader = loader_class(text)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


def _syntax_fault(text: str, error: Exception) -> Fault:
    span = _place(text, error)
    if isinstance(error, RecursionError):
        return Fault("yaml-syntax", "nested too deeply to be read", span)
    problem = _problem(error)
    if getattr(error, "context", None) == "expected a single document in the stream":
        message = "a second document begins here; ATK reads one document per file: split the file or remove '---'"
        return Fault("multiple-documents", message, span)
    return Fault("yaml-syntax", problem, span)


def _problem(error: Exception) -> str:
    if isinstance(error, yaml.reader.ReaderError):
        code = error.character if isinstance(error.character, int) else ord(error.character[:1] or "\0")
        return f"the character U+{code:04X} is not allowed in YAML"
    problem = str(getattr(error, "problem", None) or error.__class__.__name__)
    if problem.startswith("found undefined alias"):
        name = problem.rsplit(" ", 1)[-1].strip("'\"")
        return f"the alias *{name} has no anchor &{name} above it"
    return _PLAIN_WORDS.get(problem, problem.replace("%YAML", "YAML"))


def _place(text: str, error: Exception) -> Span:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is not None:
        return span_at(text, mark.index)
    position = getattr(error, "position", None)
    return span_at(text, position if isinstance(position, int) else 0)
