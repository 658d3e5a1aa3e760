"""What a file is, told by its content, and which files lie below the paths a user names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from opscan.model import CaseFile, Fault, NodeFile, Plugin, RunScript, Source, Spec, Unread
from opscan.reading.positions import span_at
from opscan.reading.specs import is_design, read_spec
from opscan.reading.stored import LARGE, stored_source
from opscan.reading.texts import decode, decode_python, load_bytes
from opscan.reading.values import read_tree

ReadFile = Spec | CaseFile | Plugin | NodeFile | RunScript | Unread

_YAML = frozenset((".yaml", ".yml"))
_SHELL = frozenset((".sh", ".bash", ".zsh", ".ksh"))
_SUFFIXES = _YAML | _SHELL | {".json", ".py"}
_MEANT = {".yaml": "spec", ".yml": "spec", ".json": "cases", ".py": "plugin"}
_SKIPPED_FOLDERS = frozenset(("__pycache__", "node_modules"))
_NODES_KEY = re.compile(r"^\s*nodes\s*:", re.MULTILINE)
_DESIGN_KEY = re.compile(r"^\s*[\"']?(?:inputs|standard|aclnn_name|api_type|dtype_numbers)[\"']?\s*:", re.MULTILINE)


def read_file(path: Path, shown: str | None = None) -> ReadFile:
    """What a file holds. Bad input never raises: it gives an `Unread` with the reason and its faults.

    `shown` is how messages name the file; by default its path.
    """
    label = shown if shown is not None else str(path)
    suffix = path.suffix.lower()
    if suffix == ".json" and (large := _read_large_json(path)) is not None:
        return large
    data = load_bytes(path, label)
    if isinstance(data, Fault):
        return _unread(path, _MEANT.get(suffix, "other"), data)
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


def discover(paths: Sequence[Path]) -> tuple[list[Path], list[Unread]]:
    """The files to read, sorted within each folder and without repeats, and the paths that do not exist.

    A file that is named is always there; below a folder only files that may be one of ours, and no hidden folder,
    virtual environment or cache.
    """
    found: dict[Path, None] = {}
    missing: list[Unread] = []
    for path in paths:
        try:
            is_folder, exists = path.is_dir(), path.exists()
        except (OSError, ValueError):
            is_folder, exists = False, False
        if is_folder:
            found.update(dict.fromkeys(_below(path)))
        elif exists:
            found[path] = None
        else:
            fault = Fault("missing-path", f"no such file or folder: {path}; check the path")
            missing.append(_unread(path, _MEANT.get(path.suffix.lower(), "other"), fault))
    return list(found), missing


def _below(folder: Path) -> Iterator[Path]:
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if _is_entered(Path(base, name)))
        for name in sorted(names):
            path = Path(base, name)
            if not name.startswith(".") and (path.suffix.lower() in _SUFFIXES or _has_shebang(path)):
                yield path


def _is_entered(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in _SKIPPED_FOLDERS:
        return False
    return not (folder / "pyvenv.cfg").exists()


def _has_shebang(path: Path) -> bool:
    """Scripts often have no suffix; two bytes tell them from a README."""
    if path.suffix:
        return False
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


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


def _read_large_json(path: Path) -> ReadFile | None:
    """A JSON file that is read in pieces; None for a small one, and where the whole must tell what is wrong."""
    try:
        if not path.is_file() or path.stat().st_size < LARGE:
            return None
        return _read_cases(stored_source(path))
    except (OSError, ValueError):
        return None


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
