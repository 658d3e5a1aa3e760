"""What must be read besides the files that a user names: their cases, specs, run scripts, node files and plugins.

They are looked for beside each file, in the folders above it up to the root of its project, in the folders of these,
and in the working directory, where `atk` leaves its results. Of folders only names are read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from opscan.model import CaseFile, RunScript, Spec
from opscan.opening.catalog import AnyFile, absolute, path_of
from opscan.opening.commands import Commands, Found, paths_of
from opscan.opening.linking import case_name, stem_of_cases, written_by_atk
from opscan.opening.plugins import BUILT_IN_EXECUTORS, executors_named, mentions
from opscan.reading.files import SCRIPTS, ReadFile, read_file
from opscan.reading.texts import text_of

_LEVELS = 3
"""Folders above a file in which what belongs to it is looked for."""
_MOST_FOLDERS = 64
_MOST_NAMES = 500
"""Scripts of a project, and Python files of a folder that a script names: no more of them are looked at."""
_ROOT_MARKS = frozenset((".git", "pyproject.toml", ".hg", "setup.py"))


def read_beside(files: Sequence[AnyFile]) -> list[ReadFile]:
    """The files that belong to specs and case files among `files` and are not among them, each read once."""
    return _Surroundings(files).read()


class _Surroundings:
    """Looks each folder up once, and reads each file once."""

    def __init__(self, files: Sequence[AnyFile]) -> None:
        self._files = files
        self._read: dict[Path, ReadFile] = {absolute(path_of(file)): file for file in files}
        self._wanted: dict[Path, ReadFile] = {}
        self._listed: dict[Path, tuple[list[str], list[str]]] = {}
        self._found: dict[Path, list[Path]] = {}
        self._texts: dict[Path, str] = {}

    def read(self) -> list[ReadFile]:
        judged = [file for file in self._files if isinstance(file, Spec | CaseFile)]
        scripts = self._scripts({home for file in judged for home in _homes(absolute(path_of(file)))})
        for file in judged:
            self._add_counterparts(file)
        judged += [file for file in self._wanted.values() if isinstance(file, Spec | CaseFile)]
        commands = Commands((*scripts, *self._asked_scripts()), frozenset((*self._read, *self._wanted)))
        for file in judged:
            path = absolute(file.source.path)
            found = commands.naming(path, case_name(path) if isinstance(file, Spec) else path.name)
            for script, command in found:
                self._add(absolute(script.source.path))
                for name in command.node_files:
                    self._add(next((path for path in paths_of(script, command, name) if _is_file(path)), None))
            self._add_plugins(file, found)
        return [self._wanted[path] for path in sorted(self._wanted)]

    def _asked_scripts(self) -> Iterator[RunScript]:
        return (file for file in self._files if isinstance(file, RunScript))

    def _add(self, path: Path | None, kinds: tuple[type, ...] = ()) -> ReadFile | None:
        """Take a file in; one of another kind than wanted is left out."""
        if path is None or path in self._read:
            return self._read.get(path) if path else None
        if path not in self._wanted:
            file = read_file(_as_shown(path))
            if kinds and not isinstance(file, kinds):
                return None
            self._wanted[path] = file
        return self._wanted[path]

    def _scripts(self, folders: Iterable[Path]) -> list[RunScript]:
        """The run scripts of the folders, of those above them and of the folders in these; not taken in yet."""
        places: dict[Path, None] = {}
        for folder in folders:
            places.update(dict.fromkeys(self._places(folder)))
        names = (place / name for place in places for name in self._entries(place)[0] if name.endswith(SCRIPTS))
        paths = (path for path in islice(names, _MOST_NAMES) if path not in self._read)
        return [file for path in paths if isinstance(file := read_file(_as_shown(path)), RunScript)]

    def _add_counterparts(self, file: Spec | CaseFile) -> None:
        """The case file of a spec, the spec of a case file."""
        path = absolute(file.source.path)
        if isinstance(file, Spec):
            name = case_name(path)
            written = Path("result", path.stem, "json", name)
            for place in (path.parent / name, *(base / written for base in (*self._above(path.parent), Path.cwd()))):
                if _is_file(place):
                    self._add(place, (CaseFile,))
            return
        stem = stem_of_cases(path)
        for folder in dict.fromkeys(place for home in _homes(path) for place in self._places(home)):
            for suffix in (".yaml", ".yml"):
                if _is_file(folder / f"{stem}{suffix}"):
                    self._add(folder / f"{stem}{suffix}", (Spec,))

    def _add_plugins(self, file: Spec | CaseFile, commands: Sequence[Found]) -> None:
        names = _names_wanted(file)
        if not names:
            return
        path = absolute(file.source.path)
        places = dict.fromkeys(p for home in _homes(path) for p in self._python(home))
        for script, command in commands:
            for name in command.plugins:
                places.update(dict.fromkeys(self._named(script, command, name)))
        found = [p for p in places if mentions(self._text(p), names)]
        missing = names - set().union(*[_registered(self._add(p)) for p in found])
        if missing:
            # a plugin of another project may have the same name
            rooted = [home for home in _homes(path) if self._is_root(self._above(home)[-1])]
            around = (folder for home in rooted for folder in self._places(home))
            for p in (p for folder in around for p in self._python(folder)):
                if p not in places and any(name in self._text(p) for name in missing):
                    self._add(p)

    def _named(self, script: RunScript, command: object, name: str) -> Iterator[Path]:
        """The Python files that `-p` of a command means: one, or all of a folder."""
        for path in paths_of(script, command, name):  # type: ignore[arg-type]
            if path.suffix == ".py" and _is_file(path):
                yield path
                return
            if path.is_dir():
                yield from (p for p in islice(path.rglob("*.py"), _MOST_NAMES) if _is_file(p))
                return

    def _text(self, path: Path) -> str:
        """The text of a Python file, which many specs of a folder ask for."""
        if path not in self._texts:
            self._texts[path] = text_of(path)
        return self._texts[path]

    def _python(self, folder: Path) -> Iterator[Path]:
        return (folder / name for name in self._entries(folder)[0] if name.endswith(".py"))

    def _places(self, folder: Path) -> list[Path]:
        """A folder, those above it to the root of its project, and the folders in these.

        Where no project has a root within reach, only what its parent holds is near enough.
        """
        if folder not in self._found:
            above = self._above(folder)
            opened = above if self._is_root(above[-1]) else above[:2]
            inside = [base / name for base in opened for name in self._entries(base)[1]]
            self._found[folder] = list(dict.fromkeys((*above, *inside)))
        return self._found[folder]

    def _above(self, folder: Path) -> list[Path]:
        bases, home = [folder], Path(os.path.expanduser("~"))
        for above in folder.parents[:_LEVELS]:
            if self._is_root(bases[-1]) or above in (above.parent, home):
                break
            bases.append(above)
        return bases

    def _is_root(self, folder: Path) -> bool:
        """Whether a project begins here: by what lies in the folder, or because the command was started in it."""
        return folder == Path.cwd() or bool(_ROOT_MARKS & self._all_names(folder))

    def _all_names(self, folder: Path) -> set[str]:
        names, folders = self._entries(folder)
        return {*names, *folders, *(mark for mark in (".git", ".hg") if (folder / mark).exists())}

    def _entries(self, folder: Path) -> tuple[list[str], list[str]]:
        """The names of the scripts, Python files and root marks of a folder, and of the folders in it, sorted."""
        if folder not in self._listed:
            names, folders = [], []
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.name.endswith((".py", ".toml", *SCRIPTS)):
                            names.append(entry.name)
                        elif "." not in entry.name[:1] and entry.is_dir(follow_symlinks=False):
                            folders.append(entry.name)
            except OSError:
                pass
            self._listed[folder] = sorted(names), sorted(folders)[:_MOST_FOLDERS]
        return self._listed[folder]


def _homes(path: Path) -> list[Path]:
    """Where to look from: the folder of a file; for cases as `atk case` leaves them also the one it was started in."""
    return [path.parent, path.parents[3]] if written_by_atk(path) and len(path.parents) > 3 else [path.parent]


def _names_wanted(file: Spec | CaseFile) -> set[str]:
    """The generators and executors that a file needs of plugins."""
    if isinstance(file, CaseFile):
        return executors_named(file)
    return {file.generate, file.api_type} - BUILT_IN_EXECUTORS - {"default"}


def _registered(file: ReadFile | None) -> set[str]:
    return {*getattr(file, "generators", ()), *getattr(file, "executors", ())}


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _as_shown(path: Path) -> Path:
    """The path as a report shows it: from the working directory where it lies below."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path
