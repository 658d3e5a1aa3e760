"""Which files of a catalog belong to which spec: case file, plugins, run-script commands, node files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from opscan.model import CaseFile, Command, NodeFile, Plugin, RunScript, Spec, Unread

BUILT_IN_EXECUTORS = frozenset({"function", "aclnn_function", "triton_function", "fusion_function", "dist_function"})

_VARIABLE = re.compile(r"\$\{[^}]*\}|\$\w+|\$\([^)]*\)")
_SCRIPTS = (".sh", ".bash", ".bat")
_NODE_NAME = re.compile(r"[^\s'\"=]+\.ya?ml\b")
_PLUGIN_NAME = re.compile(r"[^\s'\"=]+\.py\b")
_TOP_LEVEL = re.compile(r"^(generate|api_type|aclnn_api_type)[ \t]*:[ \t]*['\"]?([^\s'\"#]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Links:
    """The files that belong to one spec. The reasons say why a plugin is missing: none has the name, or several do."""

    case_file: CaseFile | None = None
    generator: Plugin | None = None
    executor: Plugin | None = None
    commands: tuple[tuple[RunScript, Command], ...] = ()
    node_files: tuple[NodeFile, ...] = ()
    generator_reason: str = ""
    executor_reason: str = ""


@dataclass(frozen=True, slots=True)
class Catalog:
    """All files that were read together, and the links of each spec by its path."""

    files: tuple[Spec | CaseFile | Plugin | NodeFile | RunScript | Unread, ...]
    by_spec: Mapping[Path, Links] = field(default_factory=dict)
    spec_of_cases: Mapping[Path, Spec] = field(default_factory=dict)

    def links(self, spec: Spec) -> Links:
        """The links of a spec; empty where the spec is not of this catalog."""
        return self.by_spec.get(absolute(spec.source.path), Links())

    def owner(self, case_file: CaseFile) -> Spec | None:
        """The spec a case file was generated from, None where no spec of the catalog claims it."""
        return self.spec_of_cases.get(absolute(case_file.source.path))


def link(files: Sequence[Spec | CaseFile | Plugin | NodeFile | RunScript | Unread]) -> Catalog:
    """Relates the files to each other by their paths and registered names; nothing is read."""
    case_files = {absolute(f.source.path): f for f in files if isinstance(f, CaseFile)}
    node_files = {absolute(f.source.path): f for f in files if isinstance(f, NodeFile)}
    plugins = [f for f in files if isinstance(f, Plugin)]
    scripts = [f for f in files if isinstance(f, RunScript)]
    by_spec: dict[Path, Links] = {}
    owners: dict[Path, Spec] = {}
    for spec in (f for f in files if isinstance(f, Spec)):
        path = absolute(spec.source.path)
        commands = tuple((s, c) for s in scripts for c in s.commands if _concerns(s, c, path))
        case_file = next((case_files[p] for p in case_paths(path) if p in case_files), None)
        generator, generator_reason = None, ""
        if spec.generate != "default":
            named = [p for p in plugins if spec.generate in p.generators]
            generator, generator_reason = _choose(f"generator `{spec.generate}`", named, path, commands)
        executor, executor_reason = None, ""
        if spec.api_type not in BUILT_IN_EXECUTORS:
            named = [p for p in plugins if spec.api_type in p.executors]
            executor, executor_reason = _choose(f"executor `{spec.api_type}`", named, path, commands)
        nodes = {id(n): n for s, c in commands for name in c.node_files if (n := _node_file(s, name, node_files))}
        by_spec[path] = Links(
            case_file, generator, executor, commands, tuple(nodes.values()), generator_reason, executor_reason
        )
        if case_file is not None:
            owners[absolute(case_file.source.path)] = spec
    return Catalog(tuple(files), by_spec, owners)


def absolute(path: Path) -> Path:
    """The path by which files are compared: absolute and normal, symbolic links kept."""
    return Path(os.path.abspath(path))


def case_paths(spec_path: Path) -> tuple[Path, Path]:
    """Where the case file of a spec stands: where ATK writes it, else beside the spec."""
    name = f"all_{spec_path.stem}.json"
    return spec_path.parent / "result" / spec_path.stem / "json" / name, spec_path.parent / name


def companions(spec_path: Path) -> list[Path]:
    """The files one must read besides a single spec: its case file, the scripts of its folder, the node files and
    plugins they name, and the Python files of its folder that mention its generator or executor.

    Only texts are searched here; a file that cannot be read is left out. Paths come sorted, without `spec_path`.
    """
    path = absolute(spec_path)
    found = {p for p in case_paths(path) if p.is_file()}
    names = {name for _, name in _TOP_LEVEL.findall(_read(path))} - BUILT_IN_EXECUTORS - {"default"}
    try:
        siblings = sorted(p for p in path.parent.iterdir() if p.is_file())
    except OSError:
        siblings = []
    python = {p for p in siblings if p.suffix == ".py"}
    for script in (p for p in siblings if p.suffix in _SCRIPTS):
        found.add(script)
        text = _read(script)
        named = {absolute(script.parent / name) for name in _PLUGIN_NAME.findall(text) if "$" not in name}
        python |= {p for p in named if p.is_file()}
        for name in _NODE_NAME.findall(text):
            node_path = absolute(script.parent / name)
            if "$" not in name and node_path.is_file() and re.search(r"^nodes\s*:", _read(node_path), re.MULTILINE):
                found.add(node_path)
    found |= {p for p in python if names and any(name in text for text in [_read(p)] for name in names)}
    return sorted(found - {path})


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _choose(
    what: str, named: list[Plugin], spec_path: Path, commands: Iterable[tuple[RunScript, Command]]
) -> tuple[Plugin | None, str]:
    """The plugin for a registered name: of the spec's folder, of its run scripts, or the only one anywhere."""
    if not named:
        return None, f"{what} is not in any plugin beside the spec"
    local = [p for p in named if absolute(p.source.path).parent == spec_path.parent]
    scripted = [p for p in named if any(_loads(s, c, absolute(p.source.path)) for s, c in commands)]
    both = [p for p in local if p in scripted]
    for group in (local if len(local) == 1 else both, scripted if not local else [], named if not local else []):
        if len(group) == 1:
            return group[0], ""
    listed = ", ".join(sorted(p.source.path.as_posix() for p in (local or named)[:3]))
    return None, f"{what} is registered by {len(local or named)} plugins: {listed}"


def _loads(script: RunScript, command: Command, plugin_path: Path) -> bool:
    """Whether `-p` of a command names the plugin's file or a folder above it."""
    return any(
        plugin_path == (given := absolute(script.source.path.parent / name)) or given in plugin_path.parents
        for name in command.plugins
        if not _VARIABLE.search(name)
    )


def _concerns(script: RunScript, command: Command, spec_path: Path) -> bool:
    """Whether a command generates or runs the cases of a spec. A shell variable in a name stands for any text, but then
    only for specs of the script's folder and below."""
    folder = absolute(script.source.path).parent
    for name in command.files:
        pattern = _VARIABLE.sub("*", name)
        wanted = absolute(folder / pattern)
        if wanted == spec_path or wanted in case_paths(spec_path):
            return True
        below = folder == spec_path.parent or folder in spec_path.parents
        loose = any(c in pattern for c in "*?")
        base = pattern.replace("\\", "/").rsplit("/", 1)[-1]
        for own in (spec_path.name, f"all_{spec_path.stem}.json"):
            if below and loose and fnmatchcase(own, base):
                return True
            if not loose and own == base and not wanted.exists() and folder == spec_path.parent:
                return True
    return False


def _node_file(script: RunScript, name: str, node_files: Mapping[Path, NodeFile]) -> NodeFile | None:
    folder = absolute(script.source.path).parent
    exact = node_files.get(absolute(folder / name))
    if exact is not None:
        return exact
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    same = [n for p, n in node_files.items() if p.name == base and (p.parent == folder or folder in p.parents)]
    return same[0] if len(same) == 1 else None
