"""Specs in any mixture of the styles that YAML knows, for the property tests; no module of tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import yaml
from hypothesis import strategies as st

WORDS = [
    "equal",
    "default",
    "a # b",
    "b # a",
    "it's",
    'say "x"',
    "*a",
    "误差 😀",
    "x" * 400,
    "y" + "x" * 400,
    "",
    "1e-4",
    "a: b",
    "null",
    "-",
]
ACCS: list[Any] = [
    *WORDS,
    *[None] * 4,
    {},
    {"single_bm": {"type": "a # b"}},
    {"mixed_tolerance_bm": {"fp32_rtol": "1e-4"}},
]
COMMENTS = ["", "", "", "  # 注释", " # 'x", ' # "', "  # a: b # c", " #", "   # &a *a"]
ABOVE = ["", "", "", "", "# above", "", "# - x: 1"]
LINE_ENDS = ["\n", "\r\n", "\r", "mixed"]
_PLAIN = re.compile(r"[a-z][\w. 误差-]*[\w差]")


class _Writer:
    """Writes a tree as lines, choosing a style for each part of it."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._step = draw(st.sampled_from([1, 2, 2, 4]))
        self._anchors = 0

    def _one_of(self, *choices: Any) -> Any:
        return self._draw(st.sampled_from(choices))

    def scalar(self, value: Any) -> str:
        if isinstance(value, str) and value.startswith("*raw"):
            return value.removeprefix("*raw ")
        if value is None:
            return str(self._one_of("null", "~", "", ""))
        if not isinstance(value, str):
            return json.dumps(value)
        styles = ['"', "'", "x"] + ([""] * 4 if _PLAIN.fullmatch(value) and yaml.safe_load(value) == value else [])
        style = self._one_of(*styles)
        if style == "'":
            return "'" + value.replace("'", "''") + "'"
        quoted = json.dumps(value, ensure_ascii=False)
        if style == "x" and value.isascii() and value:
            return f'"\\x{ord(value[0]):02x}{json.dumps(value[1:])[1:]}'
        return value if style == "" else quoted

    def properties(self, tag: str = "") -> str:
        """An anchor, a tag, both or, mostly, nothing."""
        kind = self._one_of(*[""] * 12, "&", "!", "&!")
        self._anchors += "&" in kind
        return (f"&a{self._anchors} " if "&" in kind else "") + (f"{tag} " if tag and "!" in kind else "")

    def flow(self, value: Any) -> str:
        blank, end = self._one_of("", " "), self._one_of("", "", "", ", ")
        if isinstance(value, Mapping):
            pairs = [f"{key if key == '<<' else self.scalar(key)}: {self.flow(item)}" for key, item in value.items()]
            joint = self._one_of(", ", ",\n      ", " , ")
            return f"{{{blank}{joint.join(pairs)}{end if pairs else ''}{blank}}}"
        if isinstance(value, list):
            return f"[{blank}{', '.join(map(self.flow, value))}{end if value else ''}{blank}]"
        return self.scalar(value) or "null"

    def mapping(self, pairs: list[tuple[Any, Any]], indent: int) -> list[str]:
        lines = []
        for key, value in pairs:
            lines += [" " * indent + above for above in [self._one_of(*ABOVE)] if above]
            name = key if key == "<<" else self.scalar(key)
            explicit = self._one_of(*[False] * 12, True)
            head = f"{' ' * indent}? {name}\n{' ' * indent}:" if explicit else f"{' ' * indent}{name}:"
            if not explicit and name[-1:] not in "'\"" and self._one_of(*[False] * 6, True):
                head = head[:-1] + " :"
            lines += self.pair(head, value, indent)
        return lines

    def pair(self, head: str, value: Any, indent: int) -> list[str]:
        comment = self._one_of(*COMMENTS)
        if isinstance(value, str) and value.startswith("*raw"):
            return [f"{head} {self.scalar(value)}{comment}"]
        if isinstance(value, Mapping) and value and self._one_of(True, True, False):
            start = f"{head} {self.properties('!!map')}".rstrip(" ")
            return [start + comment, *self.mapping(list(value.items()), indent + self._step)]
        if isinstance(value, list) and value and self._one_of(True, False):
            return [head + comment, *self.items(value, indent + self._one_of(0, self._step))]
        if isinstance(value, str) and value and value.isprintable() and self._one_of(*[False] * 10, True):
            return [f"{head} {self._one_of('|', '>-', '|+')}", f"{' ' * (indent + self._step)}{value}"]
        text = self.flow(value) if isinstance(value, (Mapping, list)) else self.scalar(value)
        tag = "!!str" if isinstance(value, str) else ""
        properties = self.properties(tag) if text else ""
        if text and self._one_of(*[False] * 8, True):  # the value below its key
            return [f"{head} {properties}".rstrip(" ") + comment, f"{' ' * (indent + self._step)}{text}"]
        return [f"{head} {properties}{text}".rstrip(" ") + comment]

    def items(self, values: list[Any], indent: int) -> list[str]:
        lines = []
        for value in values:
            if isinstance(value, Mapping) and value and self._one_of(True, True, False):
                own = self.mapping(list(value.items()), indent + 2)
                own = [line for line in own if not line.lstrip().startswith("#")]
                lines += [f"{' ' * indent}- {own[0].lstrip(' ')}", *own[1:]]
            else:
                lines.append(f"{' ' * indent}- {self.flow(value)}{self._one_of(*COMMENTS)}")
        return lines


INPUT = {"name": "x", "type": "tensor", "dtypes": {"values": ["fp32", "bf16"]}}


def _standards(draw: st.DrawFn) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]:
    """The pairs of `standard`, if any, and what must stand above them: the anchors of aliases and merges."""
    acc, perf = draw(st.sampled_from(ACCS)), draw(st.sampled_from(["not_key", [1.5, 2]]))
    kind = draw(
        st.sampled_from(["plain"] * 9 + ["twice", "twice", "alias", "merge", "merges", "acc alias", "repeated"])
    )
    both = draw(st.permutations([("acc", acc), ("perf", perf)]))
    body = dict(both[: draw(st.integers(0, 2))])
    if kind == "plain":
        absent = draw(st.sampled_from([False] * 5 + [True]))
        return ([] if absent else [("standard", draw(st.sampled_from([body, body, body, None])) or None)]), []
    if kind == "twice":
        return [("standard", body), ("standard", dict(both))], []
    if kind == "repeated":
        return [("standard", {**body, "acc": "*raw &strict equal"}), ("version", "*raw *strict")], []
    if kind == "acc alias":
        return [("standard", {**body, "acc": "*raw *strict"})], [("version", "*raw &strict equal")]
    if kind == "alias":
        return [("standard", "*raw *base")], [("base", "*raw &base {acc: equal}")]
    merged = "*raw *base" if kind == "merge" else "*raw [*base, *more]"
    above = [("base", "*raw &base {acc: default}"), ("more", "*raw &more {perf: key}")]
    return [("standard", dict(draw(st.permutations([("<<", merged), *body.items()]))))], above


@st.composite
def styled_documents(draw: st.DrawFn) -> str:
    """A spec as the text of its file, a BOM included."""
    writer = _Writer(draw)
    standards, above = _standards(draw)
    others: list[list[tuple[Any, Any]]] = [
        [("name", "torch.where")],
        [("inputs", [INPUT] * draw(st.integers(0, 2)) or [])],
        standards,
        *([[("version", draw(st.sampled_from(WORDS)))]] if draw(st.booleans()) and not above else []),
        *([[("backward", True)]] if draw(st.booleans()) else []),
        *([[("generate", "narrow"), ("generate", "default")]] if draw(st.sampled_from([False] * 4 + [True])) else []),
    ]
    pairs = [*above, *(pair for group in draw(st.permutations(others)) for pair in group)]
    if draw(st.sampled_from([False] * 4 + [True])) and not above and len({key for key, _ in pairs}) == len(pairs):
        plain = {key: value for key, value in pairs if "*raw" not in repr(value)}
        text = draw(st.sampled_from(["", "--- "])) + writer.flow(plain) + "\n"
    else:
        head = draw(
            st.sampled_from([[]] * 4 + [["---"], ["%YAML 1.1", "---"], ["# 头部"], ["", "--- # x"], ["--- !!map"]])
        )
        tail = draw(st.sampled_from([[]] * 4 + [["..."], ["# the end"], ["", ""], ["... # x", "# y"]]))
        indent = draw(st.sampled_from([0] * 8 + [2]))
        text = "\n".join([*head, *writer.mapping(pairs, indent), *tail]) + "\n"
    return _ended(draw, text)


def _ended(draw: st.DrawFn, text: str) -> str:
    """With other line ends, with or without the last one, and with or without a BOM."""
    if draw(st.sampled_from([False] * 3 + [True])):
        text = text.rstrip("\n")
    end = draw(st.sampled_from(LINE_ENDS))
    parts = text.split("\n")
    ends = [draw(st.sampled_from(["\n", "\r\n"])) if end == "mixed" else end for _ in parts[1:]]
    text = "".join(part + one for part, one in zip(parts, [*ends, ""], strict=True))
    return draw(st.sampled_from(["", "", "", "\ufeff"])) + text


def _standard_of(text: str) -> dict[str, Any]:
    found = yaml.safe_load(text).get("standard")
    return found if isinstance(found, dict) else {}


FEATURES: dict[str, Callable[[str], bool]] = {
    "BOM": lambda text: text.startswith("\ufeff"),
    "LF": lambda text: "\r" not in text and "\n" in text,
    "CRLF": lambda text: "\r\n" in text and "\n" not in text.replace("\r\n", ""),
    "CR": lambda text: "\r" in text and "\n" not in text,
    "mixed line ends": lambda text: "\r\n" in text and "\n" in text.replace("\r\n", ""),
    "no final line end": lambda text: text[-1:] not in "\r\n",
    "an anchor in the standard": lambda text: re.search(r"acc['\"]? ?: &", text) is not None,
    "an anchor that is repeated": lambda text: "&strict" in text and "*strict" in text,
    "an alias as the standard": lambda text: re.search(r"standard['\"]? ?: \*", text) is not None,
    "a merge": lambda text: "<<: *" in text,
    "a merge of several": lambda text: "<<: [" in text,
    "a tag": lambda text: "!!str" in text or "!!map" in text,
    "flow style": lambda text: re.search(r"standard['\"]? ?: (?:&\w+ )?(?:!!map )?\{", text) is not None,
    "flow over lines": lambda text: re.search(r",[\r\n]+ {6}", text) is not None,
    "flow throughout": lambda text: text.lstrip("\ufeff- ").startswith("{"),
    "a key twice": lambda text: len(re.findall(r"(?m)^ *(?:standard|generate) ?:", text.replace("\r", "\n"))) > 1,
    "a block text": lambda text: re.search(r": (?:\||>-|\|\+)[\r\n]", text) is not None,
    "an explicit key": lambda text: re.search(r"(?m)^ *\? ", text.replace("\r", "\n")) is not None,
    "a quoted key": lambda text: re.search(r"['\"]acc['\"]", text) is not None,
    "an escaped key": lambda text: '"\\x' in text,
    "a long line": lambda text: "x" * 400 in text,
    "a comment behind": lambda text: "# 注释" in text,
    "a hash in a text": lambda text: re.search(r"['\"][ab] # [ab]['\"]", text) is not None,
    "a document's start": lambda text: "---" in text,
    "a document's end": lambda text: "..." in text,
    "a directive": lambda text: "%YAML" in text,
    "no standard": lambda text: "tandard" not in text,
    "an empty value": lambda text: _standard_of(text).get("acc", "") is None,
    "items without indentation": lambda text: re.search(r"(?m)^- ", text.replace("\r", "\n")) is not None,
    "an indented document": lambda text: re.search(r"(?m)^  (?:name|inputs)", text.replace("\r", "\n")) is not None,
}
"""What the generated texts are to have, each often enough."""
