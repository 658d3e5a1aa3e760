"""Node files: which devices run which tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opscan.model import Node, NodeFile, Source
from opscan.reading.checks import Checking, suggestion
from opscan.reading.values import Tree

NODE_KEYS = frozenset(
    ("backend", "task", "devices", "name", "is_compare", "run_modes", "bm_file", "output_path", "host", "port")
)
_TASK_NAMES = (
    "accuracy performance_e2e performance_device accuracy_load accuracy_dc run accuracy_lt performance_device_pta "
    "memory_device performance_camodel"
)
TASKS = frozenset(_TASK_NAMES.split())


def is_node_file(value: Any) -> bool:
    """Whether a YAML document is a node file: `nodes` with at least one mapping that names a backend."""
    nodes = value.get("nodes") if isinstance(value, dict) else None
    return isinstance(nodes, list) and any(isinstance(node, dict) and "backend" in node for node in nodes)


def read_nodes(source: Source, tree: Tree) -> NodeFile:
    """The nodes of a node file, with a fault for every key, task or value that ATK does not know."""
    checking = Checking(tree)
    nodes = []
    for index, entry in enumerate(tree.value["nodes"]):
        if isinstance(entry, dict):
            nodes.append(_node(checking, index, entry))
        else:
            checking.wrong_type(("nodes", index), "a mapping that describes one node", entry)
    return NodeFile(source, tuple(node for node in nodes if node), tree.faults + tuple(checking.faults))


def _node(checking: Checking, index: int, entry: dict[Any, Any]) -> Node | None:
    path = ("nodes", index)
    for key in entry:
        if key not in NODE_KEYS:
            below = (*path, key if isinstance(key, (str, int)) else str(key))
            message = f"{key!r} is not a key of a node{suggestion(str(key), NODE_KEYS)}"
            checking.add_at_key("unknown-key", below, message)
    for key in ("is_compare",):
        if key in entry and not isinstance(entry[key], bool):
            checking.wrong_type((*path, key), "true or false", entry[key])
    if "devices" in entry and not isinstance(entry["devices"], (list, int)):
        checking.wrong_type((*path, "devices"), "a list of device numbers", entry["devices"])
    backend, name = entry.get("backend"), entry.get("name")
    tasks = _tasks(checking, index, entry.get("task"))
    if not isinstance(backend, str):
        if "backend" in entry:
            checking.wrong_type((*path, "backend"), "the name of a backend", backend)
        else:
            checking.add("missing-key", path, f"nodes[{index}] has no `backend` (npu, cpu, pyaclnn, ...)")
        return None
    modes = tuple(_words(entry.get("run_modes")))
    return Node(backend, tasks, name if isinstance(name, str) else None, checking.tree.spans.get(path), modes)


def _words(value: Any) -> Iterator[str]:
    """The words of a value whose form differs between versions: a word, a list, or a mapping of switches."""
    if isinstance(value, dict):
        yield from (str(key) for key, on in value.items() if on is not False)
    elif isinstance(value, list):
        for item in value:
            yield from _words(item)
    elif isinstance(value, str):
        yield value


def _tasks(checking: Checking, index: int, value: Any) -> tuple[str, ...]:
    path = ("nodes", index, "task")
    if value is None:
        return ()
    if not isinstance(value, (list, str)):
        checking.wrong_type(path, "a list of tasks", value)
        return ()
    tasks = []
    for place, task in enumerate([value] if isinstance(value, str) else value):
        below = path if isinstance(value, str) else (*path, place)
        if not isinstance(task, str):
            checking.wrong_type(below, "the name of a task", task)
            continue
        if task not in TASKS:
            checking.add("unknown-key", below, f"ATK has no task {task!r}{suggestion(task, TASKS)}")
        tasks.append(task)
    return tuple(tasks)
