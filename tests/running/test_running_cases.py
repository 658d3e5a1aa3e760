"""Generators that behave: the run agrees with the reading of the text, and the cases are ATK's."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from running_builders import PRELUDE, lay_out, spec_text

from opscan import reading
from opscan.audit import audit_paths
from opscan.cli import cli
from opscan.config import ConfigError, Settings, load_settings
from opscan.model import CaseFile, CaseInput, Plugin, Spec
from opscan.opening import link, open_catalog
from opscan.running.evidence import by_run, run_generator
from opscan.shapes.atk_cases import regular_cases
from opscan.shapes.generator import Followed, follow

CATALOG = Path(__file__).parents[2] / "catalog"
COUNT = 30


def catalog_generators() -> Iterator[tuple[Spec, Plugin]]:
    """One spec of the sample catalog for each generator."""
    seen = set()
    for path in sorted(CATALOG.glob("[01]*/*.yaml")):
        spec = reading.read_file(path)
        if not isinstance(spec, Spec) or spec.generate in (*seen, "default"):
            continue
        plugin = open_catalog([path]).links(spec).generator
        if plugin is not None:
            seen.add(spec.generate)
            yield spec, plugin


PAIRS = list(catalog_generators())


def inputs_of(given: CaseInput) -> Any:
    if given.members is not None:
        return [inputs_of(member) for member in given.members]
    return given.shape, given.dtype, given.values


def test_the_sample_catalog_has_generators_of_many_kinds() -> None:
    assert len(PAIRS) > 20


@pytest.mark.parametrize(("spec", "plugin"), PAIRS, ids=[spec.generate for spec, _ in PAIRS])
def test_the_run_shows_what_the_reading_says(spec: Spec, plugin: Plugin) -> None:
    """From the same drawn cases and the same random numbers both make the very same cases."""
    ran = run_generator(spec, plugin, seed=1234, ceiling=COUNT)
    assert ran.faults == ()
    drawn = regular_cases(spec, min(COUNT, ran.counted), random.Random(1234), invalid=("tensor",))
    followed = follow(plugin, spec, drawn, len(drawn), 1234)
    assert isinstance(followed, Followed), followed
    assert followed.dropped == 0
    assert [[inputs_of(i) for i in case.inputs] for case in ran.cases] == [
        [inputs_of(i) for i in case.inputs] for case in followed.cases
    ]
    assert [case.acc for case in ran.cases] == [case.acc for case in followed.cases]


# -- the stand-in -----------------------------------------------------------------------------------------------------


def made(folder: Path, source: str, **more: str) -> Any:
    spec, plugin = lay_out(folder, source, **more)
    ran = run_generator(spec, plugin, seed=1234)
    assert ran.faults == (), ran.faults
    return ran


ENUMERATING = """\
import json
from pathlib import Path
from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from neighbour import WIDTH

TABLE = json.loads(Path(__file__).with_name("table.json").read_text())

@GENERATOR_REGISTRY.register("g")
class Enumerating(CaseGenerator):
    def _get_case_numbers(self):
        return len(TABLE)

    def generate(self):
        case = super().generate()
        if self.is_gen_extra:
            return case
        case.inputs[0].shape = TABLE[self.index - 1]
        template = case.inputs[1]
        case.inputs[1] = template.model_copy(update={"shape": [WIDTH], "dtype": "bf16"})
        return case
"""


def test_a_generator_may_replace_generate_and_bring_files(tmp_path: Path) -> None:
    folder = tmp_path / "plugin"
    folder.mkdir()
    (folder / "table.json").write_text("[[3], [4, 5], [], [0, 2]]")
    (folder / "neighbour.py").write_text("WIDTH = 9\n")
    ran = made(folder, ENUMERATING)
    assert ran.counted == 4
    assert [case.inputs[0].shape for case in ran.cases] == [(3,), (4, 5), (), (0, 2)]
    assert {(case.inputs[1].shape, case.inputs[1].dtype) for case in ran.cases} == {((9,), "bf16")}


def test_the_design_and_the_configuration_objects_are_there(tmp_path: Path) -> None:
    source = (
        PRELUDE
        + """\
        from atk.configs.design_config import StandardConfig
        design = self.config
        assert design.inputs[0].shapes.dim_values.values == [1, 2, 4, 8]
        assert design.inputs[1].dtypes.get_values() in ("fp32", "fp16")
        assert design.standard.acc == "equal" and design.dtype_numbers == 4
        assert case_config.id == 0 and case_config.standard.perf == "not_key"
        assert case_config.get_input_data_config(name="other") is case_config.inputs[1]
        case_config.standard = StandardConfig(acc="single_bm" if self.index % 2 else {"mixed_tolerance_bm": {}})
        first = case_config.inputs[0]
        case_config.inputs[1] = [InputCaseConfig(name="n", type="attrs", dtype="int", range_values=n) for n in (1, 2)]
        first.shape = tuple(first.shape)
        assert first.numel() == __import__("math").prod(first.shape)
        assert not first.is_range_null()
        return case_config
"""
    )
    ran = made(tmp_path / "plugin", source)
    assert [case.acc for case in ran.cases[:2]] == ["single_bm", {"mixed_tolerance_bm": {}}]
    members = ran.cases[0].inputs[1].members
    assert members is not None
    assert [member.values for member in members] == [1, 2]


DEVICE = """\
import copy
import torch_npu
from atk.common.log import Logger
from atk.common.utils import torch_load_safe
from atk.configs.dataset_config import InputDataset
from atk.configs.nodetype_config import NodeType
from atk.configs.results_config import AccuracyConfig, TaskResult
from atk.tasks.api_execute import register
from atk.tasks.api_execute.aclnn_base_api import AclnnBaseApi
from atk.tasks.api_execute.base_api import BaseApi
from atk.tasks.api_execute.function_api import FunctionApi
from atk.tasks.backends.lib_interface.acl_wrapper import AclFormat, AclTensorStruct
from atk.tasks.dataset.base_dataset import OpsDataset
from atk.tasks.post_process import ACCURACY_REGISTRY
from atk.tasks.post_process.base_compare import BaseAccuracyCompare
from atk.tasks.post_process.double_benchmark_compare import DoubleBenchmarkAccuracyCompare
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.case_generator.generator.generate_types.default import DefaultGenerator

logging = Logger().get_logger()


@register("executor_g")
class Executor(BaseApi):
    formats = {"NCHW": AclFormat.ACL_FORMAT_NCHW}

    def get_format(self, input_data: InputDataset, index=None, name=None):
        return AclFormat.ACL_FORMAT_ND


@register("aclnn_g")
class Kernel(AclnnBaseApi):
    def after_call(self, output_packages):
        return torch_npu.npu_format_cast(output_packages[0], 2)


@ACCURACY_REGISTRY.register("own")
class Compare(DoubleBenchmarkAccuracyCompare):
    pass


@GENERATOR_REGISTRY.register("g")
class Generator(DefaultGenerator):
    def after_case_config(self, case_config):
        logging.info("a case")
        other = copy.deepcopy(case_config)
        assert other == case_config and len({other, case_config}) == 1
        return other
"""


def test_what_executors_import_can_be_imported(tmp_path: Path) -> None:
    assert len(made(tmp_path / "plugin", DEVICE).cases) == 8


def test_some_cases_that_raise_are_left_out_and_told(tmp_path: Path) -> None:
    source = (
        PRELUDE
        + """\
        if self.index % 4 == 0:
            raise ValueError("no fourth")
        case_config.inputs[1].shape = case_config.inputs[0].shape
        return case_config
"""
    )
    spec, plugin = lay_out(tmp_path / "plugin", source)
    ran = run_generator(spec, plugin, seed=1)
    assert not ran.failed
    assert len(ran.cases) == 6
    assert [fault.rule for fault in ran.faults] == ["plugin-run-failed"]
    assert ran.faults[0].message.endswith(":12: raises ValueError: no fourth in 2 of 8 cases, which are left out")


# -- the evidence -----------------------------------------------------------------------------------------------------

TRICKY = (
    PRELUDE
    + """\
        first, second = case_config.inputs
        second.dtype = first.dtype
        second.shape = eval("[1] + list(first.shape[1:])")
        return case_config
"""
)


def test_what_cannot_be_read_can_be_run(tmp_path: Path) -> None:
    lay_out(tmp_path / "c", TRICKY, backward="true")
    path = tmp_path / "c" / "torch.add.yaml"
    read = audit_paths([path], Settings())
    assert {f.name for f in read.audit.findings} >= {"unknown-shapes"}
    ran = audit_paths([path], Settings(run_generators=True))
    (finding,) = [f for f in ran.audit.findings if f.name == "standard-too-strict"]
    assert finding.fix == "safe"
    assert {t.evidence for t in ran.audit.files[0].tensors} == {"generator-run"}


def test_modules_of_the_folders_in_the_settings(tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "sizes_of_all.py").write_text("import math\nWIDTH = math.prod([3, 3])\n")
    (tmp_path / "pyproject.toml").write_text("[tool.opscan]\nimport-folders = ['common', 'no_such_folder']\n")
    source = PRELUDE.replace("import os", "from sizes_of_all import WIDTH") + (
        "        case_config.inputs[1].shape = eval('[WIDTH]')\n        return case_config\n"
    )
    spec, plugin = lay_out(tmp_path / "c", source)
    found = by_run(spec, link([spec, plugin]), load_settings(tmp_path / "c", run_generators=True))
    assert (found.source, found.faults) == ("generator-run", ())
    assert {case.inputs[1].shape for case in found.cases} == {(9,)}
    (fault,) = by_run(spec, link([spec, plugin]), Settings(run_generators=True)).faults[1:]
    assert fault.rule == "plugin-run-failed"
    assert "generate_g.py:1: imports `sizes_of_all`, which is neither installed" in fault.message
    assert "setting import-folders" in fault.message


@pytest.mark.parametrize(("extra", "most"), [("all", 200), ("3", 200), ("0", 200), ("all", 6)])
def test_boundary_cases_are_part_of_the_evidence(tmp_path: Path, extra: str, most: int) -> None:
    source = (
        PRELUDE
        + "        case_config.inputs[1].shape = list(case_config.inputs[0].shape)\n        return case_config\n"
    )
    spec, plugin = lay_out(tmp_path / "c", source, extra_numbers=extra)
    evidence = by_run(spec, link([spec, plugin]), Settings(run_generators=True, run_cases=most))
    assert evidence.source == "generator-run"
    border = [case for case in evidence.cases if case.is_boundary]
    regular = len(evidence.cases) - len(border)
    assert {case.inputs[0].shape == case.inputs[1].shape for case in evidence.cases} == {True}
    assert [case.index for case in evidence.cases] == list(range(len(evidence.cases)))
    if extra == "all":
        shapes = {case.inputs[0].shape for case in border}
        assert any(0 in (shape or ()) for shape in shapes)
        assert (most == 6 and len(border) == regular == 3) or (() in shapes and regular == 8)
    else:
        assert (len(border), regular) == (int(extra), 8)


def test_a_plugin_that_fails_leaves_what_its_text_shows(tmp_path: Path) -> None:
    source = (
        PRELUDE.replace("import os", "import torch_npu_of_tomorrow")
        + """\
        case_config.inputs[1].shape = case_config.inputs[0].shape
        return case_config
"""
    )
    lay_out(tmp_path / "c", source, backward="true")
    ran = audit_paths([tmp_path / "c" / "torch.add.yaml"], Settings(run_generators=True))
    assert {f.name for f in ran.audit.findings} >= {"plugin-run-failed"}
    assert {t.evidence for t in ran.audit.files[0].tensors} == {"generator-static"}


def test_a_plugin_that_is_no_python_is_named(tmp_path: Path) -> None:
    lay_out(tmp_path / "c", PRELUDE + '        print "hello"\n')
    ran = audit_paths([tmp_path / "c" / "torch.add.yaml"], Settings(run_generators=True))
    (report,) = [report for report in ran.audit.files if report.kind == "spec"]
    assert report.status == "unknown"
    assert "generate_g.py:11: Python cannot parse the file" in report.reason
    assert "Python 2" in report.reason


# -- the promise ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["audit", "fix", "cases"])
def test_no_code_runs_without_the_flag(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: object, **__: object) -> None:
        raise AssertionError("a plugin was run")

    monkeypatch.setattr("opscan.running.apart.run_apart", started)
    monkeypatch.setattr("opscan.running.evidence.run_apart", started)
    lay_out(tmp_path / "c", TRICKY)
    result = run(command, tmp_path / "c" / "torch.add.yaml")
    assert "a plugin was run" not in result.output
    assert not isinstance(result.exception, AssertionError)
    assert run_raises(command, tmp_path / "c" / "torch.add.yaml")


def run_raises(command: str, path: Path) -> bool:
    """Whether the same command with the flag does start something, so that the test above can fail."""
    result = run(command, path, "--run-generators")
    return isinstance(result.exception, AssertionError)


def test_no_file_can_switch_it_on(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.opscan]\nrun-generators = true\n")
    with pytest.raises(ConfigError, match="can only be given on the command line"):
        load_settings(tmp_path)


# -- opscan cases -----------------------------------------------------------------------------------------------------


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], standalone_mode=False)


def drawn(path: Path, *more: object) -> list[dict[str, Any]]:
    output = path.parent / "drawn.json"
    result = run("cases", path, "--output", output, *more)
    assert result.return_value == 0, result.output
    read = reading.read_file(output)
    assert isinstance(read, CaseFile)
    assert read.faults == ()
    entries = json.loads(output.read_text(encoding="utf-8"))
    assert len(read.cases) == len(entries)
    assert [entry["id"] for entry in entries] == list(range(len(entries)))
    return list(entries)


@pytest.mark.parametrize(
    "name",
    ["1000/torch.cat", "1000/torch.where_backward", "0000/torch.topk", "1000/torch.eye", "1000/Tensor.expand_backward"],
)
def test_the_cases_of_the_catalog_are_case_files(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    source = CATALOG / f"{name}.yaml"
    for path in (source, *source.parent.glob("*.py")):
        (folder / path.name).write_bytes(path.read_bytes())
    entries = drawn(folder / source.name, "--run-generators", "--count", 20)
    spec = reading.read_file(source)
    assert isinstance(spec, Spec)
    assert {entry["name"] for entry in entries} == {spec.name}
    audited = audit_paths([folder / "drawn.json"], Settings())
    assert audited.audit.files[0].kind == "cases"
    assert not [f for f in audited.audit.findings if f.rule.startswith("OPS0")]


def test_the_seed_decides(tmp_path: Path) -> None:
    spec, _ = lay_out(tmp_path / "c", TRICKY)
    path = spec.source.path
    first, again, other = (drawn(path, "--run-generators", "--seed", seed) for seed in (5, 5, 6))
    assert first == again != other
    assert len(first) == 8
    assert len(drawn(path, "--run-generators", "--count", 11)) == 11


def test_all_that_atk_makes(tmp_path: Path) -> None:
    path = tmp_path / "torch.add.yaml"
    path.write_text(spec_text(generate="default", extra_numbers="all"))
    entries = drawn(path)
    regular = [entry for entry in entries if not entry["is_boundary"]]
    assert len(regular) == 2 * 4
    border = [entry for entry in entries if entry["is_boundary"]]
    assert entries == regular + border
    # six empty, four infnan, one of each rank for the lower border, six for the upper, three scalars
    assert len(border) == 6 + 4 + 3 + 3 + 6


def test_refusals_say_why(tmp_path: Path) -> None:
    spec, plugin = lay_out(tmp_path / "c", PRELUDE + "        raise ValueError('never')\n")
    path = spec.source.path
    assert "add --run-generators" in str(run("cases", path).exception)
    assert f"{plugin.source.path.as_posix()}:11: raises ValueError: never" in str(
        run("cases", path, "--run-generators").exception
    )
    path.write_text(spec_text(generate="elsewhere"))
    assert "is not in any plugin" in str(run("cases", path, "--run-generators").exception)
    path.write_text("name: [\n")
    assert "torch.add.yaml" in str(run("cases", path).exception)
    assert "is no case-design YAML" in str(run("cases", plugin.source.path).exception)
