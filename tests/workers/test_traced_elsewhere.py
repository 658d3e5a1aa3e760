"""Traces in worker processes: the same answers as here, and what would end this process ends only its case."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from opscan.model import Case, CaseFile, CaseInput, Spec
from opscan.numerics import Classifier, Limits, Question
from opscan.numerics.tracing import Tracing
from opscan.opening import open_catalog
from opscan.shapes import gather_evidence
from opscan.workers.pool import Workers

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    started = Workers(Limits(processes=2, seconds=60, mebibytes=1024), Tracing())
    yield started
    started.close()


def sampled_questions(count: int) -> list[Question]:
    """Cases spread evenly over the sample catalog, each once, with the plugins that hold their goldens."""
    catalog = open_catalog([PROJECT / "catalog" / "1000", PROJECT / "catalog" / "0000"])
    asked = []
    for file in catalog.asked:
        if isinstance(file, CaseFile):
            executors = catalog.case_links(file).goldens
            asked += [Question(case, executors.get(case.api_type)) for case in file.cases[:12]]
        elif isinstance(file, Spec):
            links = catalog.links(file)
            evidence = gather_evidence(file, case_file=links.case_file, plugin=links.generator, draws=8, seed=1)
            asked += [Question(case, links.golden) for case in evidence.cases[:12]]
    step = max(len(asked) // count, 1)
    return asked[::step][:count]


def test_answers_of_two_processes_equal_those_made_here(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPSCAN_STEPS", "off")
    questions = sampled_questions(200)
    assert len(questions) == 200
    here = Classifier().classify_many(questions)
    there = [answer.classification for answer in workers.answer(questions)]
    for question, first, second in zip(questions, here, there, strict=True):
        assert first == second, question.case.name
    assert sum(bool(answer.tensors) for answer in here) > 150


def integers(name: str | None, shape: tuple[int, ...], low: float, high: float) -> CaseInput:
    return CaseInput(name, "tensor", "int64", shape, [low, high])


def number(name: str | None, value: int) -> CaseInput:
    return CaseInput(name, "attr", "int", None, value)


def test_more_memory_than_there_may_be(workers: Workers) -> None:
    few = integers("input", (4,), 0, 5)
    questions = [
        Question(Case(place, place, "torch.bincount", (few, number("minlength", length))))
        for place, length in enumerate((10**9, 10, 10**13))
    ]
    told = [answer.classification for answer in workers.answer(questions)]
    assert told[0].reason == "the trace of torch.bincount needs more than 1024 MiB"
    assert told[1].tensors
    assert told[2].reason == told[0].reason
    assert not any(answer.mismatch for answer in told)


ALWAYS = 99


def drawn(name: str, refuse: int) -> list[set[int]]:
    """The whole numbers that an operator gets on real data, which refuses so many times."""
    from opscan.numerics.binding import bind
    from opscan.numerics.operators import Operator
    from opscan.numerics.running import Refused, trace

    seen: list[set[int]] = []

    def call(index: Any) -> Any:
        seen.append(set(index.tolist()))
        if len(seen) <= refuse:
            raise IndexError(f"refused {len(seen)}")
        return index.clone()

    binding = bind(Case(0, 0, name, (integers("index", (64,), 2, 9),)), ("index",))
    operator = Operator(name, call, ("index",))
    if refuse == ALWAYS:
        with pytest.raises(Refused, match="refused 1"):
            trace(operator, binding, None, real=True)
    else:
        assert len(trace(operator, binding, None, real=True)) == 1
    return seen


def test_indices_are_not_drawn_from_their_declared_range() -> None:
    """Some kernels do not check them: embedding_dense_backward ends the process with `free(): invalid size`."""
    assert drawn("torch.take", refuse=0) == [{0, 1}]
    assert drawn("torch.take", refuse=1) == [{0, 1}, {0}]
    assert all(given <= {0, 1} for given in drawn("torch.take", refuse=ALWAYS))


def test_counts_are_drawn_from_their_declared_range() -> None:
    (counts,) = drawn("torch.repeat_interleave", refuse=0)
    assert {9} <= counts <= set(range(2, 10))


def test_counts_decide_extents() -> None:
    from opscan.numerics.classify import classify

    rows = CaseInput("input", "tensor", "fp32", (3,))
    extents = set()
    for most in (1, 40):
        case = Case(0, 0, "torch.repeat_interleave", (rows, integers("repeats", (3,), most, most)), backward=True)
        extents.add(max(tensor.extent for tensor in classify(case).tensors))
    assert len(extents) == 2
    assert max(extents) >= 40


PROBE = """
import sys
from opscan.cli import cli
code = cli.main(sys.argv[1:], standalone_mode=False)
print("torch" in sys.modules, code, file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "--format", "json", "--jobs", "2", "specs"],
        ["fix", "--jobs", "1", "specs"],
        ["explain", "F.relu", "--input", "input=fp32[3]", "--format", "json"],
    ],
)
def test_no_command_imports_torch(tmp_path: Path, arguments: list[str]) -> None:
    """Nor anything that lies where the command is run: it is read, never run."""
    (tmp_path / "specs").mkdir()
    for name in ("F.relu", "torch.tanh", "torch.exp"):
        (tmp_path / "specs" / f"{name}.yaml").write_text(
            f"name: {name}\nstandard: {{acc: equal}}\ninputs:\n"
            "  - {name: input, type: tensor, dtypes: {values: [fp32]},"
            " shapes: {dim_numbers: {values: [1]}, dim_values: {values: [4]}}}\n"
        )
    for module in ("torch", "opscan", "random", "signal", "resource", "sitecustomize"):
        (tmp_path / f"{module}.py").write_text("open('was-run', 'w').close()\nraise SystemExit(7)\n")
    (tmp_path / "probe").mkdir()
    (tmp_path / "probe" / "probe.py").write_text(PROBE)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "probe" / "probe.py"), *arguments],
        cwd=tmp_path, env=os.environ | {"OPSCAN_CACHE": "off", "PYTHONPATH": str(PROJECT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr.splitlines()[-1].startswith("False "), done.stderr
    assert not (tmp_path / "was-run").exists()
    if arguments[0] == "audit":
        told = {Path(file["path"]).stem: file["status"] for file in json.loads(done.stdout)["files"]}
        assert told == {"F.relu": "ok", "torch.tanh": "too-strict", "torch.exp": "too-strict"}
    if arguments[0] == "explain":
        assert [tensor["class"] for tensor in json.loads(done.stdout)["tensors"]] == ["select-only"] * 2
