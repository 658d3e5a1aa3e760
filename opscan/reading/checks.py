"""Checks of single values of a spec. Each appends faults; none stops the reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opscan.model import Edit, Fault, KeyPath
from opscan.reading.numbers import as_yaml_number, looks_numeric, trap_of
from opscan.reading.values import Tree

Check = Callable[["Checking", KeyPath, Any], None]


class Checking:
    """The faults found so far in one document."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.faults: list[Fault] = []

    def add(self, rule: str, path: KeyPath, message: str, edit: Edit | None = None) -> None:
        self.faults.append(Fault(rule, message, self.tree.span(path), edit))

    def add_at_key(self, rule: str, path: KeyPath, message: str) -> None:
        self.faults.append(Fault(rule, message, self.tree.key_span(path)))

    def wrong_type(self, path: KeyPath, wanted: str, value: Any) -> None:
        self.add("wrong-type", path, f"{label(path)} must be {wanted}, not {kind_of(value)}")

    # -- scalars -----------------------------------------------------------------------------------------------------

    def plain_text(self, path: KeyPath) -> str | None:
        """The source text of a plain scalar; None where the value is quoted, not a scalar, or reached indirectly."""
        leaf = self.tree.leaves.get(path)
        return leaf.value if leaf is not None and not leaf.style else None

    def trap(self, path: KeyPath, value: Any) -> bool:
        """Report a value that YAML 1.1 reads otherwise than it looks."""
        text = self.plain_text(path)
        why = None if text is None else trap_of(text, value)
        if why is None:
            return False
        self.add("yaml-trap", path, f"{label(path)}: {why}; put it in quotes or write the value that is meant")
        return True

    def number_as_text(self, path: KeyPath, text: str, integer: bool = False) -> None:
        """Report a text where a number is needed, with the edit that writes it as YAML 1.1 reads numbers."""
        written = as_yaml_number(text, integer)
        if written is None:
            self.add("number-as-text", path, f"{label(path)}: {text!r} is text, not a number; write the number out")
            return
        message = f"{label(path)}: YAML 1.1 reads {text} as text, not as a number; write {written[0]}"
        self.add("number-as-text", path, message, self._number_edit(path, *written))

    def _number_edit(self, path: KeyPath, text: str, value: int | float) -> Edit | None:
        leaf, span = self.tree.leaves.get(path), self.tree.spans.get(path)
        if leaf is None or span is None or leaf.style in ("|", ">"):
            return None
        start = span.start + property_length(self.tree.source.text[span.start : span.end])
        return Edit(start, span.end, text, path, value)


def property_length(text: str) -> int:
    """How many characters of a scalar's source are its anchor and tag (`&a !!str `), with a comment behind them."""
    length = 0
    while length < len(text) and text[length] in "&!":
        while length < len(text) and not text[length].isspace():
            length += 1
        while length < len(text) and (text[length].isspace() or text[length] == "#"):
            length += 1 if text[length].isspace() else len(text[length:].splitlines()[0])
    return length


def text(checking: Checking, path: KeyPath, value: Any) -> None:
    """A text or nothing."""
    if value is None or isinstance(value, str) or checking.trap(path, value):
        return
    checking.wrong_type(path, "text", value)


def version(checking: Checking, path: KeyPath, value: Any) -> None:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and ":" not in (checking.plain_text(path) or ""):
        return
    text(checking, path, value)


def flag(checking: Checking, path: KeyPath, value: Any) -> None:
    if not isinstance(value, bool):
        checking.wrong_type(path, "true or false", value)


def optional_flag(checking: Checking, path: KeyPath, value: Any) -> None:
    if value is not None:
        flag(checking, path, value)


def number(checking: Checking, path: KeyPath, value: Any, integer: bool = False) -> None:
    """A number; texts that look like one get an edit."""
    if isinstance(value, str) and (looks_numeric(value) or as_yaml_number(value) is not None):
        checking.number_as_text(path, value, integer)
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        if not checking.trap(path, value):
            checking.wrong_type(path, "a whole number" if integer else "a number", value)
    elif integer and not (isinstance(value, int) or value.is_integer()):
        checking.wrong_type(path, "a whole number", value)
    else:
        checking.trap(path, value)


def whole(checking: Checking, path: KeyPath, value: Any) -> None:
    number(checking, path, value, integer=True)


def optional_whole(checking: Checking, path: KeyPath, value: Any) -> None:
    if value is not None:
        whole(checking, path, value)


def numbers(checking: Checking, path: KeyPath, value: Any) -> None:
    """A number, or a list of numbers at any depth."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            numbers(checking, (*path, index), item)
    else:
        number(checking, path, value)


def whole_numbers(checking: Checking, path: KeyPath, value: Any) -> None:
    """A whole number, or a list of them at any depth: sizes and [low, high] pairs of sizes."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            whole_numbers(checking, (*path, index), item)
    else:
        whole(checking, path, value)


def anything(_checking: Checking, _path: KeyPath, _value: Any) -> None:
    """Nothing is known about this value."""


def keys(checking: Checking, path: KeyPath, value: Mapping[Any, Any], known: Mapping[str, Check], of: str) -> None:
    """Check every value of a mapping by its key; a key that is not known is a fault."""
    for key, item in value.items():
        below = (*path, key if isinstance(key, (str, int)) else str(key))
        if not isinstance(key, str):
            checking.add_at_key("wrong-type", below, f"the key {key!r} of {of} is not text; put it in quotes")
        elif key in known:
            known[key](checking, below, item)
        else:
            message = f"{key!r} is not a key of {of}{suggestion(key, known)}; ATK refuses the file"
            checking.add_at_key("unknown-key", below, message)


def suggestion(word: str, known: Mapping[str, Any] | frozenset[str]) -> str:
    """`, did you mean 'x'?` for a close match, else nothing."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f", did you mean {close[0]!r}?" if close else ""


def label(path: KeyPath) -> str:
    """A key path as people write it: `inputs[0].dtypes.values`."""
    written = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return written.lstrip(".") or "the document"


def kind_of(value: Any) -> str:
    """What a value is, in the words of a message."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return f"the truth value {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    return f"a {type(value).__name__}"
