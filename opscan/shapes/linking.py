"""Which files of a catalog belong to which spec: case file, plugins, run-script commands, node files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from opscan.dataclass import dataclass
from opscan.model import CaseFile, Command, NodeFile, Plugin, RunScript, Spec, Unread

BUILT_IN_EXECUTORS = frozenset({"function", "aclnn_function", "triton_function", "fusion_function", "dist_function"})

_VARIABLE = re.compile(r"\$\{[^}]*\}|\$\w+|\$\([^)]*\)")
_SCRIPTS = (".sh", ".bash", ".zsh", ".ksh")
_NODE_NAME = re.compile(r"[^\s'\"=]+\.ya?ml\b")
_PLUGIN_NAME = re.compile(r"[^\s'\"=]+\.py\b")
_PLUGIN_FOLDER = re.compile(r"\batk\b(?:[^\n]|\\\n)*?\s(?:-p|--plugin)[ \t=]+['\"]?([^\s'\"=$;|&]+)")
_MOST_PLUGINS = 500
"""Python files of a folder that a script names; there are no more of them in one that is meant."""
_COMPOSED_NAME = re.compile(r"\bregister\(\s*(?:name\s*=\s*)?(?:f['\"]|[^)\n]*\+)")
_TOP_LEVEL = re.compile(r"^(generate|api_type|aclnn_api_type)[ \t]*:[ \t]*['\"]?([^\s'\"#]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Links:
    """The files that belong to one spec. The reasons say why a plugin is missing: none has the name, or several do.

    `executor_there`: a file registers the executor, though none can be used.
    """

    case_file: CaseFile | None = None
    generator: Plugin | None = None
    executor: Plugin | None = None
    commands: tuple[tuple[RunScript, Command], ...] = ()
    node_files: tuple[NodeFile, ...] = ()
    generator_reason: str = ""
    executor_reason: str = ""
    executor_there: bool = False

    @property
    def golden(self) -> Plugin | str | None:
        """Where the golden stands; why it cannot be read, where its plugin is there; None where that is not at hand."""
        return self.executor or (self.executor_reason if self.executor_there else None)


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

    def goldens(self, case_file: CaseFile) -> dict[str, Plugin | str]:
        """Where the goldens of a case file stand, by the executor that its cases name: see `Links.golden`."""
        path, owner = absolute(case_file.source.path), self.owner(case_file)
        found: dict[str, Plugin | str] = {}
        for name in sorted(_executors_named(case_file) - BUILT_IN_EXECUTORS):
            if owner is not None and owner.api_type == name:
                golden = self.links(owner).golden
            else:
                golden = _choose("executor", name, _programs(self.files), path, ()).golden
            if golden is not None:
                found[name] = golden
        return found


def link(files: Sequence[Spec | CaseFile | Plugin | NodeFile | RunScript | Unread]) -> Catalog:
    """Relates the files to each other by their paths and registered names; nothing is read."""
    case_files = {absolute(f.source.path): f for f in files if isinstance(f, CaseFile)}
    node_files = {absolute(f.source.path): f for f in files if isinstance(f, NodeFile)}
    programs = _programs(files)
    known = frozenset(absolute(f.path if isinstance(f, Unread) else f.source.path) for f in files)
    run_commands = _Commands((f for f in files if isinstance(f, RunScript)), known)
    by_spec: dict[Path, Links] = {}
    owners: dict[Path, Spec] = {}
    for spec in (f for f in files if isinstance(f, Spec)):
        path = absolute(spec.source.path)
        commands = run_commands.of(path)
        case_file = next((case_files[p] for p in case_paths(path) if p in case_files), None)
        generator = _choose("generator", spec.generate, programs, path, commands)
        executor = _choose("executor", spec.api_type, programs, path, commands)
        nodes = {id(n): n for s, c in commands for name in c.node_files if (n := _node_file(s, name, node_files))}
        by_spec[path] = Links(
            case_file, generator.plugin, executor.plugin, commands, tuple(nodes.values()),
            generator.reason, executor.reason, executor.there,
        )  # fmt: skip
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
    siblings = _programs_beside(path)
    python = {p for p in siblings if p.suffix == ".py"}
    for script in (p for p in siblings if p.suffix in _SCRIPTS):
        found.add(script)
        text = _read(script)
        named = {absolute(script.parent / name) for name in _PLUGIN_NAME.findall(text) if "$" not in name}
        python |= {p for p in named if p.is_file()}
        for name in _PLUGIN_FOLDER.findall(text) if names else ():
            folder = absolute(script.parent / name)
            python.update(islice(folder.rglob("*.py"), _MOST_PLUGINS) if folder.is_dir() else ())
        for name in _NODE_NAME.findall(text):
            node_path = absolute(script.parent / name)
            if "$" not in name and node_path.is_file() and re.search(r"^nodes\s*:", _read(node_path), re.MULTILINE):
                found.add(node_path)
    found |= {p for p in python if names and _mentions(_read(p), names)}
    return sorted(found - {path})


def _programs_beside(path: Path) -> list[Path]:
    """The Python files and scripts in the folder of a file, sorted; the folder may hold thousands of specs."""
    try:
        with os.scandir(path.parent) as entries:
            names = sorted(e.name for e in entries if e.name.endswith((".py", *_SCRIPTS)) and e.is_file())
    except OSError:
        return []
    return [path.parent / name for name in names]


def executor_companions(case_file: CaseFile) -> list[Path]:
    """The Python files beside a case file, and beside the spec it was generated from, that mention an executor its
    cases name, sorted."""
    names = _executors_named(case_file) - BUILT_IN_EXECUTORS
    if not names:
        return []
    path = absolute(case_file.source.path)
    folders = [path.parent]
    if path.parts[-4:-3] == ("result",) and path.parent.name == "json":
        folders.append(path.parents[3])
    siblings = [p for folder in folders for p in _programs_beside(folder / path.name) if p.suffix == ".py"]
    return [p for p in siblings if _mentions(_read(p), names)]


def _executors_named(case_file: CaseFile) -> set[str]:
    from opscan.reading.case_table import CaseTable

    cases = case_file.cases
    return {case.api_type for case in (cases.frames() if isinstance(cases, CaseTable) else cases)}


def _mentions(text: str, names: Iterable[str]) -> bool:
    """Whether a Python file may register one of the names, perhaps put together by an f-string or `+`."""
    return any(name in text for name in names) or _COMPOSED_NAME.search(text) is not None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _programs(files: Iterable[object]) -> list[Plugin | Unread]:
    """The plugins, and what was meant as one."""
    return [f for f in files if isinstance(f, Plugin) or (isinstance(f, Unread) and f.kind == "plugin")]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The plugin for a registered name, or why there is none. `there`: at least one file registers it."""

    plugin: Plugin | None = None
    reason: str = ""
    there: bool = False

    @property
    def golden(self) -> Plugin | str | None:
        return self.plugin or (self.reason if self.there else None)


def _choose(
    role: str,
    name: str,
    programs: Sequence[Plugin | Unread],
    spec_path: Path,
    commands: Sequence[tuple[RunScript, Command]],
) -> _Chosen:
    """The plugin for a registered name: of the spec's folder, of its run scripts, or the only one anywhere."""
    if name in (BUILT_IN_EXECUTORS if role == "executor" else ("default",)):
        return _Chosen()
    named = [p for p in programs if isinstance(p, Plugin) and name in getattr(p, f"{role}s")]
    local = [p for p in named if absolute(p.source.path).parent == spec_path.parent]
    scripted = [p for p in named if any(_loads(s, c, absolute(p.source.path)) for s, c in commands)]
    both = [p for p in local if p in scripted]
    for group in (local if len(local) == 1 else both, scripted if not local else [], named if not local else []):
        if len(group) == 1:
            return _Chosen(group[0], there=True)
    if named:
        listed = ", ".join(sorted(p.source.path.as_posix() for p in (local or named)[:3]))
        reason = f"{role} `{name}` is registered by {len(local or named)} plugins: {listed}"
        return _Chosen(reason=reason, there=True)
    missing = f"{role} `{name}` is not in any plugin beside the spec"
    for file in programs:
        if isinstance(file, Unread) and _may_register(file, name, spec_path, commands):
            line = next((fault.span.line for fault in file.faults if fault.span), 1)
            message = file.faults[0].message if file.faults else file.reason
            return _Chosen(reason=f"{missing}: {file.path.as_posix()}:{line}: {message}", there=True)
    return _Chosen(reason=missing)


def _may_register(file: Unread, name: str, spec_path: Path, commands: Iterable[tuple[RunScript, Command]]) -> bool:
    """Whether a plugin that cannot be read is meant for the spec, and speaks of the name."""
    path = absolute(file.path)
    near = path.parent == spec_path.parent or any(_loads(script, command, path) for script, command in commands)
    return near and _mentions(_read(path), (name,))


def _loads(script: RunScript, command: Command, plugin_path: Path) -> bool:
    """Whether `-p` of a command names the plugin's file or a folder above it."""
    return any(
        plugin_path == (given := absolute(script.source.path.parent / name)) or given in plugin_path.parents
        for name in command.plugins
        if not _VARIABLE.search(name)
    )


class _Commands:
    """The commands of all run scripts, found by the spec whose cases they generate or run.

    A shell variable in a name stands for any text, but then only for specs of the script's folder and below. A path
    that leads to no known file (the script changes its folder first) counts by its last part beside the script.
    """

    def __init__(self, scripts: Iterable[RunScript], known: frozenset[Path]) -> None:
        self._commands = [(script, command) for script in scripts for command in script.commands]
        self._exact: dict[Path, list[int]] = {}
        self._loose: list[tuple[Path, str, int]] = []
        for number, (script, command) in enumerate(self._commands):
            folder = absolute(script.source.path).parent
            for name in command.files:
                pattern = _VARIABLE.sub("*", name)
                base = pattern.replace("\\", "/").rsplit("/", 1)[-1]
                if any(c in pattern for c in "*?"):
                    self._loose.append((folder, base, number))
                    continue
                wanted = absolute(folder / pattern)
                self._exact.setdefault(wanted, []).append(number)
                if wanted not in known:
                    self._exact.setdefault(folder / base, []).append(number)

    def of(self, spec_path: Path) -> tuple[tuple[RunScript, Command], ...]:
        """The commands that concern a spec, in the order in which they stand."""
        written, beside = case_paths(spec_path)
        found = {n for path in (spec_path, written, beside) for n in self._exact.get(path, ())}
        for folder, base, number in self._loose:
            below = folder == spec_path.parent or folder in spec_path.parents
            if below and (fnmatchcase(spec_path.name, base) or fnmatchcase(beside.name, base)):
                found.add(number)
        return tuple(self._commands[n] for n in sorted(found))


def _node_file(script: RunScript, name: str, node_files: Mapping[Path, NodeFile]) -> NodeFile | None:
    folder = absolute(script.source.path).parent
    exact = node_files.get(absolute(folder / name))
    if exact is not None:
        return exact
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    same = [n for p, n in node_files.items() if p.name == base and (p.parent == folder or folder in p.parents)]
    return same[0] if len(same) == 1 else None
