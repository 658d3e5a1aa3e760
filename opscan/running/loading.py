"""Inside the sandbox: import a plugin file, and say in words what went wrong with it, and at which line."""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import sys
import traceback
from types import ModuleType

from opscan.running.isolation import Watch
from opscan.running.messages import Bounds, Trouble

_PATH = re.compile(r" \((?:/|[A-Za-z]:|unknown)[^)]*\)$")


class Failed(Exception):
    """The plugin cannot be run; `trouble` says why."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.message)
        self.trouble = trouble


def load(path: str, watch: Watch, bounds: Bounds) -> ModuleType:
    """The module of a plugin file; its folder is on the path, and those of the bounds at its end. Raises Failed."""
    name = os.path.splitext(os.path.basename(path))[0]
    if not name.isidentifier() or name in sys.modules or name in sys.stdlib_module_names:
        name = "plugin"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Failed(Trouble("plugin-run-failed", "is no Python file", path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(path))
    sys.path.extend(bounds.folders)
    try:
        spec.loader.exec_module(module)
    except BaseException as problem:
        raise failure(problem, watch, bounds) from None
    return module


def failure(problem: BaseException, watch: Watch, bounds: Bounds) -> Failed:
    """What an exception of the plugin means, with the innermost line of the plugin's folder."""
    if isinstance(problem, Failed):
        return problem
    file, line = _place(problem, watch)
    if isinstance(problem, MemoryError):
        return Failed(Trouble("plugin-stopped", f"needs more than {bounds.mebibytes} MiB", file, line))
    if isinstance(problem, SystemExit):
        return Failed(Trouble("plugin-stopped", f"calls sys.exit({problem.code!r})", file, line))
    missing = _missing_name(problem)
    if missing:
        return Failed(Trouble("atk-name-missing", f"uses {missing}, which the stand-in for ATK lacks", file, line))
    if isinstance(problem, ModuleNotFoundError):
        message = (
            f"imports `{problem.name}`, which is neither installed here nor in the plugin's folder: put it there, or "
            "name the folder that has it in the setting import-folders"
        )
        return Failed(Trouble("plugin-run-failed", message, file, line))
    refused = isinstance(problem, OSError) and problem.errno in (errno.EPERM, errno.EROFS)
    return Failed(Trouble("plugin-refused" if refused else "plugin-run-failed", f"raises {_text(problem)}", file, line))


def _text(problem: BaseException) -> str:
    try:
        words = " ".join(str(problem).split())
    except Exception:
        words = "an exception without a text"
    return f"{type(problem).__name__}: {words[:300]}" if words else type(problem).__name__


def _missing_name(problem: BaseException) -> str:
    """The name of ATK that an import or a lookup did not find."""
    if isinstance(problem, ModuleNotFoundError):
        name = problem.name or ""
        return f"the module `{name}`" if name.split(".")[0] == "atk" else ""
    if isinstance(problem, ImportError) and (problem.name or "").split(".")[0] == "atk":
        found = re.match(r"cannot import name '(\w+)'", str(problem))
        return f"`{problem.name}.{found.group(1)}`" if found else _PATH.sub("", str(problem))
    if isinstance(problem, AttributeError):
        found = re.match(r"module '(atk[\w.]*)' has no attribute '(\w+)'", str(problem))
        return f"`{found.group(1)}.{found.group(2)}`" if found else ""
    return ""


def _place(problem: BaseException, watch: Watch) -> tuple[str, int]:
    """The innermost line of the plugin's folder that the exception came through, or where its text is no Python."""
    if isinstance(problem, SyntaxError) and watch.owns(problem.filename or ""):
        return problem.filename or "", problem.lineno or 1
    for frame, line in reversed(list(traceback.walk_tb(problem.__traceback__))):
        if watch.owns(frame.f_code.co_filename):
            return frame.f_code.co_filename, line
    return "", 0
