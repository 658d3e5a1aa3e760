"""A composed YAML document as Python values, each with its span: what `yaml.safe_load` returns, plus the places.

Built here rather than with PyYAML's constructor because that one forgets positions and silently drops duplicate keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from opscan.dataclass import dataclass
from opscan.model import Fault, KeyPath, Source, Span
from opscan.reading.positions import Lines
from opscan.reading.trees import Composed, alias_spans, compose, odd_breaks

MAX_DEPTH = 100
MAX_ALIASED_VALUES = 20_000

_PREFIX = "tag:yaml.org,2002:"
_STR, _MAP, _SEQ, _MERGE = (_PREFIX + kind for kind in ("str", "map", "seq", "merge"))
_SCALAR_TAGS = frozenset(_PREFIX + kind for kind in ("int", "float", "bool", "null", "timestamp", "binary"))
_CONSTRUCTOR = yaml.constructor.SafeConstructor()


@dataclass(frozen=True, slots=True)
class Tree:
    """One document. `leaves` holds the scalar nodes written in place, `indirect` the paths behind an alias or merge."""

    source: Source
    root: Any
    value: Any
    spans: Mapping[KeyPath, Span]
    key_spans: Mapping[KeyPath, Span]
    leaves: Mapping[KeyPath, Any]
    indirect: frozenset[KeyPath]
    faults: tuple[Fault, ...]

    def span(self, path: KeyPath) -> Span | None:
        """The span of the value at `path`, else of the nearest value around it."""
        for length in range(len(path), -1, -1):
            found = self.spans.get(path[:length])
            if found is not None:
                return found
        return None

    def key_span(self, path: KeyPath) -> Span | None:
        return self.key_spans.get(path) or self.span(path)


def read_tree(source: Source) -> Tree | tuple[Fault, ...]:
    """The document of a source, or the faults that keep ATK from reading it."""
    composed = compose(source)
    return composed if isinstance(composed, tuple) else place_values(source, composed)


def place_values(source: Source, composed: Composed) -> Tree | tuple[Fault, ...]:
    """Values and spans of a composed document."""
    walk = _Walk(source.text, composed)
    if composed.root is None:
        value: Any = None
    else:
        try:
            value = walk.visit(composed.root, ())
        except _TooDeep as error:
            message = f"nested deeper than {MAX_DEPTH} levels; ATK's reader would give up"
            return (Fault("yaml-syntax", message, walk.span_of(error.node)),)
    faults = composed.faults + tuple(walk.faults)
    indirect = frozenset(walk.indirect)
    return Tree(source, composed.root, value, walk.spans, walk.key_spans, walk.leaves, indirect, faults)


class _TooDeep(Exception):
    def __init__(self, node: Any) -> None:
        self.node = node


class _Walk:
    """One pass over the node graph in the order of the text."""

    def __init__(self, text: str, composed: Composed) -> None:
        self.spans: dict[KeyPath, Span] = {}
        self.key_spans: dict[KeyPath, Span] = {}
        self.leaves: dict[KeyPath, Any] = {}
        self.indirect: set[KeyPath] = set()
        self.faults: list[Fault] = []
        self._lines = Lines(text) if odd_breaks(text) else None
        self._aliases: Iterator[tuple[int, int]] | None = None
        self._text = text
        if "*" in text and composed.root is not None:
            found = alias_spans(composed, text)
            self._aliases = iter(found) if found else None
        self._known: dict[int, Any] = {}
        self._open: set[int] = set()
        self._last = Span(0, 0, 1, 1, 1, 1)
        self._budget = MAX_ALIASED_VALUES

    def span_of(self, node: Any) -> Span:
        start, end = node.start_mark, node.end_mark
        if self._lines is None and end.index >= len(self._text):
            # Without a final line end the C loader puts the end of the text on a line of its own.
            self._lines = Lines(self._text)
        if self._lines is not None:
            return self._lines.span(start.index, end.index)
        return Span(start.index, end.index, start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    def visit(self, node: Any, path: KeyPath) -> Any:
        if self._aliases is None:
            return self._visit_written(node, path)
        identity = id(node)
        if identity in self._known or identity in self._open:
            return self._visit_alias(node, path)
        self._open.add(identity)
        value = self._visit_written(node, path)
        self._open.discard(identity)
        self._known[identity] = value
        return value

    def _visit_written(self, node: Any, path: KeyPath) -> Any:
        if isinstance(node, yaml.ScalarNode):
            self._last = self.spans[path] = self.span_of(node)
            self.leaves[path] = node
            return node.value if node.tag == _STR else self._scalar(node)
        if len(path) >= MAX_DEPTH:
            raise _TooDeep(node)
        value = self._mapping(node, path) if isinstance(node, yaml.MappingNode) else self._sequence(node, path)
        span = self.span_of(node)
        if not node.flow_style:
            last = self._last
            span = Span(span.start, last.end, span.line, span.column, last.end_line, last.end_column)
        self._last = self.spans[path] = span
        return value

    def _visit_alias(self, node: Any, path: KeyPath) -> Any:
        lines = self._lines = self._lines or Lines(self._text)
        start, end = next(self._aliases or iter(()), (node.start_mark.index, node.start_mark.index))
        self._last = self.spans[path] = lines.span(start, end)
        self.indirect.add(path)
        if id(node) in self._open:
            message = "this alias stands inside the very value it repeats; write the value out"
            self.faults.append(Fault("yaml-trap", message, self._last))
            return None
        value = self._known[id(node)]
        self._record_indirect(value, path, self._last)
        return value

    def _record_indirect(self, value: Any, path: KeyPath, span: Span) -> None:
        """Give everything below an alias the alias's span; stops where aliases of aliases explode."""
        if isinstance(value, dict):
            items: Iterator[tuple[Any, Any]] = iter(value.items())
        elif isinstance(value, list):
            items = iter(enumerate(value))
        else:
            return
        for key, item in items:
            if self._budget <= 0 or len(path) >= MAX_DEPTH:
                return
            self._budget -= 1
            below = (*path, key)
            self.spans[below] = self.key_spans[below] = span
            self.indirect.add(below)
            self._record_indirect(item, below, span)

    def _scalar(self, node: Any) -> Any:
        if node.tag in _SCALAR_TAGS:
            try:
                return yaml.constructor.SafeConstructor.yaml_constructors[node.tag](_CONSTRUCTOR, node)
            except (ValueError, KeyError, IndexError, OverflowError, AttributeError, yaml.YAMLError):
                kind = node.tag.removeprefix(_PREFIX)
                self._refuse(node, f"{_short(node.value)} cannot be read as a {kind}; put it in quotes")
                return node.value
        if node.tag in (_PREFIX + "value", _MERGE):
            self._refuse(node, f"{node.value} has a meaning of its own in YAML; put it in quotes")
        else:
            self._refuse_tag(node)
        return node.value

    def _sequence(self, node: Any, path: KeyPath) -> list[Any]:
        if node.tag != _SEQ:
            self._refuse_tag(node)
        self._last = self.span_of(node)
        return [self.visit(child, (*path, index)) for index, child in enumerate(node.value)]

    def _mapping(self, node: Any, path: KeyPath) -> dict[Any, Any]:
        if node.tag != _MAP:
            self._refuse_tag(node)
        own: dict[Any, Any] = {}
        merged: list[tuple[Any, Any, Span]] = []
        self._last = self.span_of(node)
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                merged.extend(self._merged(value_node, path))
                continue
            key = self._key(key_node, path)
            key_span = self._last
            if isinstance(key, (dict, list)):
                self._refuse(key_node, "a list or mapping cannot be a key")
                key = _short(str(key))
            below = (*path, key if isinstance(key, (str, int)) else str(key))
            if key in own:
                self._report_duplicate(key, key_span, self.key_spans.get(below))
                self.leaves.pop(below, None)
                self.indirect.discard(below)
                if isinstance(own[key], (dict, list)):
                    self._forget(below)
            self.key_spans[below] = key_span
            own[key] = self.visit(value_node, below)
        if not merged:
            return own
        return self._with_merged(own, merged, path)

    def _key(self, node: Any, path: KeyPath) -> Any:
        """The value of a key; keys have no path of their own, so only the span of the last one is kept."""
        if isinstance(node, yaml.ScalarNode):
            identity = id(node)
            if self._aliases is not None and identity in self._known:
                return self._visit_aside(node, path)
            value = node.value if node.tag in (_STR, _PREFIX + "value") else self._scalar(node)
            self._last = self.span_of(node)
            self._known[identity] = value
            return value
        return self._visit_aside(node, path)

    def _visit_aside(self, node: Any, path: KeyPath) -> Any:
        """Visit a node whose places nobody can ask for: a key, or what `<<` merges."""
        aside: KeyPath = (*path, "\0")
        if self._aliases is not None and id(node) in self._known:
            self._lines = self._lines or Lines(self._text)
            self._last = self._lines.span(*next(self._aliases, (node.start_mark.index, node.start_mark.index)))
            return self._known[id(node)]
        value = self.visit(node, aside)
        self._forget(aside)
        return value

    def _merged(self, node: Any, path: KeyPath) -> list[tuple[Any, Any, Span]]:
        value = self._visit_aside(node, path)
        span = self._last
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, dict) for part in parts):
            self.faults.append(Fault("yaml-syntax", "'<<' can only merge mappings", span))
            return []
        return [(key, item, span) for part in parts for key, item in part.items()]

    def _with_merged(self, own: dict[Any, Any], merged: list[tuple[Any, Any, Span]], path: KeyPath) -> dict[Any, Any]:
        """Merged keys come first and lose against the mapping's own; of two merged ones the first counts.

        PyYAML's versions disagree on the last point, so a file that depends on it gets a fault.
        """
        result: dict[Any, Any] = {}
        for key, item, span in merged:
            if key in result:
                if key not in own and _differs(result[key], item):
                    message = f"{_short(str(key))} is merged twice; which one counts depends on the version of PyYAML"
                    self.faults.append(Fault("yaml-trap", message, span))
                continue
            result[key] = item
            below = (*path, key if isinstance(key, (str, int)) else str(key))
            if key not in own:
                self.spans[below] = self.key_spans[below] = span
                self.indirect.add(below)
                self._record_indirect(item, below, span)
        result.update(own)
        return result

    def _forget(self, path: KeyPath) -> None:
        """Drop what was recorded at and below a path: a duplicate key hides it."""
        size = len(path)
        tables: tuple[dict[KeyPath, Any], ...] = (self.spans, self.key_spans, self.leaves)
        for table in tables:
            for known in [known for known in reversed(table) if known[:size] == path]:
                del table[known]
        self.indirect = {known for known in self.indirect if known[:size] != path}

    def _report_duplicate(self, key: Any, span: Span, first: Span | None) -> None:
        where = f" on line {first.line}" if first else ""
        message = f"the key {_short(str(key))} stands twice; ATK takes this one and ignores the one{where}"
        self.faults.append(Fault("duplicate-key", message, span))

    def _refuse(self, node: Any, message: str) -> None:
        self.faults.append(Fault("yaml-syntax", message, self.span_of(node)))

    def _refuse_tag(self, node: Any) -> None:
        tag = node.tag.replace(_PREFIX, "!!")
        self._refuse(node, f"ATK's reader does not accept the tag {tag} here; remove it")


def _differs(left: Any, right: Any) -> bool:
    """Whether two values differ; collections, which may contain themselves, are equal only to themselves."""
    if isinstance(left, (dict, list)) or isinstance(right, (dict, list)):
        return left is not right
    return type(left) is not type(right) or bool(left != right)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
