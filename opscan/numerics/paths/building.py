"""Build `catalog/paths/`: derive every subject in processes of their own, and write the files at the end.

A build that is interrupted goes on where it was, as long as torch, the rules and the learner are the same.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from opscan.data import data_path
from opscan.model import Case
from opscan.numerics.paths.crew import Crew
from opscan.numerics.paths.shipping import find, write_json
from opscan.numerics.store import salt

_GRACE = 60.0
"""Seconds beyond those for the paths: the last learning step, and the aliases."""
Progress = Callable[[int, int, str], None]
"""Told after each subject: how many are done, how many there are, the name of the last."""


@dataclass(frozen=True)
class Built:
    """What a build has done. `failures`: by subject, the forms without a path and why."""

    subjects: int
    with_paths: int
    paths: int
    names: int
    traces: int
    failures: dict[str, dict[str, str]]


@dataclass(frozen=True)
class Checks:
    """What a check has found, over all names that ship paths."""

    names: int
    told: int
    silent: int
    leaks: int
    refused: int
    wrong: dict[str, list[tuple[str, str]]]
    failures: dict[str, str]


def paths_folder() -> Path:
    return data_path("catalog", "paths")


def build(
    only: Sequence[str],
    folders: Sequence[Path],
    *,
    jobs: int,
    seconds: float,
    progress: Progress,
    cases: Sequence[Case] = (),
) -> Built:
    """Derive the subjects whose name contains one of `only` (all where it is empty) and write `catalog/paths/`.

    `folders`, `cases`: specs and cases that give more calls to start from; `seconds`: for one subject. Raises
    ImportError without torch.
    """
    work = _work_folder()
    subjects = _subjects(work, only, folders, cases)
    left = [number for number, subject in enumerate(subjects) if not _result_file(work, subject.name).exists()]
    done = len(subjects) - len(left)
    crew = Crew(_listing(work, only), jobs, 3 * seconds + _GRACE)
    try:
        for task, result in crew.run({"number": n, "task": "derive", "seconds": seconds} for n in left):
            name = subjects[task["number"]].name
            file = _result_file(work, name)
            partial = file.with_suffix(".partial")
            partial.write_text(json.dumps({"name": name} | result), encoding="utf-8")
            partial.rename(file)
            done += 1
            progress(done, len(subjects), name)
    finally:
        crew.close()
    results = [json.loads(_result_file(work, subject.name).read_text(encoding="utf-8")) for subject in subjects]
    return _assemble(results, paths_folder(), whole=not only)


def check(
    only: Sequence[str],
    folders: Sequence[Path],
    *,
    jobs: int,
    calls: int,
    seed: int,
    progress: Progress,
    cases: Sequence[Case] = (),
) -> Checks:
    """Hold the paths that ship against fresh traces, `calls` of each subject. Raises ImportError without torch."""
    work = _work_folder()
    subjects = _subjects(work, only, folders, cases)
    names = told = silent = leaks = refused = 0
    wrong: dict[str, list[tuple[str, str]]] = {}
    failures: dict[str, str] = {}
    crew = Crew(_listing(work, only), jobs, calls * 2 + _GRACE)
    tasks = ({"number": number, "task": "check", "calls": calls, "seed": seed} for number in range(len(subjects)))
    try:
        for done, (task, result) in enumerate(crew.run(tasks), 1):
            for name, found in result.get("checked", {}).items():
                names, told, silent = names + 1, told + found["told"], silent + found["silent"]
                leaks, refused = leaks + found["leaks"], refused + found["refused"]
                if found["wrong"]:
                    wrong[name] = found["wrong"]
            if "failures" in result:
                failures[subjects[task["number"]].name] = next(iter(result["failures"].values()))
            progress(done, len(subjects), subjects[task["number"]].name)
    finally:
        crew.close()
    return Checks(names, told, silent, leaks, refused, wrong, failures)


def _work_folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folder = base / "opscan" / f"build-{salt()}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def prune(checks: Checks) -> int:
    """Take the forms that were wrong out of `catalog/paths/`; how many these are."""
    taken = 0
    for name, wrong in checks.wrong.items():
        known = find(name)
        if known is None or known.file is None:
            continue
        file = paths_folder() / f"{known.file}.json"
        forms = json.loads(file.read_text(encoding="utf-8"))
        for form in {form for form, _ in wrong} & set(forms):
            del forms[form]
            taken += 1
        if forms:
            write_json(file, forms)
        else:
            _withdraw(known.file)
    return taken


def _withdraw(file: str) -> None:
    """Take an operator that has no form left out of the index; its names and parameters stay known."""
    path = paths_folder() / "index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    for entry in index["names"].values():
        if entry.get("file") == file:
            del entry["file"]
    write_json(path, index)
    (paths_folder() / f"{file}.json").unlink(missing_ok=True)


def _result_file(work: Path, name: str) -> Path:
    return work / f"{name.replace(':', '.')}.json"


def _listing(work: Path, only: Sequence[str]) -> Path:
    """Where the subjects of this build stand; a build of a part has a list of its own."""
    part = f"-{crc32(' '.join(sorted(only)).encode()):08x}" if only else ""
    return work / f"subjects{part}.pickle"


def _subjects(work: Path, only: Sequence[str], folders: Sequence[Path], cases: Sequence[Case]) -> list[Any]:
    """What there is to derive; found once, for it takes a run over the whole database."""
    kept = _listing(work, only)
    if not kept.exists():
        from opscan.numerics.paths.subjects import subjects

        partial = kept.with_suffix(".partial")
        partial.write_bytes(pickle.dumps(subjects(only, folders, cases)))
        partial.rename(kept)
    loaded: list[Any] = pickle.loads(kept.read_bytes())
    return loaded


def _assemble(results: Sequence[dict[str, Any]], target: Path, *, whole: bool) -> Built:
    """Write one file an operator and the index; what a build of a part has not derived stays as it is."""
    target.mkdir(parents=True, exist_ok=True)
    index_path = target / "index.json"
    names: dict[str, Any] = {}
    if index_path.exists() and not whole:
        names = json.loads(index_path.read_text(encoding="utf-8"))["names"]
    if whole:
        for stale in target.glob("*.json"):
            stale.unlink()
    for result in results:
        if "entry" not in result:
            continue
        file = result["name"].replace(":", ".")
        if result["paths"]:
            write_json(target / f"{file}.json", result["paths"])
        names[result["name"]] = _indexed(result["entry"], file)
    for result in results:
        file = result["name"].replace(":", ".")
        for known, entry in result.get("aliases", {}).items():
            # what is derived under its own name says more than an alias
            before = names.get(known, {}).get("file")
            if known not in names or before == file or (before is None and entry["as"] is not None):
                names[known] = _indexed(entry, file)
    write_json(index_path, {"torch": _torch_version(), "names": names, "schemas": _schemas()})
    with_paths = [result for result in results if result.get("paths")]
    return Built(
        len(results),
        len(with_paths),
        sum(len(entries) for result in with_paths for entries in result["paths"].values()),
        sum("file" in entry for entry in names.values()),
        sum(result.get("traces", 0) for result in results),
        {result["name"]: result["failures"] for result in results if result["failures"]},
    )


def _indexed(entry: dict[str, Any], file: str) -> dict[str, Any]:
    found: dict[str, Any] = {"parameters": entry["parameters"]}
    if entry["keywords"]:
        found["keywords"] = entry["keywords"]
    if entry["as"] is not None:
        found["file"] = file
        if entry["as"] != entry["parameters"]:
            found["as"] = entry["as"]
    return found


def _torch_version() -> str:
    import torch

    return str(torch.__version__).partition("+")[0]


def _schemas() -> dict[str, str]:
    """The signatures that entries of `catalog/operators/` take from ATen, so that they can be read without it."""
    from opscan.numerics import names as described

    entries = [(described.load(place).aten, place) for place in described.places()]
    return {aten: described.schema_of(aten, place) for aten, place in sorted(entries, key=str) if aten}
