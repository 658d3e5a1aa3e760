"""What a spec is for: by its run scripts, else its name, else its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opscan.model import Choices, Command, Node, NodeFile, RunScript, Source, Span, Spec, SpecInput
from opscan.opening import link

ANY = Span(0, 0, 1, 1, 1, 1)


def make_spec(*inputs: SpecInput, path: str, **fields: Any) -> Spec:
    return Spec(Source(Path(path), ""), "torch.add", inputs, **fields)


def tensor(name: str, dtypes: tuple[str, ...] = ("fp32",), **fields: Any) -> SpecInput:
    return SpecInput(name, "tensor", dtypes=Choices(dtypes), **fields)


def attribute(name: str, values: tuple[Any, ...]) -> SpecInput:
    return SpecInput(name, "attr", dtypes=Choices(("int",)), ranges=Choices(values))


def served(path: str, *commands: Command, nodes: tuple[NodeFile, ...] = (), **fields: Any) -> tuple[str, ...]:
    spec = make_spec(*fields.pop("inputs", (tensor("x"),)), path=path, **fields)
    script = RunScript(Source(Path(path).parent / "run.sh", ""), commands)
    return link([spec, script, *nodes]).links(spec).scenarios.names


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("torch.add", ("accuracy",)),
        ("torch.where_backward", ("accuracy",)),
        ("float_small_torch.add", ("accuracy", "small-value")),
        ("torch.add_float_small_bf16", ("accuracy", "small-value")),
        ("torch.add_small_value", ("accuracy", "small-value")),
        ("torch.add_deterministic", ("determinism",)),
        ("fa4_bwd_det", ("determinism",)),
        ("torch.add_mem", ("memory",)),
        ("torch.add-memory", ("memory",)),
        ("aclnnAddMemcheck", ("memory",)),
        ("torch.add_perf", ("performance",)),
        ("torch.add_perf_mem", ("memory", "performance")),
        ("torch.index_member", ("accuracy",)),
        ("torch.detach", ("accuracy",)),
        ("torch.perfect", ("accuracy",)),
        ("torch.smallest", ("accuracy",)),
    ],
)
def test_by_name(stem: str, expected: tuple[str, ...]) -> None:
    assert served(f"cat/{stem}.yaml") == expected


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("accuracy", ("accuracy",)),
        ("accuracy_load", ("accuracy",)),
        ("accuracy_lt", ("accuracy",)),
        ("accuracy_dc", ("determinism",)),
        ("performance_device", ("performance",)),
        ("performance_e2e", ("performance",)),
        ("accuracy,performance_device", ("accuracy", "performance")),
        ("memory_device", ("memory",)),
    ],
)
def test_by_task(task: str, expected: tuple[str, ...]) -> None:
    assert served("cat/op.yaml", Command("task", ("all_op.json",), task=task)) == expected


def test_several_commands() -> None:
    commands = [Command("task", ("all_op.json",), task=t) for t in ("performance_e2e", "accuracy_dc", "accuracy")]
    assert served("cat/op.yaml", *commands) == ("accuracy", "determinism", "performance")


def test_generating_cases_says_nothing() -> None:
    assert served("cat/op_perf.yaml", Command("case", ("op_perf.yaml",))) == ("performance",)


def test_commands_come_before_the_name() -> None:
    assert served("cat/op_perf.yaml", Command("task", ("all_op_perf.json",), task="accuracy")) == ("accuracy",)


def test_commands_of_another_spec_do_not_count() -> None:
    assert served("cat/op.yaml", Command("task", ("all_other.json",), task="accuracy_dc")) == ("accuracy",)


def test_memcheck() -> None:
    assert served("cat/op.yaml", Command("task", ("all_op.json",), task="run", memcheck=True)) == ("memory",)


@pytest.mark.parametrize(
    ("name", "tasks", "expected"),
    [
        ("node.yaml", ("accuracy_dc",), ("determinism",)),
        ("node.yaml", ("run",), ("accuracy",)),
        ("node_mem.yaml", ("run",), ("memory",)),
        ("nodes_op_Sanitizer.yaml", ("run",), ("memory",)),
        ("node_mem.yaml", ("accuracy",), ("accuracy",)),
    ],
)
def test_by_node_file(name: str, tasks: tuple[str, ...], expected: tuple[str, ...]) -> None:
    node_file = NodeFile(Source(Path("cat") / name, ""), (Node("npu", tasks),))
    assert served("cat/op.yaml", Command("task", ("all_op.json",), (name,)), nodes=(node_file,)) == expected


def test_a_task_on_the_command_line_comes_before_the_node_file() -> None:
    node_file = NodeFile(Source(Path("cat/node.yaml"), ""), (Node("npu", ("accuracy_dc",)),))
    command = Command("task", ("all_op.json",), ("node.yaml",), task="accuracy")
    assert served("cat/op.yaml", command, nodes=(node_file,)) == ("accuracy",)


@pytest.mark.parametrize(
    ("keys", "expected"), [(("mem",), ("memory",)), (("mem", "acc"), ("accuracy",)), (("perf",), ("accuracy",))]
)
def test_by_settings(keys: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert served("cat/op.yaml", spans={("standard", key): ANY for key in keys}) == expected


@pytest.mark.parametrize(
    ("ranges", "small"),
    [
        (([-1e-3, 1e-3],), True),
        (([0, 1e-5], [-2e-4, 0]), True),
        ((["1e-8", "1e-4"],), True),
        (([-1e-3, 1e-3], [-5, 5]), False),
        (([0, 0],), False),
        (("inf",), False),
        (("null",), False),
        ((), False),
    ],
)
def test_small_values_by_ranges(ranges: tuple[Any, ...], small: bool) -> None:
    inputs = (tensor("x", ranges=Choices(ranges)), attribute("dim", ([0, 4],)))
    expected = ("accuracy", "small-value") if small else ("accuracy",)
    assert served("cat/op.yaml", inputs=inputs) == expected


def test_all_floating_tensors_must_be_small() -> None:
    low, mask = Choices(([-1e-4, 1e-4],)), Choices(([0, 1],))
    both = (tensor("x", ranges=low), tensor("y", ranges=Choices(([-1, 1],))))
    assert served("cat/op.yaml", inputs=both) == ("accuracy",)
    masked = (tensor("x", ranges=low), tensor("m", dtypes=("bool",), ranges=mask))
    assert served("cat/op.yaml", inputs=masked) == ("accuracy", "small-value")
    assert served("cat/op.yaml", inputs=(tensor("m", dtypes=("int32",), ranges=mask),)) == ("accuracy",)


@pytest.mark.parametrize(
    ("path", "commands", "source"),
    [
        ("cat/op.yaml", (Command("task", ("all_op.json",), task="accuracy", line=7),), "cat/run.sh:7"),
        ("cat/op.yaml", (Command("task", ("all_op.json",), task="**", line=7),), None),
        ("cat/op.yaml", (Command("case", ("op.yaml",)),), "cat/op.yaml:1"),
        ("cat/op_deterministic.yaml", (), "cat/op_deterministic.yaml"),
        ("determinism/op.yaml", (), "determinism"),
        ("cat/op.yaml", (), "cat/op.yaml:1"),
    ],
)
def test_what_says_so(path: str, commands: tuple[Command, ...], source: str | None) -> None:
    spec = make_spec(tensor("x"), path=path)
    script = RunScript(Source(Path(path).parent / "run.sh", ""), commands)
    assert link([spec, script]).links(spec).scenarios.source == source


def test_node_files_beside_count_where_no_script_is() -> None:
    spec = make_spec(tensor("x"), path="cat/op.yaml")
    repeats = NodeFile(Source(Path("cat/node_dc.yaml"), ""), (Node("npu", ("accuracy_dc",)),))
    compares = NodeFile(Source(Path("cat/node.yaml"), ""), (Node("npu", ("accuracy",)),))
    alone = link([spec, repeats]).links(spec).scenarios
    assert (alone.names, alone.source) == (("determinism",), "cat/node_dc.yaml")
    assert link([spec, repeats, compares]).links(spec).scenarios.names == ("accuracy",)
