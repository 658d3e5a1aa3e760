"""Which files of a catalog belong together: case file and spec, plugins, run-script commands, node files, scenario."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from opscan.model import CaseFile, NodeFile, RunScript, Spec
from opscan.opening.catalog import AnyFile, CaseLinks, Catalog, Links, absolute, apart, path_of
from opscan.opening.commands import Commands, Found, paths_of
from opscan.opening.plugins import choose, executors_named, programs_of
from opscan.opening.scenarios import of_cases, of_spec


def link(files: Sequence[AnyFile]) -> Catalog:
    """Relates the files to each other by their paths, names and contents; nothing is read."""
    linking = _Linking(files)
    specs = {absolute(f.source.path): f for f in files if isinstance(f, Spec)}
    by_spec = {path: linking.of_spec(path, spec) for path, spec in specs.items()}
    by_case_file = {absolute(f.source.path): linking.of_cases(f, by_spec) for f in files if isinstance(f, CaseFile)}
    return Catalog(tuple(files), by_spec, by_case_file)


def case_name(spec_path: Path) -> str:
    """What `atk case` calls the case file of a spec."""
    return f"all_{spec_path.stem}.json"


def stem_of_cases(path: Path) -> str:
    """The stem of the spec that a case file is named after."""
    return path.stem.removeprefix("all_")


def written_by_atk(path: Path) -> bool:
    """Whether a case file lies as `atk case` leaves it: `<stem>/json/all_<stem>.json`."""
    return path.parent.name == "json" and path.name == f"all_{path.parent.parent.name}.json"


class _Linking:
    """What is looked up for every spec and case file."""

    def __init__(self, files: Sequence[AnyFile]) -> None:
        self._known = frozenset(absolute(path_of(f)) for f in files)
        self._programs = programs_of(files)
        self._nodes = {absolute(f.source.path): f for f in files if isinstance(f, NodeFile)}
        self._commands = Commands((f for f in files if isinstance(f, RunScript)), self._known)
        self._specs: dict[str, list[Spec]] = defaultdict(list)
        self._cases: dict[str, list[CaseFile]] = defaultdict(list)
        for file in files:
            if isinstance(file, Spec):
                self._specs[file.source.path.stem].append(file)
            elif isinstance(file, CaseFile):
                self._cases[file.source.path.name].append(file)
        self._owned = self._owners()

    def _owners(self) -> Mapping[Path, Spec]:
        """The spec of each case file that has one."""
        owned = {}
        for files in self._cases.values():
            for file in files:
                spec = self._owner(file)
                if spec is not None:
                    owned[absolute(file.source.path)] = spec
        return owned

    def _owner(self, file: CaseFile) -> Spec | None:
        """The spec that is named as the case file says and tests the operator of its cases; of several the nearest."""
        path = absolute(file.source.path)
        fitting = [spec for spec in self._specs.get(stem_of_cases(path), ()) if _is_of(file, spec)]
        if len(fitting) < 2:
            return fitting[0] if fitting else None
        ranked = sorted(fitting, key=lambda spec: apart(absolute(spec.source.path), path))
        near, next_near = (apart(absolute(spec.source.path), path) for spec in ranked[:2])
        return ranked[0] if near < next_near else None

    def of_spec(self, path: Path, spec: Spec) -> Links:
        case_file = self._case_file(path, spec)
        same = (absolute(other.source.path) for other in self._specs[path.stem] if other is not spec)
        commands = self._commands.naming(path, case_name(path), tuple(same))
        if case_file is not None:
            own = self._commands.naming(absolute(case_file.source.path))
            commands = (*commands, *(found for found in own if found not in commands))
        generator = choose("generator", spec.generate, self._programs, path, commands)
        executor = choose("executor", spec.api_type, self._programs, path, commands)
        nodes = self._nodes_of(commands)
        return Links(
            case_file, generator.plugin, executor.plugin, commands, nodes, generator.reason, executor.reason,
            executor.there, of_spec(spec, commands, nodes, self._beside(path)),
        )  # fmt: skip

    def _case_file(self, path: Path, spec: Spec) -> CaseFile | None:
        """Where ATK writes it, else beside the spec, else wherever it was moved to."""
        own = [f for f in self._cases.get(case_name(path), ()) if self._owned.get(absolute(f.source.path)) is spec]
        return min(own, key=lambda f: _order(absolute(f.source.path), path), default=None)

    def of_cases(self, file: CaseFile, by_spec: Mapping[Path, Links]) -> CaseLinks:
        path = absolute(file.source.path)
        owner = self._owned.get(path)
        links = by_spec[absolute(owner.source.path)] if owner else Links()
        commands = self._commands.naming(path, path.name)
        scenarios = of_cases(file, commands, self._nodes_of(commands), links.scenarios if owner else None)
        unowned = ""
        if owner is None and scenarios.source is None and written_by_atk(path):
            unowned = self._why_unowned(path)
        goldens = {}
        for name in sorted(executors_named(file)):
            if owner is not None and owner.api_type == name:
                golden = links.golden
            else:
                golden = choose("executor", name, self._programs, path, commands).golden
            if golden is not None:
                goldens[name] = golden
        return CaseLinks(owner, scenarios, goldens, unowned)

    def _why_unowned(self, path: Path) -> str:
        stem = stem_of_cases(path)
        same = self._specs.get(stem, ())
        if not same:
            return f"neither its spec {stem}.yaml nor a run script that names {path.name} was found"
        listed = ", ".join(spec.source.path.as_posix() for spec in same[:3])
        if len(same) > 1:
            return f"several specs could have generated it: {listed}"
        return f"its cases are of another operator than {listed}"

    def _nodes_of(self, commands: Sequence[Found]) -> tuple[NodeFile, ...]:
        found = (self._node_file(one, name) for one in commands for name in one[1].node_files)
        return tuple({id(file): file for file in found if file is not None}.values())

    def _node_file(self, found: Found, name: str) -> NodeFile | None:
        script, command = found
        exact = next((self._nodes[path] for path in paths_of(script, command, name) if path in self._nodes), None)
        if exact is not None:
            return exact
        base, folder = name.replace("\\", "/").rsplit("/", 1)[-1], absolute(script.source.path).parent
        same = [n for p, n in self._nodes.items() if p.name == base and (p.parent == folder or folder in p.parents)]
        return same[0] if len(same) == 1 else None

    def _beside(self, path: Path) -> list[NodeFile]:
        return [file for place, file in self._nodes.items() if place.parent == path.parent]


def _is_of(file: CaseFile, spec: Spec) -> bool:
    """Whether some case is of the operator that the spec tests; an empty file is of any."""
    from opscan.reading.case_table import CaseTable

    cases = file.cases
    frames = list(cases.frames()) if isinstance(cases, CaseTable) else list(cases)
    return not frames or any(
        (case.name, case.aclnn_name) == (spec.name, spec.aclnn_name)
        or (case.name is not None and case.name == spec.name)
        or (case.name is None and case.aclnn_name == spec.aclnn_name)
        for case in frames
    )


def _order(cases: Path, spec: Path) -> tuple[bool, int]:
    return not written_by_atk(cases), apart(cases, spec)
