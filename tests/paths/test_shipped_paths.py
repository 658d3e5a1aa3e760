"""The paths that ship, against fresh traces; what is planted in one must be found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from opscan.data import data_path
from opscan.numerics.paths import evaluating, shipping
from opscan.numerics.paths.shipping import Known, find, index, load

pytest.importorskip("torch")

from opscan.numerics.classify import describe
from opscan.numerics.operators import Operator, resolve
from opscan.numerics.paths.checking import Checked, check
from opscan.numerics.paths.tracing import Traces
from opscan.numerics.paths.worker import _calls as calls_of

PROJECT = Path(__file__).resolve().parents[2]
NAMES = sorted(name for name, entry in index()["names"].items() if "file" in entry and not name.startswith("entry:"))
SHARDS = 12


def checked(known: Known, count: int, seed: int) -> Checked:
    operator = resolve(known.name, method=known.name.startswith("torch.Tensor."))
    assert isinstance(operator, Operator), operator
    return check(known, Traces(operator, describe), calls_of(known.name, operator, ()), count, seed)


def of_shard(shard: int) -> list[str]:
    """Another tenth of the names for each shard, the same on every machine."""
    return [name for name in NAMES if blake2b(name.encode(), digest_size=2).digest()[0] % (10 * SHARDS) == shard]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_shipped_paths_say_what_fresh_traces_say(shard: int) -> None:
    for name in of_shard(shard):
        known = find(name)
        assert known is not None
        assert checked(known, 4, seed=77).wrong == (), name


USUAL = ["torch.where", "torch.add", "torch.sum", "torch.nn.functional.linear", "torch.cumsum", "torch.gather"]


@pytest.mark.parametrize("name", USUAL)
def test_usual_operators_are_told_without_a_trace(name: str) -> None:
    known = find(name)
    assert known is not None
    result = checked(known, 30, seed=5)
    assert result.wrong == ()
    assert result.told > 10, result


@pytest.mark.parametrize("name", ["torch.where", "torch.sum", "torch.mul"])
def test_a_planted_mistake_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = find(name)
    assert known is not None
    assert known.file is not None
    real = load(known.file)

    def mistaken(_: str) -> dict[str, tuple[object, ...]]:
        return {
            form: tuple(
                replace(
                    path,
                    tensors=tuple(
                        replace(
                            tensor,
                            outcomes=tuple(
                                replace(outcome, numeric_class="select-only", extent=1)
                                if outcome.numeric_class in ("broadcast-reduced", "accumulated")
                                else outcome
                                for outcome in tensor.outcomes
                            ),
                        )
                        for tensor in path.tensors
                    ),
                )
                for path in paths
            )
            for form, paths in real.items()
        }

    monkeypatch.setattr(evaluating, "load", mistaken)
    assert checked(known, 40, seed=3).wrong


def audited_without_torch(tmp_path: Path, spec: Path) -> dict[str, object]:
    """What an audit says of one spec where neither it nor a process it starts can import torch."""
    (tmp_path / "torch.py").write_text("raise ImportError('none here')")
    environment = os.environ | {"OPSCAN_CACHE": "off", "PYTHONPATH": f"{tmp_path}{os.pathsep}{PROJECT}"}
    command = [sys.executable, "-m", "opscan", "audit", str(spec), "--format", "json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    (file,) = json.loads(done.stdout)["files"]
    return dict(file)


def test_the_story_is_told_without_torch(tmp_path: Path) -> None:
    file = audited_without_torch(tmp_path, data_path("catalog", "1000", "torch.where_backward.yaml"))
    classes = {tensor["name"]: tensor["class"] for tensor in file["tensors"]}  # type: ignore[attr-defined]
    assert file["status"] == "too-strict"
    assert classes == {"output:0": "select-only", "grad:input": "select-only", "grad:other": "broadcast-reduced"}


def test_every_shipped_file_can_be_read() -> None:
    files = {entry["file"] for entry in index()["names"].values() if "file" in entry}
    assert files == {path.stem for path in data_path("catalog", "paths").glob("*.json")} - {"index"}
    for file in files:
        assert load(file)


def test_a_catalog_without_paths_answers_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipping, "data_path", tmp_path.joinpath)
    index.cache_clear()
    find.cache_clear()
    assert find("torch.where") is None
    monkeypatch.undo()
    index.cache_clear()
    find.cache_clear()


def test_what_is_read_of_one_name_is_what_the_whole_index_says() -> None:
    names = index()["names"]
    assert len(names) > 1000
    for name, entry in names.items():
        assert shipping._entry(name) == entry, name
    for name in (
        "",
        "names",
        "schemas",
        "parameters",
        "as",
        "file",
        "keywords",
        "torch",
        "torch.",
        'a":{',
        "torch.wher",
    ):
        assert shipping._entry(name) is None, name
    for name in index()["schemas"]:
        assert shipping._entry(name) == names.get(name), name
