"""What is followed computes what Python computes: the samples, written here, are also run on the same data."""

from __future__ import annotations

import copy
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("torch", reason="goldens are followed with PyTorch")

import torch

from opscan.explaining import case_of
from opscan.model import Plugin, Source
from opscan.numerics.goldens import golden_of
from opscan.reading.plugins import read_plugin

FOLLOWED = yaml.safe_load((Path(__file__).parent / "executors.yaml").read_text(encoding="utf-8"))
EXECUTED = [title for title, entry in FOLLOWED.items() if entry.get("executed", True)]
"""All but what needs ATK itself, or a device."""
NAMES = ("InputDataset", "TaskResult", "register", "AclnnBaseApi", "BaseApi", "FunctionApi", "OpsDataset")
IMPORTS = "import torch, math\nfrom torch import nn\nimport torch.nn.functional as F\nfrom atk.all import " + ", ".join(
    NAMES
)


class _Base:
    def __init__(self, task_result: Any) -> None:
        self.task_result = task_result
        self.api_name = task_result.case_config.name
        self.output = task_result.case_config.outputs
        self.device = self.name = "cpu"
        self.device_id = 0

    def init_by_input_data(self, input_data: Any) -> None: ...


class _Function(_Base):
    def __call__(self, input_data: Any, with_output: bool = False) -> Any:
        assert with_output
        result = eval(self.api_name)(*input_data.args, **input_data.kwargs)
        return result if self.output is None else input_data.args[self.output]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> dict[str, type]:
    """The classes that a plugin registers with a stand-in for ATK."""
    found: dict[str, type] = {}
    known: dict[str, Any] = {name: type(name, (), {"seed_everything": staticmethod(lambda *_: None)}) for name in NAMES}
    known |= {"BaseApi": _Base, "FunctionApi": _Function}
    known["register"] = lambda name: lambda cls: found.setdefault(name, cls)
    for name in ("atk", "atk.all"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["atk.all"].__dict__.update(known)
    return found


def inputs_of(entry: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    texts = [text.removeprefix("#") for text in entry.get("inputs", ["x=fp32[4,8]"])]
    args, kwargs = [], {}
    for text, given in zip(
        entry.get("inputs", texts), case_of("torch.none", texts, backward=False).inputs, strict=True
    ):
        low, high = entry.get("values", {}).get(given.name, (0, 1))
        value = [_draw(member, low, high) for member in given.members] if given.members else _draw(given, low, high)
        if text.startswith("#"):
            args.append(value)
        else:
            kwargs[given.name or ""] = value
    return args, kwargs


def _draw(given: Any, low: int, high: int) -> Any:
    from opscan.numerics.dtypes import TORCH_DTYPES

    if given.shape is None:
        return given.values
    dtype = getattr(torch, TORCH_DTYPES[given.dtype])
    if dtype.is_floating_point:
        return torch.randn(given.shape, dtype=torch.float64).to(dtype)
    return torch.randint(low, high + 1, given.shape, dtype=dtype)


def flat(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    return [tensor for one in values for tensor in flat(one)]


@pytest.mark.parametrize("title", EXECUTED)
def test_followed_equals_executed(title: str, registered: dict[str, type]) -> None:
    entry = FOLLOWED[title]
    text = f'{IMPORTS}\n{entry.get("before", "")}\n@register("sample")\n{entry["code"]}'
    plugin = read_plugin(Source(Path("executor_sample.py"), text))
    assert isinstance(plugin, Plugin)
    torch.manual_seed(7)
    args, kwargs = inputs_of(entry)
    case = types.SimpleNamespace(
        name=entry.get("name"), outputs=entry.get("outputs"), id=0, tensor_input=None, backward=False, inputs=()
    )
    task = types.SimpleNamespace(case_config=case)
    data = types.SimpleNamespace(args=copy.deepcopy(args), kwargs=copy.deepcopy(kwargs))
    exec(compile(text, "executor_sample.py", "exec"), {"__name__": "atk.all"})
    torch.manual_seed(7)
    try:
        executor = registered["sample"](task)
        executor.init_by_input_data(data)
        wanted = flat(executor(data, with_output=True))
    finally:
        torch.use_deterministic_algorithms(False)
    golden = golden_of(plugin, "sample", case)  # type: ignore[arg-type]
    assert not isinstance(golden, str)
    torch.manual_seed(7)
    told = flat(golden.call(*args, **kwargs))
    assert [tensor.dtype for tensor in told] == [tensor.dtype for tensor in wanted]
    for place, (one, other) in enumerate(zip(told, wanted, strict=True)):
        assert entry["tensors"].get(f"output:{place}") == "random" or torch.equal(one, other), place
