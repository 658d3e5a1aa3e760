"""What a spec or case file is for: accuracy, small-value, memory, determinism, performance; it can serve several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from opscan.model import SCENARIOS, CaseFile, Command, NodeFile, Scenarios, Spec
from opscan.opening.commands import Found

SMALL = 1e-3
"""Inputs that never exceed this magnitude test the small-value domain."""

_TASKS = {
    "accuracy": "accuracy",
    "accuracy_load": "accuracy",
    "accuracy_lt": "accuracy",
    "accuracy_dc": "determinism",
    "memory_device": "memory",
}
_NAMES = {
    "small-value": re.compile(r"(^|_)float_small|(^|_)small_?values?(_|$)"),
    "determinism": re.compile(r"deterministic|determinism|(^|_)(det|dc)(_|$)"),
    "memory": re.compile(r"(^|_)(mem|memory|memcheck|mssanitizer|sanitizer|mss)(_|$)"),
    "performance": re.compile(r"(^|_)(perf|performance)(_|$)"),
}


def of_spec(spec: Spec, commands: Sequence[Found], nodes: Sequence[NodeFile], beside: Sequence[NodeFile]) -> Scenarios:
    """The scenarios of a spec, in a fixed order, at least one, and the place that says so.

    The tasks of run-script commands and of their node files decide, else the name of the spec or of its folder, else
    the node files beside it where no script is known, else what the spec itself sets. Small values are added by the
    name or by the ranges. `source` is None where accuracy is but assumed: a command runs nobody knows which task.
    """
    path = spec.source.path
    found, source = _of_commands(commands, nodes)
    if not found:
        found, source = _of_path(path.stem, path)
    if not found and not commands:
        found, source = _of_nodes(beside)
    if not found:
        found, source = _of_settings(spec)
        source = None if any(_is_untold(command, nodes) for _, command in commands) else source
    if "small-value" in _of_name(path.stem) or _is_small(spec):
        found = found | {"small-value"}
    return Scenarios(tuple(s for s in SCENARIOS if s in found), source)


def of_cases(
    file: CaseFile, commands: Sequence[Found], nodes: Sequence[NodeFile], owner: Scenarios | None
) -> Scenarios:
    """The scenarios of a case file: by the commands that name it, its name, else those of the spec it comes from.

    Without any of them accuracy is assumed, which nothing establishes.
    """
    path = file.source.path
    found, source = _of_commands(commands, nodes)
    if not found:
        found, source = _of_path(path.stem.removeprefix("all_"), path)
    if found:
        return Scenarios(tuple(s for s in SCENARIOS if s in found), source)
    return owner or Scenarios()


def _of_commands(commands: Sequence[Found], nodes: Sequence[NodeFile]) -> tuple[set[str], str | None]:
    """What the commands run, and the first that says so, one that compares values if any does."""
    by_command = [(script, command, set(_of_command(command, nodes))) for script, command in commands]
    found: set[str] = set().union(*(one for _, _, one in by_command))
    telling = sorted((c for c in by_command if c[2]), key=lambda c: "accuracy" not in c[2])
    source = next((f"{script.source.path.as_posix()}:{command.line}" for script, command, _ in telling), None)
    return found, source


def _of_path(stem: str, path: Path) -> tuple[set[str], str | None]:
    found = _of_name(stem) - {"small-value"}
    if found:
        return found, path.as_posix()
    found = _of_name(path.parent.name) - {"small-value"}
    return found, path.parent.as_posix() if found else None


def _of_nodes(beside: Sequence[NodeFile]) -> tuple[set[str], str | None]:
    """What the node files of a folder without scripts say, where none of them compares with a golden."""
    tasks = [(file, task) for file in beside for node in file.nodes for task in node.tasks if task in _TASKS]
    found = {_TASKS[task] for _, task in tasks}
    if not found or "accuracy" in found:
        return set(), None
    return found, tasks[0][0].source.path.as_posix()


def _of_settings(spec: Spec) -> tuple[set[str], str]:
    """A spec that sets a standard for nothing but memory compares no values; any other is compared by its standard."""
    has = {key for key in ("acc", "mem") if ("standard", key) in spec.spans}
    key = "mem" if has == {"mem"} else "acc"
    span = spec.spans.get(("standard", key)) or spec.spans.get(("standard",)) or spec.spans.get(("name",))
    line = span.line if span else 1
    return {"memory" if key == "mem" else "accuracy"}, f"{spec.source.path.as_posix()}:{line}"


def _is_untold(command: Command, nodes: Sequence[NodeFile]) -> bool:
    """Whether a command runs cases, and the script does not tell as which task."""
    return command.verb == "task" and not set(_of_command(command, nodes)) and command.task != "run"


def _of_command(command: Command, node_files: Sequence[NodeFile]) -> Iterator[str]:
    if command.memcheck:
        yield "memory"
        return
    if command.verb != "task":
        return
    tasks = [t.strip() for t in (command.task or "").split(",") if t.strip()]
    own = [n for n in node_files if any(_base(f) == n.source.path.name for f in command.node_files)]
    if not tasks:
        tasks = [t for n in own for node in n.nodes for t in node.tasks]
    if any("memory" in _of_name(n.source.path.stem) for n in own) and set(tasks) <= {"run", "memory_device"}:
        yield "memory"
    for task in tasks:
        if task.startswith("performance"):
            yield "performance"
        elif task in _TASKS:
            yield _TASKS[task]


def _of_name(stem: str) -> set[str]:
    text = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower())
    return {scenario for scenario, pattern in _NAMES.items() if pattern.search(text)}


def _is_small(spec: Spec) -> bool:
    """Whether every tensor input has ranges, and none of them reaches beyond 0.001."""
    receiver = (spec.tensor_input,) if spec.tensor_input else ()
    tensors = [i for i in (*receiver, *spec.method_inputs, *spec.inputs) if i.kind.startswith("tensor")]
    floating = [i for i in tensors if not i.dtypes.values or any(_is_float(d) for d in i.dtypes.values)]
    magnitudes = [[m for v in i.ranges.values for m in _magnitudes(v)] for i in floating]
    return bool(magnitudes) and all(m and 0 < max(m) <= SMALL for m in magnitudes)


def _is_float(dtype: Any) -> bool:
    return str(dtype).startswith(("fp", "bf", "hf", "float", "double", "complex"))


def _magnitudes(value: Any) -> Iterator[float]:
    for bound in value if isinstance(value, list | tuple) else [value]:
        try:
            yield abs(float(bound))
        except (TypeError, ValueError):
            yield float("inf")


def _base(name: str) -> str:
    return name.replace("\\", "/").rsplit("/", 1)[-1]
