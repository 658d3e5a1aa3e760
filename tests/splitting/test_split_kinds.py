"""Twins of specs without a generator, of method calls and of lists of tensors: run, they broadcast nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from splitting_builders import lay_out, plan_of, split, texts

from opscan.audit import audit_paths
from opscan.config import Settings
from opscan.generating import draw
from opscan.model import Spec
from opscan.reading import read_file

HEAD = """\
from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY


@GENERATOR_REGISTRY.register("narrow")
class Narrow(CaseGenerator):
    def after_case_config(self, case_config):
"""


def given(name: str | None, shapes: str, kind: str = "tensor", more: str = "") -> str:
    return f"""\
  - name: {name or "null"}
    type: {kind}
    dtypes: {{values: [fp32]}}
    ranges: {{valid: {{values: [[-5, 5]]}}, invalid: {{values: [[-5, 5]]}}}}
    shapes: {shapes}
{more}"""


def fixed(*lengths: int) -> str:
    axes = ", ".join(f"{{values: [{length}]}}" for length in lengths)
    return f"{{dim_numbers: {{values: [{len(lengths)}]}}, dim_values: [{axes}]}}"


def receiver(shapes: str) -> str:
    return "tensor_input:\n" + given("self", shapes).replace("  - name", "    name", 1)


FREE = "{dim_numbers: {values: [2, 3]}, dim_values: {values: [4, 8]}}"
TWO = "    tuple_numbers: {values: [2]}\n"
SIZE = """\
  - name: null
    type: attr_tuple
    tuple_numbers: {values: [1]}
    dtypes: {values: [int]}
    ranges: {valid: {values: [1]}}
"""


def spec(name: str, body: str, head: str = "generate: narrow\n") -> str:
    return f"name: {name}\n{head}backward: true\nstandard: {{acc: equal}}   # 逐位\n{body}"


NARROW_ARGUMENT = HEAD + (
    "        x, other = case_config.tensor_input, case_config.method_inputs[0]\n"
    "        other.shape = [1] + list(x.shape[1:])\n        return case_config\n"
)
NARROW_RECEIVER = HEAD + (
    "        x, other = case_config.tensor_input, case_config.inputs[0]\n"
    "        x.shape = list(other.shape)[1:]\n        return case_config\n"
)
NARROW_MEMBERS = HEAD + (
    "        for x, other in zip(case_config.inputs[0], case_config.inputs[1]):\n"
    "            other.shape = [1] + list(x.shape[1:])\n        return case_config\n"
)
SPLIT = {
    "default": (
        spec("torch.maximum", f"inputs:\n{given('input', fixed(4, 8))}{given('other', fixed(1, 8))}", ""),
        None,
    ),
    "default, written": (
        spec(
            "torch.maximum",
            f"inputs:\n{given('input', fixed(8))}{given('other', fixed(4, 1))}",
            "generate: default # d\n",
        ),
        None,
    ),
    "default, a method": (
        spec(
            "torch.Tensor.maximum", f"{receiver(fixed(4, 8))}method_inputs:\n{given('other', fixed(8))}inputs: []\n", ""
        ),
        None,
    ),
    "an argument of a method": (
        spec("torch.Tensor.maximum", f"{receiver(FREE)}method_inputs:\n{given('other', FREE)}inputs: []\n"),
        NARROW_ARGUMENT,
    ),
    "the receiver of a method": (
        spec("torch.Tensor.maximum", f"{receiver(FREE)}inputs:\n{given(None, FREE)}"),
        NARROW_RECEIVER,
    ),
    "lists": (
        spec(
            "torch._foreach_maximum",
            f"inputs:\n{given(None, FREE, 'tensors', TWO)}{given(None, FREE, 'tensors', TWO)}",
        ),
        NARROW_MEMBERS,
    ),
}


@pytest.mark.parametrize(("text", "plugin"), SPLIT.values(), ids=SPLIT)
def test_its_twin_is_run_and_broadcasts_nothing(tmp_path: Path, text: str, plugin: str | None) -> None:
    newline = "\r\n" if "default" in text or plugin is NARROW_MEMBERS else "\n"
    files = {"spec.yaml": text, **({"gen.py": plugin} if plugin else {})}
    folder = lay_out(tmp_path / "x", {name: one.replace("\n", newline) for name, one in files.items()})
    plan = split(folder)
    assert plan.unsplit == ()
    after = texts(folder)
    assert sorted(after) == sorted(
        {*files, "spec_no_broadcast.yaml", "gen.py" if plugin else "generate_spec_no_broadcast.py"}
    )
    assert all(data.count(b"\n") == data.count(newline.encode()) for data in after.values())
    settings = Settings(run_generators=True, run_cases=20)
    for chosen in (Settings(), settings):
        reports = {Path(one.path).name: one for one in audit_paths([folder], chosen).audit.files}
        twin = reports["spec_no_broadcast.yaml"]
        assert (twin.status, twin.found, reports["spec.yaml"].status) == ("ok", "equal", "ok")
        assert {str(tensor.numeric_class) for tensor in twin.tensors} == {"select-only"}
    twin_path = folder / "spec_no_broadcast.yaml"
    assert isinstance(read_file(twin_path), Spec)
    for fields in draw(twin_path, settings, 12).fields:
        assert meet(fields), fields
    assert not all(meet(fields) for fields in draw(folder / "spec.yaml", settings, 12).fields)
    assert plan_of(folder).changes == ()
    assert texts(folder) == after


def meet(fields: dict[str, object]) -> bool:
    """Whether all tensors that the call broadcasts have one shape."""
    given_list = [fields.get("tensor_input"), *(fields.get("method_inputs") or ()), *(fields.get("inputs") or ())]
    tensors = [one for one in given_list if one]
    if all(isinstance(one, list) for one in tensors):
        return all(len({tuple(one["shape"]) for one in pair}) == 1 for pair in zip(*tensors, strict=True))
    return len({tuple(one["shape"]) for one in tensors}) == 1


def test_what_the_new_plugin_says(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "x", {"torch.maximum-backward.yaml": SPLIT["default"][0]})
    plan = split(folder)
    name = "generate_torch_maximum_backward_no_broadcast.py"
    assert [change.source.path.name for change in plan.changes] == [
        name, "torch.maximum-backward_no_broadcast.yaml", "torch.maximum-backward.yaml",
    ]  # fmt: skip
    assert (
        texts(folder)[name].decode()
        == '''\
from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY


@GENERATOR_REGISTRY.register("torch_maximum_backward_no_broadcast")
class TorchMaximumBackwardNoBroadcast(CaseGenerator):
    """torch.maximum-backward without a broadcast: `other` takes the full shape, so that bits can be compared."""

    def after_case_config(self, case_config):
        tensors = case_config.inputs
        rank = max(len(given.shape) for given in tensors)
        aligned = [[1] * (rank - len(given.shape)) + list(given.shape) for given in tensors]
        full = [next((size for size in axis if size != 1), 1) for axis in zip(*aligned)]
        case_config.inputs[1].shape = list(full)
        return case_config
'''
    )
    assert "generate: torch_maximum_backward_no_broadcast\ninputs:\n" in texts(folder)[
        "torch.maximum-backward_no_broadcast.yaml"].decode()  # fmt: skip


def test_what_a_spec_is_called_never_becomes_code(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "x", {'a"""; import os; """.yaml': SPLIT["default"][0]})
    assert split(folder).unsplit == ()
    written = texts(folder)["generate_a_import_os__no_broadcast.py"].decode()
    assert "import os" not in written
    assert '"""The spec without a broadcast: `other` takes' in written


REFUSED = {
    "the receiver, by an attribute": (
        spec("torch.Tensor.expand", f"{receiver(FREE)}method_inputs:\n{SIZE}inputs: []\n"),
        HEAD + "        x, size = case_config.tensor_input, case_config.method_inputs[0]\n"
        "        first = size[0]\n        first.range_values = 3\n        x.shape = [1]\n        return case_config\n",
        "no other tensor's shape broadcasts `self`",
    ),
    "lists of any length": (
        spec(
            "torch._foreach_maximum",
            f"inputs:\n{given(None, FREE, 'tensors', TWO)}{given(None, FREE, 'tensors', TWO)}".replace(
                "[2]}\n  -", "[2, 2]}\n  -"
            ),
        ),
        NARROW_MEMBERS,
        "give them the same single `tuple_numbers`",
    ),
    "the plugin is another's": (
        SPLIT["default"][0],
        "from atk import CaseGenerator\n",
        "generate_spec_no_broadcast.py exists already",
    ),
}


@pytest.mark.parametrize(("text", "plugin", "said"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused(tmp_path: Path, text: str, plugin: str, said: str) -> None:
    name = "generate_spec_no_broadcast.py" if "exists" in said else "gen.py"
    folder = lay_out(tmp_path / "x", {"spec.yaml": text, name: plugin})
    plan = split(folder)
    assert [said in reason for reason in plan.unsplit] == [True], plan.unsplit
    assert not [change for change in plan.changes if change.created_like]


def test_where_there_is_no_generator_none_chooses(tmp_path: Path) -> None:
    plan = split(lay_out(tmp_path / "x", {"spec.yaml": SPLIT["default"][0]}), how="plugin")
    assert ["so none can choose; make a twin (--split)" in reason for reason in plan.unsplit] == [True]


def test_a_choice_sees_the_tensors_of_a_method(tmp_path: Path) -> None:
    text, plugin = SPLIT["an argument of a method"]
    assert plugin is not None
    sometimes = plugin.replace("[1] +", "(x.shape[:1] if self.index % 2 else [1]) +")
    folder = lay_out(tmp_path / "x", {"spec.yaml": text, "gen.py": sometimes})
    assert split(folder, how="plugin").unsplit == ()
    written = texts(folder)["gen.py"].decode()
    assert "for given in [case_config.tensor_input, case_config.method_inputs[0]]}" in written
