"""Stages import from those to their left, also inside functions, and no modules import each other in a circle."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "opscan"
STAGES = (
    "model", "reading", "opening", "pyread", "shapes", "numerics", "running", "judging", "editing", "reporting",
    "validating", "emulating", "triaging", "checking",
)  # fmt: skip
"""From left to right. What is not a stage (audit, commands, settings ...) may use all of them, and none uses it."""
BELOW_ALL = frozenset({"data", "dataclass", "interface", "cache", "config", "workers", ""})
"""What every stage may use."""


@lru_cache(maxsize=1)
def modules() -> dict[str, Path]:
    files = (path for path in PACKAGE.rglob("*.py") if "standin" not in path.parts)
    named = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in files}
    return {name.removesuffix(".__init__"): path for name, path in named.items()}


@lru_cache(maxsize=1)
def imports() -> dict[str, set[str]]:
    """What each module imports of opscan, wherever the statement stands; what only types need is left out."""
    found: dict[str, set[str]] = {}
    for name, path in modules().items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        unused = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            for inner in ast.walk(node)
        }
        used: set[str] = set()
        for node in ast.walk(tree):
            if id(node) in unused:
                continue
            if isinstance(node, ast.Import):
                used.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                used |= (whole & modules().keys()) or {node.module}
        found[name] = {one for one in used if one in modules() and one != name}
    return found


def stage_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_stages_import_from_those_to_their_left() -> None:
    wrong = []
    for name, used in imports().items():
        own = stage_of(name)
        if own not in STAGES:
            continue
        for other in map(stage_of, used):
            if other in BELOW_ALL or other == own:
                continue
            if other not in STAGES or STAGES.index(other) > STAGES.index(own):
                wrong.append(f"{name} imports {other}")
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles() == []


def circles() -> list[list[str]]:
    """The sets of modules that reach each other (Tarjan)."""
    graph = imports()
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph[name]:
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            place = stack.index(name)
            if len(stack) - place > 1:
                found.append(sorted(stack[place:]))
            del stack[place:]

    for name in graph:
        if name not in index:
            visit(name)
    return found


def test_modules_can_be_held_in_a_head() -> None:
    long = {name: lines for name, path in modules().items() if (lines := len(path.read_text().splitlines())) > 400}
    assert long == {}
