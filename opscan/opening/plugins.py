"""Which plugin registers the generator or the executor that a spec or a case names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from opscan.dataclass import dataclass
from opscan.model import CaseFile, Plugin, Unread
from opscan.opening.catalog import absolute
from opscan.opening.commands import Found, paths_of
from opscan.reading.texts import text_of

BUILT_IN_EXECUTORS = frozenset({"function", "aclnn_function", "triton_function", "fusion_function", "dist_function"})
_COMPOSED_NAME = re.compile(r"\bregister\(\s{0,20}(?:name\s{0,5}=\s{0,5})?(?:f['\"]|[^)\n+]{0,200}\+)")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The plugin for a registered name, or why there is none. `there`: at least one file registers it."""

    plugin: Plugin | None = None
    reason: str = ""
    there: bool = False

    @property
    def golden(self) -> Plugin | str | None:
        return self.plugin or (self.reason if self.there else None)


def choose(role: str, name: str, programs: Sequence[Plugin | Unread], path: Path, commands: Sequence[Found]) -> Chosen:
    """The plugin for a registered name: of the folder of the spec at `path`, of its scripts, or the only one."""
    if name in (BUILT_IN_EXECUTORS if role == "executor" else ("default",)):
        return Chosen()
    named = [p for p in programs if isinstance(p, Plugin) and name in getattr(p, f"{role}s")]
    local = [p for p in named if absolute(p.source.path).parent == path.parent]
    scripted = [p for p in named if any(_loads(found, absolute(p.source.path)) for found in commands)]
    both = [p for p in local if p in scripted]
    for group in (local if len(local) == 1 else both, scripted if not local else [], named if not local else []):
        if len(group) == 1:
            return Chosen(group[0], there=True)
    if named:
        listed = ", ".join(sorted(p.source.path.as_posix() for p in (local or named)[:3]))
        reason = f"{role} `{name}` is registered by {len(local or named)} plugins: {listed}"
        return Chosen(reason=reason, there=True)
    missing = f"{role} `{name}` is not in any plugin beside the spec"
    for file in programs:
        if isinstance(file, Unread) and _may_register(file, name, path, commands):
            line = next((fault.span.line for fault in file.faults if fault.span), 1)
            message = file.faults[0].message if file.faults else file.reason
            return Chosen(reason=f"{missing}: {file.path.as_posix()}:{line}: {message}", there=True)
    return Chosen(reason=missing)


def programs_of(files: Iterable[object]) -> list[Plugin | Unread]:
    """The plugins, and what was meant as one."""
    return [f for f in files if isinstance(f, Plugin) or (isinstance(f, Unread) and f.kind == "plugin")]


def executors_named(case_file: CaseFile) -> set[str]:
    """The executors of plugins that the cases name."""
    from opscan.reading.case_table import CaseTable

    cases = case_file.cases
    named = {case.api_type for case in (cases.frames() if isinstance(cases, CaseTable) else cases)}
    return named - BUILT_IN_EXECUTORS


def mentions(text: str, names: Iterable[str]) -> bool:
    """Whether a Python file may register one of the names, perhaps put together by an f-string or `+`."""
    return any(name in text for name in names) or _COMPOSED_NAME.search(text) is not None


def _may_register(file: Unread, name: str, path: Path, commands: Iterable[Found]) -> bool:
    """Whether a plugin that cannot be read is meant for the spec, and speaks of the name."""
    place = absolute(file.path)
    near = place.parent == path.parent or any(_loads(found, place) for found in commands)
    return near and mentions(text_of(place), (name,))


def _loads(found: Found, plugin_path: Path) -> bool:
    """Whether `-p` of a command names the plugin's file or a folder above it."""
    script, command = found
    return any(
        given == plugin_path or given in plugin_path.parents
        for name in command.plugins
        if "*" not in name
        for given in list(paths_of(script, command, name))[:2]
    )
