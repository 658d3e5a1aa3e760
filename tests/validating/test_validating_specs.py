"""`validate_paths` on the sample catalog and on specs written here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from opscan.config import FolderSettings  # noqa: E402
from opscan.data import data_path  # noqa: E402
from opscan.model import Classification, Confirmation, NumericClass  # noqa: E402
from opscan.numerics import Classifier  # noqa: E402
from opscan.validating import bench, validate_paths  # noqa: E402
from opscan.validating.devices import open_device  # noqa: E402
from opscan.validating.experiments import Counts, Experiment  # noqa: E402
from opscan.validating.trials import Trial  # noqa: E402

CATALOG = data_path("catalog")
WHERE = CATALOG / "1000" / "torch.where_backward.yaml"


def _validated(*paths: Path, runs: int = 2, max_cases: int = 6) -> dict[tuple[str, str], Confirmation]:
    answers = validate_paths(paths, FolderSettings(), "simulated", runs=runs, max_cases=max_cases)
    return {(Path(one.path).name, one.tensor): one for one in answers}


def test_only_the_broadcast_gradient_of_where_differs() -> None:
    answers = {name: one for (_, name), one in _validated(WHERE, runs=3, max_cases=8).items()}
    assert set(answers) == {"output:0", "grad:input", "grad:other"}
    for name in ("output:0", "grad:input"):
        assert (answers[name].verdict, answers[name].differing) == ("confirmed", 0)
        assert answers[name].runs > 0
        assert answers[name].counterfactual_differing is None
    other = answers["grad:other"]
    assert other.numeric_class == NumericClass.BROADCAST_REDUCED
    assert other.verdict == "confirmed"
    assert other.differing > 0
    assert other.worst_ulp >= 1
    assert other.counterfactual_differing == 0
    assert other.counterfactual_runs == other.runs
    assert "where it is select-only none of" in other.reason


def test_the_same_seed_gives_the_same_answer() -> None:
    assert _validated(WHERE) == _validated(WHERE)


def test_the_number_of_threads_is_put_back() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        _validated(WHERE, runs=1, max_cases=1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_wrong_claim_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Classifier.classify

    def lie(self: Classifier, case: object, golden: object = None) -> Classification:
        told = honest(self, case, golden)
        tensors = tuple(
            replace(tensor, numeric_class=NumericClass.SELECT_ONLY) if tensor.name == "grad:other" else tensor
            for tensor in told.tensors
        )
        return replace(told, tensors=tensors)

    monkeypatch.setattr(Classifier, "classify", lie)
    answer = _validated(WHERE)[WHERE.name, "grad:other"]
    assert answer.verdict == "refuted"
    assert answer.numeric_class == NumericClass.SELECT_ONLY
    assert f"{answer.differing} of {answer.runs} runs differ" in answer.reason


SUBSET = (
    "Tensor.repeat_backward", "float_small_nd_torch.where_backward", "torch.add_backward", "torch.cat_backward",
    "torch.clamp_backward", "torch.cumsum_backward", "torch.div_backward", "torch.gather_backward",
    "torch.index_select_backward", "torch.matmul_backward", "torch.maximum_backward", "torch.mean_backward",
    "torch.nn.functional.avg_pool2d_backward", "torch.nn.functional.embedding_backward",
    "torch.nn.functional.layer_norm_backward", "torch.nn.functional.linear_backward",
    "torch.nn.functional.max_pool2d_overlap_backward", "torch.nn.functional.pad_reflect_backward",
    "torch.nn.functional.softmax_backward", "torch.sub_backward", "torch.tanh_backward", "torch.eye", "torch.sum",
)  # fmt: skip


def test_no_class_of_the_sample_catalog_is_refuted() -> None:
    """A third of the catalog; `opscan validate catalog` runs all of it."""
    answers = _validated(*(CATALOG / "1000" / f"{name}.yaml" for name in SUBSET))
    assert {Path(name).stem for name, _ in answers} == set(SUBSET)
    assert {key: one.reason for key, one in answers.items() if one.verdict != "confirmed"} == {}
    reduced = (NumericClass.BROADCAST_REDUCED, NumericClass.ACCUMULATED)
    assert all(one.differing for one in answers.values() if one.numeric_class in reduced)


def _case_file(folder: Path, name: str, *shapes: object, backward: bool = True) -> Path:
    """A case file of one case; a shape is a list, or (dtype, shape, range)."""
    inputs = []
    for shape in shapes:
        dtype, size, limits = shape if isinstance(shape, tuple) else ("fp32", shape, [-5, 5])
        inputs.append({"type": "tensor", "dtype": dtype, "shape": size, "range_values": limits, "required": True})
    case = {"id": 0, "name": name, "api_type": "function", "backward": backward, "inputs": inputs}
    path = folder / f"all_{name}.json"
    path.write_text(json.dumps([case | {"standard": {"acc": "equal"}}]), encoding="utf-8")
    return path


def test_a_case_file_alone(tmp_path: Path) -> None:
    path = _case_file(tmp_path, "torch.mul", [64, 8], [8])
    answers = _validated(path)
    assert answers[path.name, "grad:other"].counterfactual_differing == 0
    assert {one.verdict for one in answers.values()} == {"confirmed"}


def test_cases_over_the_limit_are_skipped_with_the_reason(tmp_path: Path) -> None:
    path = _case_file(tmp_path, "torch.exp", [4096, 4096])
    answers = _validated(path)
    assert {one.verdict for one in answers.values()} == {"skipped"}
    assert all("4194304 elements" in one.reason for one in answers.values())


def test_random_results_are_skipped(tmp_path: Path) -> None:
    path = _case_file(tmp_path, "torch.nn.functional.dropout", [64])
    assert {one.verdict for one in _validated(path).values()} == {"skipped"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name: torch.nosuch\ninputs:\n  - {name: input, type: tensor, dtypes: {values: [fp32]}}\n", "nosuch"),
        ("name: torch.exp\ninputs: [", "line 2"),
    ],
)
def test_what_cannot_run_is_skipped_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "torch.nosuch.yaml"
    path.write_text(text, encoding="utf-8")
    (answer,) = _validated(path).values()
    assert answer.verdict == "skipped"
    assert reason in answer.reason


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    (answer,) = _validated(tmp_path / "gone.yaml").values()
    assert answer.verdict == "skipped"
    assert "no such file" in answer.reason


class _Here:
    """Runs experiments in this process, where its devices can be tampered with."""

    def answer(self, questions: list[Experiment | None], note: object = lambda *_: None) -> list[object]:
        device = open_device("simulated")
        found = [{} if one is None else Trial(device, one).counts() for one in questions]
        for one, counts in zip(questions, found, strict=True):
            note(one, counts)
        return found


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_workers", lambda *_: _Here())


@pytest.mark.usefixtures("here")
def test_a_device_that_refuses_one_operator_does_not_end_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from opscan.validating import simulated

    def refuse(call: object) -> None:
        if getattr(call, "packet", "") == "exp":
            raise ValueError("exp is not implemented on this device\nand a second line")

    monkeypatch.setattr(simulated, "_WAYS", (refuse, *simulated._WAYS))
    answers = _validated(_case_file(tmp_path, "torch.exp", [64]), _case_file(tmp_path, "torch.neg", [64]))
    assert answers["all_torch.exp.json", "output:0"].verdict == "skipped"
    assert answers["all_torch.exp.json", "output:0"].reason.endswith("exp is not implemented on this device")
    assert answers["all_torch.neg.json", "output:0"].verdict == "confirmed"


@pytest.mark.usefixtures("here")
def test_ties_do_not_refute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A device that takes the last of equal values: allowed where the class says that values decide."""
    from opscan.validating import simulated

    def last_of_equals(call: object) -> object:
        if getattr(call, "packet", "") != "argmax":
            return None
        data = call.arguments["self"]
        last = data.numel() - 1 - data.flip(0).argmax()
        return lambda: last

    monkeypatch.setattr(simulated, "_WAYS", (last_of_equals, *simulated._WAYS))
    monkeypatch.setattr(
        simulated, "_overwrite", lambda native, value: native.copy_(value) if native.dtype == torch.int64 else None
    )
    path = _case_file(tmp_path, "torch.argmax", ("fp16", [4096], [1, 1]), backward=False)
    answer = _validated(path)[path.name, "output:0"]
    assert (answer.verdict, answer.differing) == ("not-shown", answer.runs)
    assert "ties" in answer.reason


def test_the_golden_of_an_executor_is_run() -> None:
    answers = _validated(data_path("catalog", "1000", "scale_shift_backward.yaml"))
    told = {tensor: answer.verdict for (_, tensor), answer in answers.items()}
    assert {told[name] for name in ("grad:scale", "grad:shift")} == {"confirmed"}
    assert "skipped" not in told.values()


def test_runs_are_judged_under_the_written_and_the_recommended_standard() -> None:
    """`equal` fails the broadcast gradient, and what is recommended passes it; the others pass both."""
    answers = {name: one for (_, name), one in _validated(WHERE, runs=3, max_cases=8).items()}
    for name, one in answers.items():
        written, recommended = one.under
        assert written.standard == "equal"
        assert written.failed == (one.differing if name == "grad:other" else 0)
        assert (recommended.failed, one.unrepeated) == (0, 0)
        assert one.repeats


@pytest.mark.usefixtures("here")
def test_a_wrong_kernel_fails_the_recommended_standard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from opscan.validating import simulated

    def drop_the_last(call: object) -> object:
        if getattr(call, "packet", "") != "sum":
            return None
        data = call.arguments["self"]
        return data[:-8].sum

    monkeypatch.setattr(simulated, "_WAYS", (drop_the_last, *simulated._WAYS))
    path = _case_file(tmp_path, "torch.sum", ("fp32", [512], [1, 2]), backward=False)
    answer = _validated(path)[path.name, "output:0"]
    assert answer.under[1].failed == answer.runs


@pytest.mark.usefixtures("here")
def test_a_device_that_is_not_deterministic_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from opscan.validating import simulated

    made = []

    def stray(call: object) -> object:
        if getattr(call, "packet", "") != "neg":
            return None
        made.append(call)
        return lambda: torch.full((64,), float(len(made)))

    monkeypatch.setattr(simulated, "_WAYS", (stray, *simulated._WAYS))
    answer = _validated(_case_file(tmp_path, "torch.neg", [64], backward=False))["all_torch.neg.json", "output:0"]
    assert (answer.repeats, answer.unrepeated) == (1, 1)
    assert "not deterministic" in answer.reason


def test_a_case_that_hangs_costs_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that takes ever longer than it may; the case after it is run."""
    from opscan.validating import choosing

    monkeypatch.setattr(choosing, "MAX_ELEMENTS", 1 << 40)
    slow = _case_file(tmp_path, "torch.cdist", [2000, 64], [2000, 64], backward=False)
    quick = _case_file(tmp_path, "torch.neg", [64], backward=False)
    answers = validate_paths([slow, quick], FolderSettings(), "simulated", runs=2000, max_cases=1, seconds=2.0)
    found = {Path(one.path).name: one for one in answers}
    assert found[quick.name].verdict == "confirmed"
    assert "ran longer than 2 s" in found[slow.name].reason


def test_a_run_that_was_cut_off_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OPSCAN_CACHE", "on")
    paths = [_case_file(tmp_path, name, [64], backward=False) for name in ("torch.neg", "torch.exp", "torch.tanh")]
    asked: list[list[str | None]] = []

    class Ending(_Here):
        """Ends after two cases, once."""

        def answer(self, questions: list[Experiment | None], note: object = None) -> list[object]:
            if questions == [None]:
                return super().answer(questions)
            asked.append([one.case.name for one in questions])
            if len(asked) > 1:
                return super().answer(questions, note)
            super().answer(questions[:2], note)
            raise KeyboardInterrupt

    monkeypatch.setattr(bench, "_workers", lambda *_: Ending())
    run = {"runs": 2, "max_cases": 2}
    with pytest.raises(KeyboardInterrupt):
        validate_paths(paths, FolderSettings(), "simulated", **run)
    resumed = validate_paths(paths, FolderSettings(), "simulated", resume=True, **run)
    assert asked == [["torch.neg", "torch.exp", "torch.tanh"], ["torch.tanh"]]
    assert resumed == validate_paths(paths, FolderSettings(), "simulated", **run)
    assert len(asked[-1]) == 3  # all was done: nothing is left to take over
    assert validate_paths(paths, FolderSettings(), "simulated", resume=True, **run) == resumed
    assert len(asked[-1]) == 3


def test_counts_travel_whole() -> None:
    from opscan.validating.experiments import dump, load

    counts = {"output:0": Counts(3, 2, 1.5, 1, 0, 1, 1, 2, 1, "no", "why", "note", 5)}
    assert load(json.loads(json.dumps(dump(counts)))) == counts
