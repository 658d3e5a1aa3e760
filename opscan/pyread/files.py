"""Paths of a plugin and the tables that it reads: JSON, YAML, CSV and text, as data, from files near it.

Only regular files of at most a mebibyte are opened, and only such as lie in a folder near the plugin: its own, those
above it up to the third, and what lies below these.
"""

from __future__ import annotations

import csv
import io
import json
import os.path
import stat
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from opscan.pyread.stops import CannotFollow, PluginRaise
from opscan.pyread.values import ExceptionValue, HostFunction, ModuleValue, Silent

if TYPE_CHECKING:
    from opscan.pyread.machine import Machine

MOST_BYTES = 1 << 20
ABOVE = 3
"""So many folders above the plugin's own are still near it."""


class PathValue:
    """A path, by its text."""

    __slots__ = ("path",)

    def __init__(self, path: Any) -> None:
        self.path = PurePosixPath(path)

    def __str__(self) -> str:
        return str(self.path)

    def joined(self, part: Any) -> PathValue:
        """`path / part`."""
        return PathValue(self.path / text_of(part))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PathValue) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)


class FileValue:
    """A text file that is open for reading."""

    def __init__(self, text: str) -> None:
        self.stream = io.StringIO(text)


def text_of(value: Any) -> str:
    """The text of a path. Raises CannotFollow for what is none."""
    if type(value) is not str and not isinstance(value, PathValue):
        raise CannotFollow("a path that is neither a text nor a `Path`")
    return str(value)


def _absolute(_: Machine, value: Any) -> str:
    """The path from the root on, with links left as they are. Where a relative one lies depends on where ATK runs."""
    text = text_of(value)
    if not os.path.isabs(text):
        raise CannotFollow("a path relative to the folder in which ATK runs")
    return os.path.normpath(text)


def _near(ev: Machine, value: Any) -> Path:
    """The path, where it lies near the plugin once links are followed."""
    try:
        found = Path(os.path.realpath(_absolute(ev, value)))
        base = Path(os.path.realpath(ev.file)).parent
    except (OSError, ValueError):
        raise CannotFollow("a path that cannot be looked up") from None
    root = base.parents[min(ABOVE, len(base.parents)) - 1] if ev.file and base.parents else None
    if root is None or (root == root.parent and base not in (found, *found.parents)) or not found.is_relative_to(root):
        raise CannotFollow("a file that does not lie near the plugin")
    return found


def is_near(ev: Machine, value: Any) -> bool:
    """Whether a path lies near the plugin."""
    try:
        _near(ev, value)
    except CannotFollow:
        return False
    return True


def read_text(ev: Machine, value: Any) -> str:
    """The text of a small regular file near the plugin."""
    path = _near(ev, value)
    try:
        about = path.stat()
    except (OSError, ValueError):
        raise PluginRaise(ExceptionValue(FileNotFoundError, (f"no file {path.name}",)), ev.line) from None
    if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_BYTES:
        raise CannotFollow(f"`{path.name}`, which is no regular file of at most {MOST_BYTES >> 20} MiB,")
    try:
        text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except (OSError, ValueError):
        raise CannotFollow(f"`{path.name}`, which is no text in UTF-8,") from None
    ev.budget.left -= len(text) >> 6
    ev.read.add(path)
    return text


def open_(ev: Machine, path: Any, mode: str = "r", *_: Any, **named: Any) -> FileValue:
    """`open(path)` for reading text."""
    encoding = str(named.pop("encoding", None) or "utf-8").lower().replace("-", "").replace("_", "")
    named.pop("newline", None)
    if mode not in {"r", "rt"} or named or encoding not in {"utf8", "utf8sig", "ascii"}:
        raise CannotFollow("`open` for anything but reading text in UTF-8")
    text = read_text(ev, path)
    return FileValue(text.removeprefix("\ufeff") if encoding == "utf8sig" else text)


def _text_or_stream(value: Any) -> str:
    if isinstance(value, FileValue):
        return value.stream.read()
    if type(value) is str:
        return value
    raise CannotFollow("reading a table from anything but a text or a file")


def load_json(ev: Machine, value: Any, **named: Any) -> Any:
    """`json.load` and `json.loads`."""
    if named:
        raise CannotFollow("`json.load` with these arguments")
    text = _text_or_stream(value)
    ev.budget.left -= len(text) >> 3
    return json.loads(text)


def load_yaml(ev: Machine, value: Any, loader: Any = None, **named: Any) -> Any:
    """`yaml.safe_load` and `yaml.load`."""
    import yaml

    del loader
    text = _text_or_stream(value)
    if set(named) - {"Loader"} or "&" in text or "!!" in text:
        raise CannotFollow("a YAML table with anchors or tags of its own")
    ev.budget.left -= len(text) >> 1
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError:
        raise ValueError("no YAML") from None
    return _plain(found)


def _plain(value: Any) -> Any:
    if type(value) is list:
        return [_plain(item) for item in value]
    if type(value) is dict:
        return {key: _plain(item) for key, item in value.items()}
    if type(value) in {int, float, str, bool, type(None)}:
        return value
    raise CannotFollow("a table with dates or other values that are neither text nor number")


def _rows(ev: Machine, value: Any, named: dict[str, Any], known: frozenset[str]) -> tuple[Any, dict[str, Any]]:
    if set(named) - known or not isinstance(value, FileValue | list):
        raise CannotFollow("`csv` with these arguments")
    lines = value if isinstance(value, list) else value.stream.read().splitlines(keepends=True)
    ev.budget.charge(len(lines))
    return lines, named


def _csv_reader(ev: Machine, value: Any, **named: Any) -> Any:
    lines, settings = _rows(ev, value, named, frozenset({"delimiter", "quotechar", "skipinitialspace"}))
    return (row for row in csv.reader(lines, **settings))


def _csv_dicts(ev: Machine, value: Any, **named: Any) -> Any:
    lines, settings = _rows(ev, value, named, frozenset({"delimiter", "quotechar", "skipinitialspace", "fieldnames"}))
    return (row for row in csv.DictReader(lines, **settings))


def file_attribute(value: FileValue, name: str) -> HostFunction:
    """An attribute of an open file."""
    stream = value.stream
    known: dict[str, Any] = {
        "read": stream.read,
        "readline": stream.readline,
        "readlines": stream.readlines,
        "close": lambda: None,
        "seek": stream.seek,
    }
    if name not in known:
        raise CannotFollow(f"`.{name}` of an open file")
    return HostFunction(name, known[name], pure=True)


# -- pathlib -----------------------------------------------------------------------------------------------------------

_PARTS = frozenset({"name", "stem", "suffix", "parts"})


def path_attribute(value: PathValue, name: str) -> Any:
    """An attribute of a `Path`."""
    path = value.path
    if name in _PARTS:
        return getattr(path, name)
    if name == "parent":
        return PathValue(path.parent)
    if name == "parents":
        return [PathValue(one) for one in path.parents]
    method = _PATH_METHODS.get(name)
    if method is None:
        raise CannotFollow(f"`.{name}` of a `Path`")
    return HostFunction(name, lambda ev, *args, **named: method(ev, value, *args, **named))


def _real(ev: Machine, value: Any, **_: Any) -> str:
    try:
        return os.path.realpath(_absolute(ev, value))
    except (OSError, ValueError):
        raise CannotFollow("a path that cannot be looked up") from None


def _exists(kind: str) -> Any:
    def exists(ev: Machine, value: Any) -> bool:
        found = _near(ev, value)
        ev.read.add(found)
        return bool(getattr(os.path, kind)(found))

    return exists


_PATH_METHODS: dict[str, Any] = {
    "resolve": lambda ev, value, **_: PathValue(_real(ev, value)),
    "absolute": lambda ev, value: PathValue(_absolute(ev, value)),
    "expanduser": lambda _, value: value,
    "joinpath": lambda _, value, *parts: PathValue(value.path.joinpath(*map(text_of, parts))),
    "with_name": lambda _, value, name: PathValue(value.path.with_name(name)),
    "with_suffix": lambda _, value, suffix: PathValue(value.path.with_suffix(suffix)),
    "as_posix": lambda _, value: str(value),
    "is_absolute": lambda _, value: value.path.is_absolute(),
    "read_text": lambda ev, value, *_, **named: open_(ev, value, **named).stream.read(),
    "open": open_,
    "exists": _exists("exists"),
    "is_file": _exists("isfile"),
    "is_dir": _exists("isdir"),
}


def _path(_: Machine, *parts: Any) -> PathValue:
    return PathValue(PurePosixPath(*map(text_of, parts)))


PATHLIB = {name: HostFunction("Path", _path) for name in ("Path", "PurePath", "PosixPath", "PurePosixPath")}

# -- os and sys --------------------------------------------------------------------------------------------------------


def _lexical(name: str) -> HostFunction:
    function = getattr(os.path, name)
    return HostFunction(f"os.path.{name}", lambda _, *parts: function(*map(text_of, parts)))


OS_PATH: dict[str, Any] = {
    **{name: _lexical(name) for name in ("join", "dirname", "basename", "split", "splitext", "normpath", "isabs")},
    "abspath": HostFunction("os.path.abspath", _absolute),
    "realpath": HostFunction("os.path.realpath", _real),
    **{name: HostFunction(f"os.path.{name}", _exists(name)) for name in ("exists", "isfile", "isdir")},
    "sep": "/",
}


class Environment(dict[str, Any]):
    """`os.environ`: what the plugin sets is known; of everything else nothing is, and nothing may depend on it."""

    def get(self, name: Any, _: Any = None) -> Any:
        return self[name] if name in self else Silent(f"`os.environ` of {name!r:.40}", there=False)


def operating_system(ev: Machine) -> ModuleValue:
    """`os`, of which only paths and variables are followed."""
    return ModuleValue("os", {
        "path": ModuleValue("os.path", OS_PATH),
        "environ": ev.environment,
        "getenv": HostFunction("os.getenv", lambda ev, *given: ev.environment.get(*given)),
        "sep": "/",
        "linesep": "\n",
    })  # fmt: skip


JSON = {"load": HostFunction("json.load", load_json), "loads": HostFunction("json.loads", load_json)}
YAML = {
    **dict.fromkeys(("safe_load", "load", "full_load"), HostFunction("yaml.safe_load", load_yaml)),
    **dict.fromkeys(("SafeLoader", "FullLoader", "Loader"), Silent("a loader of YAML")),
}
CSV = {"reader": HostFunction("csv.reader", _csv_reader), "DictReader": HostFunction("csv.DictReader", _csv_dicts)}
