"""What a spec is for: accuracy, small-value, memory, determinism, performance. A spec can serve several."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from opscan.model import Command, NodeFile, Spec
from opscan.shapes.linking import Catalog

ORDER = ("accuracy", "small-value", "memory", "determinism", "performance")
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


def scenarios(spec: Spec, catalog: Catalog) -> tuple[str, ...]:
    """The scenarios of a spec, in a fixed order, at least one.

    Run-script commands and their node files decide, else the name of the spec, else its settings, else accuracy. Small
    values are added to them by the name or by the ranges.
    """
    links = catalog.links(spec)
    found = {s for _, command in links.commands for s in _of_command(command, links.node_files)}
    named = _of_name(spec.source.path.stem)
    found = found or (named - {"small-value"}) or _of_settings(spec) or {"accuracy"}
    if "small-value" in named or _is_small(spec):
        found.add("small-value")
    return tuple(s for s in ORDER if s in found)


def _of_command(command: Command, node_files: tuple[NodeFile, ...]) -> Iterator[str]:
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


def _of_settings(spec: Spec) -> set[str]:
    has = {key for key in ("acc", "mem") if ("standard", key) in spec.spans}
    return {"memory"} if has == {"mem"} else set()


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
