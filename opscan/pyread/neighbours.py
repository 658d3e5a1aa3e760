"""The modules that lie near a plugin and that it imports: their text is followed as the plugin's own is.

They are looked for in `sys.path` as the plugin has it: beside the plugin, in the folders of the settings, and in those
that the plugin adds where these lie near it; then in the folders above, from one of which ATK may have been started.

What cannot be followed in such a module is told with its file and line, and at the line of the plugin that needs it.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from opscan.pyread.files import is_near
from opscan.pyread.scope import Scope
from opscan.pyread.stops import CannotFollow, PluginRaise
from opscan.pyread.values import FunctionValue, ModuleValue, Poison

if TYPE_CHECKING:
    from opscan.pyread.interpreter import Interpreter
    from opscan.pyread.machine import Machine

MOST_BYTES = 1 << 20
_ABOVE = 5
_FILE = "<file>"
"""Under this name the scope of such a module holds what its file is called."""


def neighbour(ev: Interpreter, path: str) -> ModuleValue | Poison | None:
    """The module `path` from the first folder that has it, None where none has it."""
    folders = _folders(ev)
    file = file_of_module(path, folders)
    if file is None and any(_folder(path, folder) is not None for folder in folders):
        return ModuleValue(path, {}, path)  # a package without `__init__.py`
    if file is None:
        above = [found for folder in folders_above(Path(ev.file)) if (found := file_of_module(path, (folder,)))]
        if len(above) > 1:
            return Poison(f"module `{path}`, which lies in {len(above)} of the folders above,")
        file = above[0] if above else None
    if file is None:
        return None
    ev.read.add(file)
    return _follow(ev, path, file)


def folders_above(plugin: Path) -> list[Path]:
    """The folders above a plugin's own in which packages may lie that it imports."""
    return list(plugin.parent.parents)[:_ABOVE]


def _folders(ev: Interpreter) -> list[Path]:
    """`sys.path` as far as it may be looked at; a relative entry means the folder in which ATK runs, which is open."""
    found = []
    for entry in ev.search:
        text = entry if type(entry) is str else ""
        if os.path.isabs(text) and (text in ev.searched or is_near(ev, text)):
            found.append(Path(text))
    return found


def file_of_module(path: str, folders: Sequence[Path]) -> Path | None:
    """The file of the module `path` in the first of the folders that has it.

    None for a relative import of a plugin too: ATK loads plugins one by one, so there is no package.
    """
    parts = path.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    for folder in folders:
        for file in (folder.joinpath(*parts).with_suffix(".py"), folder.joinpath(*parts, "__init__.py")):
            if file.is_file():
                return file
    return None


def _folder(path: str, above: Path) -> Path | None:
    """The folder of the package `path`, where there is one that holds Python files."""
    folder = above.joinpath(*path.split("."))
    return folder if path.replace(".", "").isidentifier() and any(folder.glob("*.py")) else None


def absolute_name(level: int, path: str, scope: Scope) -> str:
    """What a relative import of a neighbouring module means; dots as they stand for one of the plugin itself."""
    file = scope.module.names.get(_FILE)
    if not level or file is None:
        return "." * level + path
    package = str(scope.module.names["__name__"]).split(".")
    above = level - str(file).endswith("/__init__.py")
    package = package[: len(package) - above] if above else package
    return ".".join([*package, path] if path else package)


def imported_files(text: str, folders: Sequence[Path], most: int = 64) -> list[Path]:
    """The neighbouring files whose text can decide what a plugin with this text does, its imports' imports among them.

    More than are followed: an import counts wherever it stands.
    """
    found: dict[Path, None] = {}
    waiting = [("", text)]
    while waiting and len(found) < most:
        package, text = waiting.pop()
        for names in map(_imported_names, _IMPORT.finditer(text)):
            wanted = (*names, *(f"{package}.{name}" for name in names if package))
            for name, folder in product(wanted, folders):
                file = file_of_module(name, (folder,))
                if file is not None and file not in found:
                    found[file] = None
                    above = name if file.name == "__init__.py" else name.rpartition(".")[0]
                    waiting.append((above, _text(file)))
    return list(found)


READS_FILES = re.compile(r"\b(?:open|read_text|exists|isfile|isdir|is_file|is_dir)\b|sys\.path")
"""What a text says that may read other files than its imports name."""
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+\.*([\w.]*)[ \t]+)?import[ \t]+(\([^)]*\)|[^\n;]*)", re.MULTILINE)


def _imported_names(match: re.Match[str]) -> list[str]:
    """The modules that an import statement can load: the one it names, those above it, and what it takes of it."""
    above = match[1] or ""
    taken = [part.split()[0] for part in match[2].strip("()").replace("\n", " ").split(",") if part.split()]
    names = [above, *(f"{above}.{name}" if above else name for name in taken)]
    return list(dict.fromkeys(".".join(n.split(".")[:k]) for n in names if n for k in range(1, n.count(".") + 2)))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace") if file.stat().st_size <= MOST_BYTES else ""
    except OSError:
        return ""


def _follow(ev: Interpreter, path: str, file: Path) -> ModuleValue | Poison:
    shown = file.name if file.name != "__init__.py" else f"{file.parent.name}/{file.name}"
    scope = Scope()
    scope.names.update({"__name__": path, "__file__": str(file), _FILE: shown})
    module = ModuleValue(path, scope.names, shown)
    ev.modules[path] = module  # modules may import each other
    try:
        if file.stat().st_size > MOST_BYTES:
            return Poison(f"module `{path}` of more than {MOST_BYTES >> 20} MiB")
        tree = _parsed(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return Poison(f"module `{path}`, which is no readable Python,")
    at = ev.at
    ev.run_tolerantly(tree.body, scope)
    ev.at = at
    return module


@lru_cache(maxsize=64)
def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def file_of(function: FunctionValue) -> str:
    """The neighbouring file that a function stands in; empty for the plugin itself."""
    return str(function.scope.module.names.get(_FILE, ""))


@contextmanager
def told_from_outside(ev: Machine, function: FunctionValue) -> Iterator[None]:
    """What stops a function of another file is told at the line that calls it, and where in its file it stands."""
    file, at = file_of(function), ev.at
    if not file:
        yield
        return
    try:
        yield
    except CannotFollow as stop:
        if stop.file is None:
            stop.construct = f"{stop.construct} in {file}:{stop.line or ev.line}"
            stop.file = file
        stop.line, stop.column = getattr(at, "lineno", 0), 0
        raise
    except PluginRaise as error:
        error.line = getattr(at, "lineno", 0)
        raise
