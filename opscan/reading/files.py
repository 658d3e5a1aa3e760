"""What a file is, told by its content."""

from __future__ import annotations

import re
from pathlib import Path

from opscan.model import CaseFile, Fault, NodeFile, Plugin, RunScript, Source, Spec, Unread
from opscan.reading.positions import span_at
from opscan.reading.specs import is_design, read_spec
from opscan.reading.texts import LARGEST_TEXT, decode, decode_python, load_bytes
from opscan.reading.values import read_tree

__all__ = ["LARGEST_TEXT", "SCRIPTS", "SUFFIXES", "ReadFile", "meant_kind", "read_file", "read_source"]

ReadFile = Spec | CaseFile | Plugin | NodeFile | RunScript | Unread

_YAML = frozenset((".yaml", ".yml"))
SCRIPTS = (".sh", ".bash", ".zsh", ".ksh")
SUFFIXES = _YAML | {*SCRIPTS, ".json", ".py"}
_MEANT = {".yaml": "spec", ".yml": "spec", ".json": "cases", ".py": "plugin"}
_NODES_KEY = re.compile(r"^[ \t]*nodes[ \t]*:", re.MULTILINE)
_DESIGN_KEY = re.compile(
    r"^[ \t]*[\"']?(?:inputs|standard|aclnn_name|api_type|dtype_numbers)[\"']?[ \t]*:", re.MULTILINE
)


def read_file(path: Path, shown: str | None = None) -> ReadFile:
    """What a file holds. Bad input never raises: it gives an `Unread` with the reason and its faults.

    `shown` is how messages name the file; by default its path.
    """
    label = shown if shown is not None else str(path)
    suffix = path.suffix.lower()
    data = load_bytes(path, label)
    if isinstance(data, Fault):
        return _unread(path, meant_kind(path), data)
    source = decode_python(path, data) if suffix == ".py" else decode(path, data)
    if isinstance(source, Fault):
        return _undecoded(path, suffix, data, source)
    return read_source(source)


def read_source(source: Source) -> ReadFile:
    """What a decoded text holds, told by the suffix of its path: as `read_file`, for a text that is on no disk."""
    suffix = source.path.suffix.lower()
    if suffix in _YAML:
        return _read_yaml(source)
    if suffix == ".json":
        return _read_json(source)
    if suffix == ".py":
        return _read_python(source)
    from opscan.reading.scripts import read_script

    return read_script(source) or Unread(source.path, "other", "no spec, case file, plugin, node file or run script")


def meant_kind(path: Path) -> str:
    """What a file of this name is meant to be, where it cannot be read."""
    return _MEANT.get(path.suffix.lower(), "other")


def _read_yaml(source: Source) -> ReadFile:
    meant = "nodes" if _NODES_KEY.search(source.text) and not _DESIGN_KEY.search(source.text) else "spec"
    tree = read_tree(source)
    if isinstance(tree, tuple):
        if tree[0].rule == "multiple-documents" and not _is_meant(source.text):
            return Unread(source.path, "other", "a YAML file with several documents, none of them a spec")
        return _unread(source.path, meant, *tree)
    if tree.root is None:
        return _empty(source, "spec")
    from opscan.reading.nodes import is_node_file, read_nodes

    if is_node_file(tree.value):
        return read_nodes(source, tree)
    if is_design(tree.value):
        return read_spec(source, tree)
    return Unread(source.path, "other", "a YAML file without the keys of a case design or a node file")


def _is_meant(text: str) -> bool:
    return _DESIGN_KEY.search(text) is not None or _NODES_KEY.search(text) is not None


def _read_json(source: Source) -> ReadFile:
    return _read_cases(source) if source.text.strip() else _empty(source, "cases")


def _read_cases(source: Source) -> ReadFile:
    from opscan.reading.cases import read_cases

    cases = read_cases(source)
    if isinstance(cases, CaseFile):
        return cases
    if isinstance(cases, Fault):
        return _unread(source.path, "cases", cases)
    return Unread(source.path, "other", "a JSON file that is not a list of cases with `inputs`")


def _read_python(source: Source) -> ReadFile:
    from opscan.reading.plugins import read_plugin

    plugin = read_plugin(source)
    if isinstance(plugin, Plugin):
        return plugin
    if isinstance(plugin, Fault):
        return _unread(source.path, "plugin", plugin)
    return Unread(source.path, "other", "a Python file that registers no generator and no executor")


def _empty(source: Source, kind: str) -> Unread:
    fault = Fault("empty-file", "the file is empty; write it or remove it", span_at(source.text, 0, 0))
    return _unread(source.path, kind, fault)


def _undecoded(path: Path, suffix: str, data: bytes, fault: Fault) -> Unread:
    """Whether an undecodable file was meant to be one of ours; other binary files are nobody's business."""
    rough = data.decode("latin-1")
    if suffix == ".json":
        from opscan.reading.cases import looks_like_cases

        meant = looks_like_cases(rough.lstrip("\xef\xbb\xbf")) or rough[:2] in ("\xff\xfe", "\xfe\xff")
    elif suffix == ".py":
        from opscan.reading.plugins import meant_as_plugin

        meant = meant_as_plugin(rough)
    else:
        meant = suffix in _YAML
    if not meant:
        return Unread(path, "other", fault.message)
    kind = "nodes" if suffix in _YAML and _NODES_KEY.search(rough) else _MEANT[suffix]
    return _unread(path, kind, fault)


def _unread(path: Path, kind: str, *faults: Fault) -> Unread:
    first = faults[0]
    where = f"line {first.span.line}, column {first.span.column}: " if first.span else ""
    return Unread(path, kind, where + first.message, faults)
