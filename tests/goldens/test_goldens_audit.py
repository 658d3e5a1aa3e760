"""A spec, its generator and its executor through the whole audit; and case files beside their executors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opscan.audit import audit_paths
from opscan.config import Settings
from opscan.model import FileReport

pytest.importorskip("torch", reason="goldens are followed with PyTorch")

IMPORTS = """import torch
from atk.tasks.api_execute import register
from atk.tasks.api_execute.base_api import BaseApi
from atk.tasks.api_execute.aclnn_base_api import AclnnBaseApi
"""
GENERATOR = """
from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
@GENERATOR_REGISTRY.register("gen_bias")
class Bias(CaseGenerator):
    def after_case_config(self, case_config):
        x, bias = case_config.inputs
        bias.shape = [x.shape[-1]]
        return case_config
"""
INPUT = """  - name: {name}
    type: tensor
    required: true
    dtypes: {{values: [fp32]}}
    ranges: {{valid: {{values: [[-5, 5]]}}}}
    shapes: {{dim_numbers: {{values: [{rank}]}}, dim_values: {{values: [4, 8]}}}}
"""
SPEC = (
    """name: NAME
api: pytorch
api_type: golden_bias
generate: gen_bias
backward: true
standard:
  acc: equal
dtype_numbers: 8
extra_numbers: 0
inputs:
"""
    + INPUT.format(name="x", rank=2)
    + INPUT.format(name="bias", rank=1)
)


def executor(body: str) -> str:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return (
        f'{IMPORTS}\n@register("golden_bias")\nclass Bias(BaseApi):\n'
        f"    def __call__(self, input_data, with_output=False):\n{lines}"
    )


FOLLOWED = executor('return input_data.kwargs["x"] + input_data.kwargs["bias"]')
LOST = executor('return input_data.kwargs["x"].numpy()')


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPSCAN_CACHE", "off")


def audit(folder: Path, files: dict[str, str], *names: str) -> list[FileReport]:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    audited = audit_paths([folder / name for name in names], Settings())
    return list(audited.audit.files)


def test_a_spec_whose_operator_is_only_in_its_executor(tmp_path: Path) -> None:
    files = {
        "bias_backward.yaml": SPEC.replace("NAME", "mystery_operator"),
        "gen.py": GENERATOR,
        "executor_bias.py": FOLLOWED,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    audited = audit_paths([tmp_path / "bias_backward.yaml"], Settings())
    (report,) = audited.audit.files
    told = {tensor.name: str(tensor.numeric_class) for tensor in report.tensors}
    assert told == {"output:0": "arithmetic", "grad:x": "select-only", "grad:bias": "broadcast-reduced"}
    assert (report.basis, report.status) == ("plugin", "too-strict")
    (finding,) = [finding for finding in audited.audit.findings if finding.rule == "OPS101"]
    assert (finding.severity, finding.fix) == ("error", "safe")
    assert finding.edits


def test_an_edit_is_not_safe_where_the_golden_went_by_values(tmp_path: Path) -> None:
    reading = executor('x = input_data.kwargs["x"]\nreturn (x if x.max() > 0 else -x) * input_data.kwargs["bias"]')
    files = {"bias_backward.yaml": SPEC.replace("NAME", "bias_mul"), "gen.py": GENERATOR, "executor_bias.py": reading}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    audited = audit_paths([tmp_path / "bias_backward.yaml"], Settings())
    (finding,) = [finding for finding in audited.audit.findings if finding.rule == "OPS101"]
    assert finding.fix == "unsafe"


def test_an_executor_that_cannot_be_followed_is_named_with_its_line(tmp_path: Path) -> None:
    files = {
        "bias_backward.yaml": SPEC.replace("NAME", "mystery_operator"),
        "gen.py": GENERATOR,
        "executor_bias.py": LOST,
    }
    (report,) = audit(tmp_path, files, "bias_backward.yaml")
    assert report.status == "unknown"
    assert report.reason.endswith("executor_bias.py:9: `.numpy` of a tensor cannot be followed")


def test_without_the_executor_the_spec_is_unknown(tmp_path: Path) -> None:
    files = {"bias_backward.yaml": SPEC.replace("NAME", "mystery_operator"), "gen.py": GENERATOR}
    (report,) = audit(tmp_path, files, "bias_backward.yaml")
    assert report.status == "unknown"
    assert "executor `golden_bias` is not in any plugin beside the spec" in report.reason


SECOND = FOLLOWED.replace("class Bias", "class Other")


@pytest.mark.parametrize(
    ("executors", "place"),
    [
        ({"executor_bias.py": LOST}, "executor_bias.py:9: `.numpy` of a tensor cannot be followed"),
        ({"executor_bias.py": FOLLOWED + "        return (1\n"}, "executor_bias.py:10: Python cannot parse the file"),
        ({"one.py": FOLLOWED, "two.py": SECOND}, "executor `golden_bias` is registered by 2 plugins"),
    ],
)
@pytest.mark.parametrize("name", ["torch.add", "aclnnAdd", "mystery_operator"])
def test_no_name_stands_in_for_an_executor_that_is_there(
    executors: dict[str, str], place: str, name: str, tmp_path: Path
) -> None:
    files = {"bias_backward.yaml": SPEC.replace("NAME", name), "gen.py": GENERATOR, **executors}
    cases = {"atk_bias.json": json.dumps([case(0, name=name)])}
    for report in audit(tmp_path, {**files, **cases}, "bias_backward.yaml", "atk_bias.json"):
        assert (report.status, report.basis, report.tensors) == ("unknown", "none", ())
        assert place in report.reason


HELPED = FOLLOWED.replace("import torch", "import torch\nIMPORT", 1)


@pytest.mark.parametrize(
    ("imported", "used"),
    [
        ("from refs.rows import total", "total"),
        ("from refs import rows", "rows.total"),
        ("import refs.rows", "refs.rows.total"),
        ("import refs.rows as r", "r.total"),
        ("from refs import total", "total"),
        ("from refs.rows import *", "total"),
    ],
)
def test_a_package_beside_the_executor_is_followed(imported: str, used: str, tmp_path: Path) -> None:
    (tmp_path / "refs").mkdir()
    (tmp_path / "refs" / "__init__.py").write_text("from .rows import total\n", encoding="utf-8")
    (tmp_path / "refs" / "rows.py").write_text("def total(x):\n    return -x.sum(0)\n", encoding="utf-8")
    code = HELPED.replace("IMPORT", imported).replace('input_data.kwargs["x"] +', f'{used}(input_data.kwargs["x"]) +')
    files = {"bias_backward.yaml": SPEC.replace("NAME", "torch.neg"), "gen.py": GENERATOR, "executor_bias.py": code}
    (report,) = audit(tmp_path, files, "bias_backward.yaml")
    assert report.basis == "plugin", report.reason
    assert {tensor.name: str(tensor.numeric_class) for tensor in report.tensors}["output:0"] == "accumulated"


def test_a_helper_that_stops_is_named_with_its_line(tmp_path: Path) -> None:
    helper = "def total(x):\n    return x.numpy().sum(0)\n"
    code = HELPED.replace("IMPORT", "from helper import total").replace('input_data.kwargs["x"] +', "total(1) +")
    files = {"bias_backward.yaml": SPEC.replace("NAME", "torch.neg"), "gen.py": GENERATOR, "executor_bias.py": code}
    (report,) = audit(tmp_path, {**files, "helper.py": helper}, "bias_backward.yaml")
    assert report.status == "unknown"
    assert "in helper.py:2" in report.reason


def test_what_is_remembered_holds_for_the_helpers_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPSCAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    code = HELPED.replace("IMPORT", "from helper import total")
    code = code.replace('input_data.kwargs["x"] +', 'total(input_data.kwargs["x"]) +')
    files = {"bias_backward.yaml": SPEC.replace("NAME", "torch.neg"), "gen.py": GENERATOR, "executor_bias.py": code}
    told = []
    for helper in ("-x", "x.sum(0)", "-x"):
        (report,) = audit(
            tmp_path, {**files, "helper.py": f"def total(x):\n    return {helper}\n"}, "bias_backward.yaml"
        )
        told.append({tensor.name: str(tensor.numeric_class) for tensor in report.tensors}["output:0"])
    assert told == ["arithmetic", "accumulated", "arithmetic"]


def test_the_name_decides_where_no_executor_is_at_hand(tmp_path: Path) -> None:
    (report,) = audit(tmp_path, {"add.yaml": SPEC.replace("NAME", "torch.add"), "gen.py": GENERATOR}, "add.yaml")
    assert report.basis == "name"
    assert {tensor.name for tensor in report.tensors} >= {"output:0"}


@pytest.mark.parametrize(
    ("plugins", "reason"),
    [
        ({}, "generator `gen_bias` is not in any plugin"),
        ({"gen.py": GENERATOR.replace("x, bias =", "x, bias ==")}, "gen.py:7: "),
        ({"gen.py": GENERATOR.replace("[x.shape[-1]]", "json.load(open('t.json'))")}, "gen.py:8: "),
        ({"gen.py": GENERATOR.replace("[x.shape[-1]]", "[x.shape[-1]")}, "gen.py:8: Python cannot parse the file"),
    ],
)
@pytest.mark.parametrize("name", ["torch.add", "torch.less"])
def test_without_the_generator_nothing_is_said(plugins: dict[str, str], reason: str, name: str, tmp_path: Path) -> None:
    """Even `less`, whose class no shape changes: a generator may change dtypes and attributes as well."""
    spec = SPEC.replace("NAME", name).replace("api_type: golden_bias", "api_type: function")
    (report,) = audit(tmp_path, {"spec.yaml": spec, **plugins}, "spec.yaml")
    assert (report.status, report.tensors) == ("unknown", ())
    assert reason in report.reason


def case(number: int, **more: Any) -> dict[str, Any]:
    inputs = [
        {"name": name, "type": "tensor", "required": True, "dtype": "fp32", "shape": shape, "range_values": [-5, 5]}
        for name, shape in (("x", [4, 8]), ("bias", [8]))
    ]
    return {
        "id": number, "name": "aclnnMystery", "api": "pytorch", "api_type": "golden_bias", "backward": False,
        "standard": {"acc": "equal", "perf": "not_key"}, "inputs": inputs, **more,
    }  # fmt: skip


def test_a_case_file_beside_its_executor(tmp_path: Path) -> None:
    files = {
        "atk_aclnnMystery.json": json.dumps([case(0), case(1, backward=True), case(2, api_type="elsewhere")]),
        "executor_aclnnMystery.py": FOLLOWED,
    }
    (report,) = audit(tmp_path, files, "atk_aclnnMystery.json")
    told = {tensor.name: str(tensor.numeric_class) for tensor in report.tensors}
    assert report.basis == "plugin"
    assert told["output:0"] == "arithmetic"
    assert told["grad:bias"] == "broadcast-reduced"
    assert report.verdicts["unknown"] == 1


def test_another_golden_under_the_same_name_is_another_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPSCAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    summing = executor('return (input_data.kwargs["x"] + input_data.kwargs["bias"]).sum(0)')
    told = []
    for text in (FOLLOWED, summing, FOLLOWED):
        (report,) = audit(tmp_path, {"atk_x.json": json.dumps([case(0)]), "executor_x.py": text}, "atk_x.json")
        told.append(str(report.tensors[0].numeric_class))
    assert told == ["arithmetic", "accumulated", "arithmetic"]
