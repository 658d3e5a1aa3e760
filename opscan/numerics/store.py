"""Remember traced classifications between runs, so that a hook does not wait for torch to say what it said before.

One SQLite file in the user's cache folder. The key holds the operator and its inputs, and the versions of torch, of
opscan's own rules and of the kinds table: a change of any of them asks torch again. A cache that cannot be opened is
none. It is opened when something is first looked up: most runs know all from the declared steps.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opscan.cache import cache_folder, is_off
from opscan.data import data_path
from opscan.model import Classification, NumericClass, Stage, Step, TensorClass

if TYPE_CHECKING:
    import sqlite3

_SCHEMA = 3


class Store:
    """Classifications by fingerprint. Reads and writes never raise: what is not there is traced again."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._new: list[tuple[str, str]] = []

    @cached_property
    def _salt(self) -> str:
        return salt()

    @cached_property
    def _connection(self) -> sqlite3.Connection | None:
        if is_off() or not self._salt:
            return None
        return _open(self._path or cache_folder() / f"classes-{_SCHEMA}.sqlite")

    def get(self, fingerprint: str) -> Classification | None:
        if self._connection is None:
            return None
        import sqlite3

        with suppress(sqlite3.Error, ValueError, KeyError, TypeError):
            row = self._connection.execute(
                "SELECT value FROM known WHERE key = ?", (self._key(fingerprint),)
            ).fetchone()
            return load(json.loads(row[0])) if row else None
        return None

    def put(self, fingerprint: str, classification: Classification) -> None:
        if self._connection is None:
            return
        value = json.dumps(dump(classification), separators=(",", ":"))
        self._new.append((self._key(fingerprint), value))

    def close(self) -> None:
        """Write what was put, at once, so that no other process waits for a lock; without it nothing is kept."""
        connection = self.__dict__.get("_connection")
        if connection is not None:
            import sqlite3

            with suppress(sqlite3.Error):
                if self._new:
                    connection.executemany("INSERT OR REPLACE INTO known VALUES (?, ?)", self._new)
                    connection.commit()
                connection.close()
        self.__dict__["_connection"] = None

    def _key(self, fingerprint: str) -> str:
        return f"{self._salt} {fingerprint}"


def _open(path: Path) -> sqlite3.Connection | None:
    try:
        import sqlite3
    except ImportError:  # a Python that was built without it
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=5, isolation_level="DEFERRED")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("CREATE TABLE IF NOT EXISTS known (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")
    except (OSError, sqlite3.Error):
        return None
    return connection


def salt() -> str:
    """Everything outside a case that its classes depend on; empty where torch is not installed."""
    from zlib import adler32, crc32

    torch = _torch_version()
    if not torch:
        return ""
    files = [
        *sorted(Path(__file__).parent.rglob("*.py")),
        *sorted((Path(__file__).parents[1] / "pyread").glob("*.py")),
        *sorted(data_path("catalog", "aten").glob("*.yaml")),
    ]
    files += sorted(data_path("catalog", "operators").glob("*.yaml"))
    stamps = [f"{file.name}:{file.stat().st_size}:{file.stat().st_mtime_ns}" for file in files]
    text = f"torch {torch} {' '.join(stamps)}".encode()
    return f"{crc32(text):08x}{adler32(text):08x}"


def _torch_version() -> str:
    """The version of the torch that would be imported, read without importing it."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("torch", sys.path)
    if spec is None or not spec.submodule_search_locations:
        return ""
    with suppress(OSError):
        text = Path(next(iter(spec.submodule_search_locations)), "version.py").read_text(encoding="utf-8")
        if match := re.search(r"__version__\s*=\s*['\"]([^'\"]+)", text):
            return match.group(1)
    return ""


def dump(known: Classification) -> list[Any]:
    """The classification as JSON can hold it."""
    tensors = [
        [
            tensor.name,
            tensor.role,
            tensor.dtype,
            tensor.shape,
            tensor.numeric_class.value,
            tensor.input,
            tensor.correctly_rounded,
            tensor.cause,
            tensor.depends_on,
            tensor.extent,
            tensor.products,
            [[step.op, step.phase, step.numeric_class.value, step.extent] for step in tensor.path],
            tensor.reason,
            [[stage.cause, stage.extent] for stage in tensor.stages],
            tensor.formula,
        ]
        for tensor in known.tensors
    ]
    return [known.basis, known.reason, known.mismatch, tensors]


def load(data: list[Any]) -> Classification:
    """What `dump` was given. Raises ValueError, TypeError or KeyError for anything else."""
    basis, reason, mismatch, tensors = data
    return Classification(tuple(_load_tensor(*tensor) for tensor in tensors), basis, reason, mismatch)


def _load_tensor(  # noqa: PLR0913
    name: str,
    role: str,
    dtype: str,
    shape: list[int],
    kind: str,
    position: int | None,
    once: bool,
    cause: str | None,
    depends: list[str],
    extent: int,
    products: bool,
    path: list[list[Any]],
    reason: str,
    stages: list[list[Any]],
    formula: list[Any],
) -> TensorClass:
    steps = tuple(Step(op, phase, NumericClass(numeric), count) for op, phase, numeric, count in path)
    return TensorClass(
        name, role, dtype, tuple(shape), NumericClass(kind), position, once, cause, tuple(depends), extent, products,
        steps, reason, tuple(Stage(cause, count) for cause, count in stages), _frozen(formula), traced=True,
    )  # fmt: skip


def _frozen(value: Any) -> Any:
    """Lists as the tuples that JSON made lists of."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
