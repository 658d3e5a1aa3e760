"""A share of `opscan catalog check`: calls that nobody has seen, in each run others. The seed of a failure repeats it."""

from __future__ import annotations

from random import SystemRandom

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's operator database needs expecttest")

import sys  # noqa: E402
from pathlib import Path  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent.parent / "numerics"))


from opscan.checking.calls import Drawn, FreshCall, case_of, labels, line_of  # noqa: E402
from opscan.checking.comparing import contradiction, differences, most_addends  # noqa: E402
from opscan.checking.crew import Task, examine_all  # noqa: E402
from opscan.checking.drawing import draw  # noqa: E402
from opscan.checking.examining import examine  # noqa: E402
from opscan.checking.naming import database  # noqa: E402
from opscan.checking.report import Tally  # noqa: E402
from opscan.checking.tasks import tasks_of  # noqa: E402
from opscan.checking.truths import Truth  # noqa: E402
from opscan.explaining import case_of as case_of_line  # noqa: E402
from opscan.model import Classification, NumericClass, Step, TensorClass  # noqa: E402

CALLS = 1500
REPEATED = 3000
DIFFERING = {
    "bucketize": "torch takes numbers of another dtype than the borders",
    "max": "the steps refuse keepdim beside a second tensor, as torch does",
    "nn.functional.embedding_bag": "how many indices a bag holds is a value",
}
"""Where the steps and a trace are known to say other things at one of the repeated calls, and why."""


def test_no_answer_to_a_fresh_call_is_stricter_than_the_oracles_saw() -> None:
    seed = SystemRandom().randrange(1 << 32)
    tally = Tally()
    for result in examine_all(tasks_of((), calls=CALLS, seed=seed, share=0.2, seconds=5), jobs=2):
        tally.add(result)
    assert tally.outcomes["accepted"] > CALLS / 3
    assert tally.answers["looked"] > CALLS / 20
    found = [text for texts in tally.found["unsound"].values() for text in texts]
    assert not found, "\n".join([f"opscan catalog check --seed {seed} --calls {CALLS}", *found])


def test_what_is_declared_is_what_is_traced() -> None:
    """Calls that are the same in each run: a mistake in an entry, a kind or a rule that they reach shows here."""
    tally = Tally()
    for result in examine_all(tasks_of((), calls=REPEATED, seed=1, share=0.0, seconds=20), jobs=2):
        tally.add(result)
    assert tally.answers["declared"] > REPEATED / 2
    found = [text for name, texts in tally.found["differing"].items() if name not in DIFFERING for text in texts]
    assert not found, "\n".join(found)


def test_a_seed_draws_the_same_calls_again() -> None:
    first = [draw("add", number, 7) for number in range(12)]
    assert first == [draw("add", number, 7) for number in range(12)]
    assert first != [draw("add", number, 8) for number in range(12)]


def test_calls_are_of_all_forms() -> None:
    calls = [call for base in ("add", "sum", "matmul", "clamp") for n in range(150) if (call := draw(base, n, 3))]
    tensors = [tensor for call in calls for tensor in call.tensors()]
    assert {"float32", "float16", "bfloat16", "int64", "bool", "complex64"} <= {tensor.dtype for tensor in tensors}
    assert {0, 1} <= {size for tensor in tensors for size in tensor.shape}
    assert () in {tensor.shape for tensor in tensors}
    assert any(call.in_place for call in calls)
    assert any("out" in call.kwargs for call in calls)
    assert any(call.kwargs.get("alpha") == 0 for call in calls)
    assert any(call.kwargs.get("keepdim") for call in calls)
    axes = [value for call in calls for value in (*call.args, *call.kwargs.values()) if isinstance(value, list)]
    assert any(len(given) > 1 and any(type(axis) is int and axis < 0 for axis in given) for given in axes)


def test_the_line_of_a_call_is_the_call() -> None:
    call = FreshCall("torch.add", (Drawn("float16", (2, 3), True), Drawn("float16", (3,), True)), {"alpha": 0})
    words = line_of(call, ("input", "other")).replace("'", "").split()
    told = case_of_line(words[2], words[4::2], backward=True)
    drawn = case_of(call)
    assert [(given.dtype, given.shape, given.values) for given in told.inputs] == [
        (given.dtype, given.shape, given.values) for given in drawn.inputs
    ]
    assert labels(call, ("input", "other")) == ["input", "other", "alpha"]


def test_a_process_that_dies_costs_one_call(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """A worker that dies at its second call, and answers all the others."""
    script = tmp_path / "worker.py"
    script.write_text(
        "import json, os, sys\nprint(flush=True)\nfor line in sys.stdin:\n    task = json.loads(line)\n"
        "    for number in range(task['start'], task['stop']):\n        print(number, flush=True)\n"
        "        if number == 1:\n            os._exit(3)\n"
        "        print(json.dumps({'outcome': 'accepted', 'remarks': []}), flush=True)\n    print(flush=True)\n"
    )
    monkeypatch.setattr("opscan.checking.crew.COMMAND", (sys.executable, str(script)))
    results = list(examine_all([Task("add", 0, 4, 0, 0.0, 1.0)], jobs=1))
    assert [(number, told["outcome"]) for _, number, told in results] == [
        (0, "accepted"), (1, "died"), (2, "accepted"), (3, "accepted"),
    ]  # fmt: skip


def test_what_torch_refuses_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    call = FreshCall("torch.mm", (Drawn("float32", (2, 3)), Drawn("float32", (2, 3))), {})
    assert examine(call, 0, oracles=False, seconds=20).outcome == "refused"
    answer = Classification((claim(NumericClass.SELECT_ONLY),), "golden")
    monkeypatch.setattr("opscan.checking.examining.declare", lambda case: answer)
    found = examine(call, 0, oracles=False, seconds=20)
    assert [remark.kind for remark in found.remarks] == ["refused-but-answered"]


@pytest.mark.parametrize(
    ("numeric_class", "extent", "kinds"),
    [("select-only", 1, {"unsound"}), ("arithmetic", 1, {"unsound"}), ("accumulated", 3, {"unsound"}),
     ("accumulated", 6, set()), ("accumulated", 24, {"loose"})],
)  # fmt: skip
def test_a_planted_answer_is_seen(
    numeric_class: str, extent: int, kinds: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = FreshCall("torch.sum", (Drawn("float32", (6,)),), {})
    answer = Classification((claim(NumericClass(numeric_class), extent),), "golden")
    monkeypatch.setattr("opscan.checking.examining.declare", lambda case: answer)
    monkeypatch.setattr("opscan.checking.examining.classify", lambda case: Classification((), "golden"))
    assert {remark.kind for remark in examine(call, 1, oracles=True, seconds=20).remarks} == kinds


def claim(numeric_class: NumericClass, extent: int = 1, *path: Step) -> TensorClass:
    return TensorClass("output:0", "output", "fp32", (), numeric_class, extent=extent, path=path)


def test_sums_that_nest_may_move_as_many_elements_as_their_product() -> None:
    summed = NumericClass.ACCUMULATED
    nested = claim(summed, 5, Step("aten.mm.default", "forward", summed, 5), Step("aten.sum.default", "forward", summed, 4))
    seen = Truth(True, 1, exact=False, rounded_once=False, fan=20)
    assert most_addends(nested) == 20
    assert not contradiction(nested, seen)
    assert contradiction(claim(summed, 5), seen).startswith("extent too small")


def test_every_field_of_an_answer_is_compared() -> None:
    answer = Classification((claim(NumericClass.ACCUMULATED, 6),), "golden")
    assert not list(differences(answer, answer))
    other = Classification((claim(NumericClass.ACCUMULATED, 7),), "golden")
    assert [remark.text for remark in differences(answer, other)] == ["extent 6; traced 7"]
    assert [remark.kind for remark in differences(answer, Classification((), "golden"))] == ["differing"]


def test_a_part_of_the_operators_can_be_chosen() -> None:
    tasks = tasks_of(("matmul",), calls=100, seed=0, share=0, seconds=1)
    assert sum(task.stop - task.start for task in tasks) == 100
    assert {task.base for task in tasks} == {base for base in database() if "matmul" in base}
