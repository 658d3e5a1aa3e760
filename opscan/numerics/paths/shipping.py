"""Paths as they ship: one JSON file an operator in `catalog/paths/`, and an index from names to files.

A file is read when its operator is first asked for, so that an audit pays only for what its specs name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path as File
from typing import Any

from opscan.data import data_path
from opscan.dataclass import dataclass
from opscan.numerics.paths.path import Outcome, Path, TensorPath


@dataclass(frozen=True, slots=True)
class Known:
    """One name of an operator. `parameters` as its users know them, `paths_as` as the paths name them, in one order.

    `file`: where its paths stand; none where it has no path. `keywords`: everything it takes by name.
    """

    name: str
    parameters: tuple[str, ...]
    paths_as: tuple[str, ...]
    keywords: frozenset[str]
    file: str | None

    @property
    def renamed(self) -> Mapping[str, str]:
        return dict(zip(self.parameters, self.paths_as, strict=False))


@lru_cache(maxsize=1)
def index() -> Mapping[str, Any]:
    """`torch`: the version the paths were derived with; `names`; `schemas` of ATen overloads. Empty where none ship."""
    text = _index_text()
    loaded: Mapping[str, Any] = json.loads(text) if text else {"torch": None, "names": {}, "schemas": {}}
    return loaded


def _index_text() -> str:
    try:
        return data_path("catalog", "paths", "index.json").read_text(encoding="utf-8")
    except OSError:
        return ""


def shipped_schema(overload: str) -> str | None:
    """The signature of an ATen overload that an entry of `catalog/operators/` stands for."""
    found: str | None = index()["schemas"].get(overload)
    return found


@lru_cache(maxsize=4096)
def find(name: str) -> Known | None:
    """What ships for a name of an operator."""
    entry = _entry(name)
    if entry is None:
        return None
    parameters = tuple(entry["parameters"])
    keywords = frozenset(entry.get("keywords", ())) | set(parameters)
    return Known(name, parameters, tuple(entry.get("as", parameters)), keywords, entry.get("file"))


def _entry(name: str) -> Mapping[str, Any] | None:
    """What the index says of one name, read from its place in the text: most runs ask for one name of two thousand.

    The text has no blanks, so that `"name":{` stands at a key alone; and only what a name stands for has parameters.
    """
    text, key = _index_text(), f"{json.dumps(name)}:{{"
    start = text.find(key)
    while start >= 0:
        entry, _ = json.JSONDecoder().raw_decode(text, start + len(key) - 1)
        if isinstance(entry.get("parameters"), list):
            return entry  # type: ignore[no-any-return]
        start = text.find(key, start + 1)
    return None


@lru_cache(maxsize=1024)
def load(file: str) -> Mapping[str, tuple[Path, ...]]:
    """The paths of one operator by form."""
    text = data_path("catalog", "paths", f"{file}.json").read_text(encoding="utf-8")
    return {form: tuple(_path(form, entry) for entry in entries) for form, entries in json.loads(text).items()}


def _path(form: str, entry: Mapping[str, Any]) -> Path:
    return Path(
        form,
        tuple(tuple(dtypes) for dtypes in entry["dtypes"]),
        tuple((term, tuple(answers)) for term, answers in entry["guards"]),
        tuple(_tensor(*tensor) for tensor in entry["tensors"]),
        entry["separable"],
        entry.get("only_forward", False),
    )


def _tensor(
    name: str, shape: Any, questions: Sequence[Any], table: Sequence[Any], outcomes: Sequence[Sequence[Any]]
) -> TensorPath:
    listed = {tuple(answers): place for *answers, place in table}
    return TensorPath(name, shape, tuple(questions), listed, tuple(_outcome(*outcome) for outcome in outcomes))


def _outcome(
    dtype: str | int,
    numeric_class: str,
    once: bool,
    cause: str | None,
    depends_on: Sequence[str],
    extent: Any,
    products: bool,
    steps: Sequence[Sequence[Any]],
) -> Outcome:
    listed = tuple((op, phase, kind, term) for op, phase, kind, term in steps)
    return Outcome(dtype, numeric_class, once, cause, tuple(depends_on), extent, products, listed)


def dump(paths: Sequence[Path]) -> dict[str, list[dict[str, Any]]]:
    """Paths as `load` reads them."""
    forms: dict[str, list[dict[str, Any]]] = {}
    for path in paths:
        entry: dict[str, Any] = {
            "dtypes": path.dtypes,
            "separable": path.separable,
            "guards": path.guards,
            "tensors": [_dumped(tensor) for tensor in path.tensors],
        }
        if path.only_forward:
            entry["only_forward"] = True
        forms.setdefault(path.form, []).append(entry)
    return forms


def _dumped(tensor: TensorPath) -> list[Any]:
    table = [[*answers, place] for answers, place in sorted(tensor.table.items())]
    return [tensor.name, tensor.shape, tensor.questions, table, [_listed(outcome) for outcome in tensor.outcomes]]


def _listed(outcome: Outcome) -> list[Any]:
    return [
        outcome.dtype, outcome.numeric_class, outcome.once, outcome.cause, outcome.depends_on, outcome.extent,
        outcome.products, outcome.steps,
    ]  # fmt: skip


def write_json(path: File, content: Any) -> None:
    path.write_text(json.dumps(content, separators=(",", ":"), sort_keys=True) + "\n", encoding="utf-8")
