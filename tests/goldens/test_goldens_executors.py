"""Executor plugins as people write them, classified through their own code; and those that must not be followed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from opscan.explaining import case_of
from opscan.model import Case, Plugin, Source
from opscan.reading.plugins import read_plugin

pytest.importorskip("torch", reason="goldens are followed with PyTorch")

HERE = Path(__file__).parent
FOLLOWED = yaml.safe_load((HERE / "executors.yaml").read_text(encoding="utf-8"))
REFUSED = yaml.safe_load((HERE / "refusals.yaml").read_text(encoding="utf-8"))
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


def plugin_of(entry: dict[str, Any], path: Path = Path("executor_sample.py")) -> tuple[Plugin, int]:
    """The plugin of an entry, and the line before its code."""
    head = HEAD + entry.get("before", "") + '\n@register("sample")\n'
    plugin = read_plugin(Source(path, head + entry["code"]))
    if not isinstance(plugin, Plugin):  # its base class is not ATK's, so only the decorator tells
        raise TypeError(plugin)
    return plugin, head.count("\n")


def case_for(entry: dict[str, Any]) -> Case:
    texts = entry.get("inputs", ["x=fp32[4,8]"])
    case = case_of("torch.none", [text.removeprefix("#") for text in texts], backward=entry.get("backward", True))
    values = entry.get("values", {})
    inputs = tuple(
        replace(
            given,
            name=None if text.startswith("#") else given.name,
            dtype=entry.get("dtypes", {}).get(given.name, given.dtype),
            values=values.get(given.name, given.values),
        )
        for text, given in zip(texts, case.inputs, strict=True)
    )
    return replace(case, inputs=inputs, name=entry.get("name"), api_type="sample", outputs=entry.get("outputs"))


@pytest.mark.parametrize("title", FOLLOWED)
def test_followed(title: str) -> None:
    from opscan.numerics.classify import classify

    entry = FOLLOWED[title]
    plugin, _ = plugin_of(entry)
    known = classify(case_for(entry), plugin)
    told = {tensor.name: str(tensor.numeric_class) for tensor in known.tensors}
    assert known.basis == "plugin", known.reason
    listed = entry["tensors"]
    assert {name: told.get(name) for name in listed} == listed
    assert {name for name in told if name.startswith("output")} == {n for n in listed if n.startswith("output")}
    for tensor in known.tensors:
        if tensor.name in entry.get("depends_on", {}):
            assert list(tensor.depends_on) == entry["depends_on"][tensor.name]
        if tensor.name in entry.get("extents", {}):
            assert tensor.extent == entry["extents"][tensor.name], tensor.name


@pytest.mark.parametrize("title", REFUSED)
def test_refused(title: str, tmp_path: Path) -> None:
    import re

    from opscan.numerics.classify import classify

    canary = tmp_path / "canary"
    entry = REFUSED[title]
    entry = {**entry, "code": entry["code"].replace("{canary}", str(canary))}
    plugin, above = plugin_of(entry)
    known = classify(case_for(entry), plugin)
    assert not known.tensors
    wanted = re.escape(entry["reason"]) if "\\" not in entry["reason"] else entry["reason"]
    assert re.search(wanted, known.reason), known.reason
    assert "executor_sample.py:" in known.reason
    if entry["line"]:
        assert f"executor_sample.py:{entry['line'] + above}:" in known.reason, (known.reason, above)
    assert not canary.exists()
