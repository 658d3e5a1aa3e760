"""The edit that makes a spec's `standard.acc` say something else, in the file's own style.

PyYAML's end marks of block collections run on past comments to the next key, so the end of the last leaf is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from opscan.dataclass import dataclass
from opscan.editing.meaning import same
from opscan.editing.writing import yaml_block, yaml_flow, yaml_scalar
from opscan.model import Edit, KeyPath, Spec
from opscan.reading.checks import property_length
from opscan.reading.values import Tree, read_tree

_COLON = re.compile(r"(?:[ \t]*(?:(?<=[ \t])#[^\r\n]*)?(?:\r\n|\n|\r))*[ \t]*:")
"""A key's colon; that of an explicit key (`? key`) begins a line of its own."""
_REST_OF_LINE = re.compile(r"[ \t]*(?:(?<=[ \t])#[^\r\n]*)?(?=[\r\n]|\Z)")
_COMMENT_BEHIND = re.compile(r"[ \t]+(?=#)")
_EXPLICIT = re.compile(r"\?[ \t]+\Z")
_ANCHOR = re.compile(r"&([^\s,\[\]{}]+)")
_LINE_END = re.compile(r"\r\n|\n|\r")
_OURS = "# derived:"
_STANDARD: KeyPath = ("standard",)
_ACC: KeyPath = ("standard", "acc")
_GENERATE: KeyPath = ("generate",)


class _Refused(Exception):
    """The value cannot be replaced without a guess; the message says why."""


def replace_acc(spec: Spec, value: Any, comment: str = "") -> Edit | str:
    """The edit after which `standard.acc` is `value`, or the reason why none can be given.

    `comment` goes behind the key where the value becomes a block and no other comment stands there; a comment of an
    earlier edit that begins alike gives way.
    """
    return _rewritten(spec, comment, lambda rewrite: rewrite.acc(value))


def replace_generate(spec: Spec, name: str) -> Edit | str:
    """The edit after which `generate` is `name`, or the reason why none can be given."""
    return _rewritten(spec, "", lambda rewrite: rewrite.generate(name))


def _rewritten(spec: Spec, comment: str, rewrite: Callable[[_Rewrite], Edit]) -> Edit | str:
    tree = read_tree(spec.source)
    if isinstance(tree, tuple):
        return f"the file cannot be read: {tree[0].message}"
    if not isinstance(tree.root, yaml.MappingNode):
        return "the file is not a mapping"
    try:
        return rewrite(_Rewrite(tree, comment))
    except _Refused as error:
        return str(error)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value stands: from behind its key's colon; `start` is behind any anchor or tag."""

    path: KeyPath
    colon: int
    start: int
    end: int
    is_block: bool
    quote: str


class _Rewrite:
    """One document and its style."""

    def __init__(self, tree: Tree, comment: str = "") -> None:
        self._tree = tree
        self._comment = f"  # {comment}" if comment else ""
        self._text = tree.source.text
        self._step = self._indent_step()

    def acc(self, value: Any) -> Edit:
        standard = self._tree.value.get("standard")
        if "standard" not in self._tree.value:
            return self._insert_key("standard", {"acc": value})
        if standard is None:
            return self._put(_STANDARD, {"acc": value}, self._tree.root.flow_style)
        if not isinstance(standard, dict):
            raise _Refused("`standard` is not a mapping; write `standard:` with `acc:` below it")
        if "acc" in standard and same(standard["acc"], value):
            raise _Refused("`standard.acc` already says this")
        if _STANDARD in self._tree.indirect:
            raise _Refused("`standard` is an alias; the anchor it repeats must be edited by hand")
        node = _last_value(self._tree.root, "standard")
        if "acc" in standard:
            return self._put(_ACC, value, node.flow_style)
        return self._insert_acc(node, value)

    def generate(self, name: str) -> Edit:
        if _GENERATE not in self._tree.spans:
            return self._insert_key("generate", name)
        return self._put(_GENERATE, name, self._tree.root.flow_style)

    # -- replacing a value -------------------------------------------------------------------------------------------

    def _put(self, path: KeyPath, value: Any, flow: bool) -> Edit:
        """Replace the value of a key that is there."""
        place = self._place(path)
        self._refuse_comments(place.start, place.end)
        if isinstance(value, Mapping) and value and not flow:
            return self._put_block(place, value)
        return self._put_inline(place, value)

    def _place(self, path: KeyPath) -> _Place:
        span, key = self._tree.spans[path], self._tree.key_spans[path]
        is_alias = path in self._tree.indirect
        if is_alias and (span == key or not self._text.startswith("*", span.start)):
            raise _Refused("the value comes from an anchor or a merge (`<<`); it must be edited by hand")
        leaf = self._tree.leaves.get(path)
        if leaf is not None and leaf.style in ("|", ">"):
            raise _Refused("the value is a block text (`|` or `>`); write it on one line first")
        properties = property_length(self._text[span.start : span.end])
        anchor = _ANCHOR.search(self._text, span.start, span.start + properties)
        if anchor and self._is_repeated(anchor[1]):
            raise _Refused(f"the value has the anchor &{anchor[1]}, which is repeated elsewhere; edit it by hand")
        colon = _COLON.match(self._text, key.end)
        if colon is None:
            raise _Refused("the key is written without a ':'")
        start = span.start + properties
        start = colon.end() if span.start == span.end else start
        is_block = leaf is None and not is_alias and self._text[start : start + 1] not in ("{", "[")
        quote = leaf.style if leaf is not None and leaf.style in ("'", '"') else ""
        return _Place(path, colon.end(), start, max(span.end, start), is_block, quote)

    def _put_inline(self, place: _Place, value: Any) -> Edit:
        text = yaml_scalar(value, place.quote) if isinstance(value, str) else yaml_flow(value)
        if place.is_block:
            head = self._text[place.colon : place.start].rstrip()
            if head.lstrip()[:1] in ("&", "!"):
                raise _Refused("the value has an anchor or a tag; it must be edited by hand")
            end, gap = place.end, ""
            behind = _COMMENT_BEHIND.match(self._text, end)
            if behind is not None and "#" in head:  # each of the two comments keeps a line of its own
                end, gap = behind.end(), self._newline_at(end) + " " * (place.start - self._line_start(place.start))
            return Edit(place.colon, end, f" {text}{head}{gap}", place.path, value)
        text = " " + text if place.start == place.colon else text
        return Edit(place.start, place.end, text, place.path, value)

    def _put_block(self, place: _Place, value: Mapping[Any, Any]) -> Edit:
        """A mapping, one key a line, below its key."""
        if place.is_block or _LINE_END.search(self._text, place.colon, place.start):
            indent = place.start - self._line_start(place.start)
            block = yaml_block(value, indent, self._newline_at(place.start), self._step)
            return self._with_comment(place, Edit(place.start, place.end, block[indent:], place.path, value))
        rest = _REST_OF_LINE.match(self._text, place.end)
        if rest is None:
            raise _Refused("something stands behind the value on its line; it must be edited by hand")
        column = self._tree.key_spans[place.path].column - 1
        head = self._text[place.colon : place.start].rstrip() + rest.group().rstrip()
        head = head if "#" in head else head + self._comment
        newline = self._newline_at(place.end)
        block = yaml_block(value, column + self._step, newline, self._step)
        return Edit(place.colon, rest.end(), f"{head}{newline}{block}", place.path, value)

    def _with_comment(self, place: _Place, edit: Edit) -> Edit:
        """The edit of a block that is there, from its key's colon on where the comment behind the key is ours."""
        head = self._text[place.colon : place.start]
        line, found, rest = head.partition(self._newline_at(place.colon))
        ours = line.strip().startswith(_OURS)
        if not found or not (ours or (self._comment and not line.strip())):
            return edit
        return Edit(place.colon, edit.end, f"{self._comment}{found}{rest}{edit.text}", edit.where, edit.value)

    # -- adding a key ------------------------------------------------------------------------------------------------

    def _insert_acc(self, node: Any, value: Any) -> Edit:
        """`acc` as the first key of a `standard` that has other keys, or none."""
        span = self._tree.spans[_STANDARD]
        if not node.value:
            place = span.start + property_length(self._text[span.start : span.end]) + 1
            return Edit(place, place, yaml_flow({"acc": value})[1:-1], _ACC, value)
        place = self._entry_start(node.value[0][0])
        if node.flow_style:
            return Edit(place, place, yaml_flow({"acc": value})[1:-1] + ", ", _ACC, value)
        indent = place - self._line_start(place)
        newline = self._newline_at(place)
        entry = yaml_block({"acc": value}, indent, newline, self._step)[indent:]
        return Edit(place, place, entry + newline + " " * indent, _ACC, value)

    def _insert_key(self, key: str, value: Any) -> Edit:
        """A key of the document before `inputs`; where that is the first key, after everything."""
        root = self._tree.root
        pairs = root.value
        place = next((index for index, (one, _) in enumerate(pairs) if one.value == "inputs"), None)
        if root.flow_style:
            offset = self._entry_start(pairs[place or 0][0]) if pairs else root.start_mark.index + 1
            entry = yaml_flow({key: value})[1:-1]
            return Edit(offset, offset, entry + (", " if pairs else ""), (key,), value)
        first = self._entry_start(pairs[0][0])
        indent = first - self._line_start(first)
        end = self._tree.spans[()].end
        offset = self._above_comments(pairs[place][0].start_mark.index, indent) if place else end
        newline = self._newline_at(offset)
        block = yaml_block({key: value}, indent, newline, self._step)
        if place:
            return Edit(offset, offset, block + newline, (key,), value)
        if self._line_start(end) == end:
            return Edit(end, end, block + newline, (key,), value)
        rest = _REST_OF_LINE.match(self._text, end)
        if rest is not None:
            return Edit(rest.end(), rest.end(), newline + block, (key,), value)
        raise _Refused(f"`{key}` is missing and there is no clear place for it; add it by hand")

    def _entry_start(self, key: Any) -> int:
        """Where an entry begins: at its key, or at the '?' before it."""
        start: int = key.start_mark.index
        explicit = _EXPLICIT.search(self._text, self._line_start(start), start)
        return explicit.start() if explicit else start

    def _above_comments(self, offset: int, indent: int) -> int:
        """The start of the line at `offset`, or of the comment lines right above it, which belong to it."""
        start = self._line_start(offset)
        while start > 0:
            above = self._line_start(start - len(self._line_end_before(start)))
            line = self._text[above:start]
            if not line.startswith(" " * indent + "#"):
                break
            start = above
        return start

    # -- the text ----------------------------------------------------------------------------------------------------

    def _line_end_before(self, start: int) -> str:
        return "\r\n" if self._text[max(start - 2, 0) : start] == "\r\n" else self._text[start - 1]

    def _newline_at(self, offset: int) -> str:
        """The end of the line at `offset`; in the last line that of the line above."""
        found = _LINE_END.search(self._text, offset)
        if found is not None:
            return found.group()
        start = self._line_start(offset)
        return self._line_end_before(start) if start else "\n"

    def _is_repeated(self, anchor: str) -> bool:
        """Whether an alias repeats what the anchor stands at; comments and texts that look like one do not count."""
        if f"*{anchor}" not in self._text:
            return False
        events = yaml.parse(self._text, Loader=yaml.SafeLoader)
        return any(isinstance(event, yaml.AliasEvent) and event.anchor == anchor for event in events)

    def _line_start(self, offset: int) -> int:
        return max(self._text.rfind("\n", 0, offset), self._text.rfind("\r", 0, offset)) + 1

    def _refuse_comments(self, start: int, end: int) -> None:
        """Replacing a value must not drop a comment that stands inside it."""
        inside = [
            (span.start, span.end)
            for table in (self._tree.spans, self._tree.key_spans)
            for path, span in table.items()
            if start <= span.start and span.end <= end and (table is not self._tree.spans or path in self._tree.leaves)
        ]
        for match in re.finditer(r"(?<=[\s{\[,])#", self._text[start:end]):
            place = start + match.start()
            if not any(low <= place < high for low, high in inside):
                line = len(_LINE_END.findall(self._text, 0, place)) + 1
                raise _Refused(f"a comment stands inside the value (line {line}); move it and run again")

    def _indent_step(self) -> int:
        """By how much the file indents a mapping below its key; 2 where it never does."""
        keys = self._tree.key_spans
        ordered = sorted(keys, key=lambda path: path[:1] != _STANDARD)
        for path in ordered:
            parent = keys.get(path[:-1])
            if parent is not None and path not in self._tree.indirect and keys[path].line > parent.line:
                step = keys[path].column - parent.column
                if 0 < step <= 8:
                    return step
        return 2


def _last_value(mapping: Any, key: str) -> Any:
    """The value node that counts: PyYAML takes the last of duplicate keys."""
    return [value for name, value in mapping.value if getattr(name, "value", None) == key][-1]
