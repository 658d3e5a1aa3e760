"""The modules that lie beside a plugin and that it imports: their text is followed as the plugin's own is.

What cannot be followed in such a module is told with its file and line, and at the line of the plugin that needs it.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from opscan.shapes.scope import Scope
from opscan.shapes.stops import CannotFollow, PluginRaise
from opscan.shapes.values import FunctionValue, ModuleValue, Poison

if TYPE_CHECKING:
    from opscan.shapes.interpreter import Interpreter
    from opscan.shapes.machine import Machine

MOST_BYTES = 1 << 20
_FILE = "<file>"
"""Under this name the scope of such a module holds what its file is called."""


def neighbour(ev: Interpreter, path: str, folders: Sequence[Path]) -> ModuleValue | Poison | None:
    """The module `path` from the first of the folders that has it, None where none has it."""
    parts = path.split(".")
    if not all(part.isidentifier() for part in parts):
        return None  # a relative import: ATK loads plugins one by one, so there is no package
    for folder in folders:
        for file in (folder.joinpath(*parts).with_suffix(".py"), folder.joinpath(*parts, "__init__.py")):
            if file.is_file():
                return _follow(ev, path, file)
    return None


def _follow(ev: Interpreter, path: str, file: Path) -> ModuleValue | Poison:
    shown = file.name if file.name != "__init__.py" else f"{file.parent.name}/{file.name}"
    scope = Scope()
    scope.names.update({"__name__": path, _FILE: shown})
    module = ModuleValue(path, scope.names, shown)
    ev.modules[path] = module  # modules may import each other
    try:
        if file.stat().st_size > MOST_BYTES:
            return Poison(f"module `{path}` of more than {MOST_BYTES >> 20} MiB")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return Poison(f"module `{path}`, which is no readable Python,")
    at = ev.at
    ev.run_tolerantly(tree.body, scope)
    ev.at = at
    return module


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
