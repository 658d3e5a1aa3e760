"""Goldens that are run under the tracer: the classes are those that were reasoned for the goldens that are followed.

The samples of `tests/goldens` are called in this process, which spares many starts of PyTorch; two go the whole way.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("torch", reason="goldens are traced with PyTorch")

import torch
from running_builders import lay_out

from opscan.audit import audit_paths
from opscan.config import Settings
from opscan.explaining import case_of
from opscan.model import Audit, Case, Classification
from opscan.numerics.classify import classify_golden
from opscan.running import goldens
from opscan.running.child import STANDIN
from opscan.running.guards import note_backward
from opscan.running.isolation import Watch
from opscan.running.loading import Failed
from opscan.running.messages import Tracing

SAMPLES = yaml.safe_load((Path(__file__).parents[1] / "goldens" / "executors.yaml").read_text(encoding="utf-8"))
HEAD = """import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from atk.configs.dataset_config import InputDataset
from atk.configs.results_config import TaskResult
from atk.tasks.api_execute import register
from atk.tasks.api_execute.aclnn_base_api import AclnnBaseApi
from atk.tasks.api_execute.base_api import BaseApi
from atk.tasks.api_execute.function_api import FunctionApi
from atk.tasks.dataset.base_dataset import OpsDataset
"""
BY_VALUES = {
    "elements chosen by a mask",
    "counts that are read decide the shapes",
    "a branch on values holds for the values that were drawn",
    "a number that is read carries its own class",
    "numbers that left a tensor are added up by Python",
    "a Horner chain over numbers, and a mean of numbers",
    "numbers that are chosen, compared with a bound or put back are copies",
    "a number beside a tensor rounds as it does in torch, and widens nothing",
    "a guard that only raises decides nothing that is compared",
    "a guard whose exception is caught decides what comes after",
    "values on the device are the same values",
    "an attribute that is no parameter is not given to the operator",
}
"""What only values, the device or ATK's own dispatch decide is not told by a run; the reading of the text tells it."""
LOOSER = {
    "tiles of a function that yields, seeded inputs, and a message that the environment asks for",
    "what init_by_input_data draws is an input like others",
    "a generator with a fixed seed draws constants",
    "torch.manual_seed makes constants of what is drawn on the host",
}
"""A run does not know what was drawn before the comparison or by a seed: it says random, or nothing."""


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`import atk` finds the stand-in, and what a run changes of torch is put back."""
    monkeypatch.syspath_prepend(STANDIN)
    for owner, name in ((torch.autograd, "grad"), (torch.autograd, "backward"), (torch.Tensor, "backward")):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    state = torch.are_deterministic_algorithms_enabled()
    yield
    torch.use_deterministic_algorithms(state)
    for name in [name for name in sys.modules if name.split(".")[0] in ("atk", "torch_npu")]:
        del sys.modules[name]


def case_for(entry: dict[str, Any]) -> Case:
    texts = entry.get("inputs", ["x=fp32[4,8]"])
    case = case_of("torch.none", [text.removeprefix("#") for text in texts], backward=entry.get("backward", True))
    values = entry.get("values", {})
    inputs = tuple(
        replace(given, name=None if text.startswith("#") else given.name, values=values.get(given.name, given.values))
        for text, given in zip(texts, case.inputs, strict=True)
    )
    return replace(case, inputs=inputs, name=entry.get("name"), api_type="sample", outputs=entry.get("outputs"))


def called(code: str, case: Case, folder: Path) -> Classification:
    path = folder / "executor_sample.py"
    path.write_text(code, encoding="utf-8")
    job = Tracing(plugin=str(path), executor="sample", cases=(case,))
    watch = Watch(str(folder), str(folder))
    ends: list[Failed] = []
    sys.modules.pop("executor_sample", None)
    executor = goldens._find(job, watch)
    note_backward()
    known = classify_golden(goldens._golden(executor, job, case, watch, ends), case)
    assert not ends
    return known


@pytest.mark.usefixtures("standin")
@pytest.mark.parametrize("title", SAMPLES)
def test_a_run_finds_the_reasoned_classes_or_none(title: str, tmp_path: Path) -> None:
    entry = SAMPLES[title]
    code = HEAD + entry.get("before", "") + '\n@register("sample")\n' + entry["code"]
    known = called(code, case_for(entry), tmp_path)
    told = {tensor.name: str(tensor.numeric_class) for tensor in known.tensors}
    if not told:
        assert title in BY_VALUES, known.reason
        return
    listed = entry["tensors"]
    if title in LOOSER:
        assert all(told.get(name) in (kind, "random", None) for name, kind in listed.items())
        return
    assert {name: told.get(name) for name in listed} == listed


# -- what the text cannot show ----------------------------------------------------------------------------------------

CLASSES = "class A(BaseApi):\n    def __call__(self, input_data, with_output=False):\n"
PAIR = {"inputs": ["x=fp32[4,8]", "y=fp32[1,8]"]}
SHOWN = [
    (
        "a context manager, a default dictionary and numbers of numpy",
        """
        import collections
        import contextlib
        values = collections.defaultdict(list)
        with contextlib.nullcontext():
            count = int(np.prod(np.array(input_data.kwargs["x"].shape)))
            values["sum"].append(input_data.kwargs["x"].reshape(count).reshape(4, 8) + input_data.kwargs["y"])
        return values["sum"][0]
        """,
        {"output:0": "arithmetic", "grad:x": "select-only", "grad:y": "broadcast-reduced"},
    ),
    (
        "a function of autograd with a backward of its own",
        """
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.save_for_backward(x, y)
                return x * y

            @staticmethod
            def backward(ctx, upstream):
                x, y = ctx.saved_tensors
                return upstream * y, (upstream * x).cumsum(0)[-1:]

        return Scaled.apply(input_data.kwargs["x"], input_data.kwargs["y"])
        """,
        {"output:0": "arithmetic", "grad:x": "arithmetic", "grad:y": "accumulated"},
    ),
    (
        "autograd within the golden",
        """
        leaf = types.SimpleNamespace(y=input_data.kwargs["y"].detach().requires_grad_())
        (leaf.y * 1.0 + input_data.kwargs["x"].detach()).backward(input_data.kwargs["x"].detach())
        return leaf.y.grad
        """,
        {"output:0": "broadcast-reduced"},
    ),
    (
        "a constant by numpy",
        """
        ones = torch.tensor(np.ones(8, dtype=np.float32).tolist())
        return torch.where(ones > 0, input_data.kwargs["x"], input_data.kwargs["y"])
        """,
        {"output:0": "select-only", "grad:x": "select-only", "grad:y": "broadcast-reduced"},
    ),
]


@pytest.mark.usefixtures("standin")
@pytest.mark.parametrize(("body", "listed"), [row[1:] for row in SHOWN], ids=[row[0] for row in SHOWN])
def test_what_only_a_run_shows(body: str, listed: dict[str, str], tmp_path: Path) -> None:
    known = called(HEAD + 'import types\n@register("sample")\n' + CLASSES + body, case_for(PAIR), tmp_path)
    told = {tensor.name: str(tensor.numeric_class) for tensor in known.tensors}
    assert {name: told.get(name) for name in listed} == listed, known.reason


ESCAPES = [
    ("numpy", 'return torch.from_numpy(input_data.kwargs["x"].detach().numpy() * 2)'),
    ("an array", 'return torch.as_tensor(np.asarray(input_data.kwargs["x"].detach()))'),
    ("a list", 'return torch.tensor(input_data.kwargs["x"].tolist())'),
    ("a list, with a way out", """
        try:
            return torch.tensor(input_data.kwargs["x"].tolist())
        except Exception:
            return input_data.kwargs["x"]"""),
    ("a number", 'return input_data.kwargs["x"] * float(input_data.kwargs["x"].sum())'),
    ("a number, with a way out", """
        try:
            scale = input_data.kwargs["x"].sum().item()
        except Exception:
            scale = 1
        return input_data.kwargs["x"] * scale"""),
    ("a condition", 'return input_data.kwargs["x"] if input_data.kwargs["x"].sum() > 0 else 1'),
    ("a constant of the module", 'return input_data.kwargs["x"] + KEPT'),
    ("a file", 'return torch.load("x.pt")'),
    ("random numbers of Python", 'return input_data.kwargs["x"] * random.random()'),
    ("random numbers, and then a seed", """
        if random.random() < 2:
            OpsDataset.seed_everything()
            return input_data.kwargs["x"]"""),
    ("random numbers of numpy", 'return input_data.kwargs["x"] * float(np.random.rand())'),
    (
        "another thread",
        """
        import threading
        kept = input_data.kwargs["x"].clone()
        worker = threading.Thread(target=lambda: kept.add_(input_data.kwargs["y"].detach()))
        worker.start()
        worker.join()
        return kept""",
    ),
    ("something else", "return 'text'"),
]  # fmt: skip


@pytest.mark.usefixtures("standin")
@pytest.mark.parametrize("body", [body for _, body in ESCAPES], ids=[title for title, _ in ESCAPES])
def test_what_goes_around_the_tracer_is_not_told(body: str, tmp_path: Path) -> None:
    """A class that is too strict would be the one unforgivable answer."""
    head = HEAD + 'import random\nKEPT = torch.ones(8)\n@register("sample")\n'
    known = called(head + CLASSES + "        " + body.lstrip("\n ") + "\n", case_for(PAIR), tmp_path)
    assert known.tensors == ()
    assert known.reason


@pytest.mark.usefixtures("standin")
def test_a_golden_that_goes_by_the_number_of_its_case_is_never_sure(tmp_path: Path) -> None:
    body = '        return input_data.kwargs["x"] + (1 if self.task_result.case_config.id % 2 else 0)\n'
    known = called(HEAD + '@register("sample")\n' + CLASSES + body, case_for(PAIR), tmp_path)
    assert all("values" in tensor.depends_on for tensor in known.tensors)
    assert known.tensors


# -- through the sandbox ----------------------------------------------------------------------------------------------

GENERATOR = """
from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY


@GENERATOR_REGISTRY.register("g")
class Same(CaseGenerator):
    def after_case_config(self, case_config):
        case_config.inputs[1].shape = [1] + case_config.inputs[0].shape[1:]
        case_config.inputs[1].dtype = case_config.inputs[0].dtype
        return case_config
"""
EXECUTOR = """
import types


@register("golden_g")
class Golden(BaseApi):
    def __call__(self, input_data, with_output=False):
        kept = types.SimpleNamespace(x=input_data.kwargs["input"])
"""


def audited(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> Audit:
    monkeypatch.setenv("OPSCAN_CACHE", "off")
    lay_out(folder, GENERATOR, api_type="golden_g", backward="true", name="unheard_of", dtype_numbers="1")
    (folder / "executor_g.py").write_text(HEAD + EXECUTOR + body, encoding="utf-8")
    return audit_paths([folder / "torch.add.yaml"], Settings(run_generators=True)).audit


def test_a_golden_that_is_run_is_the_basis_of_a_safe_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = audited(tmp_path / "c", '        return kept.x + input_data.kwargs["other"]\n', monkeypatch)
    assert ran.files[0].basis == "plugin"
    (finding,) = [f for f in ran.findings if f.name == "standard-too-strict"]
    assert finding.fix == "safe"


def test_a_golden_that_misbehaves_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = audited(tmp_path / "c", "        import sys\n        sys.exit(4)\n", monkeypatch)
    (finding,) = [f for f in ran.findings if f.name == "plugin-stopped"]
    assert "executor_g.py:" in finding.message
    assert "calls sys.exit(4)" in finding.message
    assert ran.files[0].status == "unknown"
