"""What cannot be split stays as it is, and the reason is said."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from splitting_builders import SPEC, lay_out, plan_of, split, texts

from opscan.config import ConfigError, Settings, load_settings

HERE = Path(__file__).parent
SECTION = re.compile(r"^== (.+?) \| (.+?) \| (.+)\n", re.MULTILINE)
NARROW = """\
from atk import GENERATOR_REGISTRY, CaseGenerator
@GENERATOR_REGISTRY.register("narrow")
class Narrow(CaseGenerator):
    def after_case_config(self, case_config):
        x, other = case_config.inputs
        other.shape = [1] + list(x.shape[1:])
        return case_config
"""


def sections() -> list[Any]:
    parts = SECTION.split((HERE / "refused.txt").read_text(encoding="utf-8"))[1:]
    return [pytest.param(*parts[at + 1 : at + 4], id=parts[at]) for at in range(0, len(parts), 4)]


@pytest.mark.parametrize(("how", "said", "plugin"), sections())
def test_the_plugin_is_left_alone(tmp_path: Path, how: str, said: str, plugin: str) -> None:
    folder = lay_out(tmp_path / "x", {"spec.yaml": SPEC.format(generate="narrow"), "gen.py": plugin})
    before = texts(folder)
    plan = split(folder, how=how)
    assert [said in reason for reason in plan.unsplit] == [True], plan.unsplit
    assert not [change for change in plan.changes if change.shown.endswith(".py") or change.created_like]
    after = texts(folder)
    assert after["gen.py"] == before["gen.py"]
    assert sorted(after) == sorted(before)


def variant(old: str, new: str) -> str:
    assert old in SPEC
    return SPEC.replace(old, new).format(generate="narrow")


SPECS = [
    ("no plugin", SPEC.format(generate="default"), {}, "are drawn independently; no generator plugin relates them"),
    ("the output rounds", variant("torch.maximum", "torch.mul"), {}, "no tensor"),
    ("the output rounds, a gradient copies", variant("torch.maximum", "torch.add"), {}, "output:0 is arithmetic"),
    ("a file stands there", variant("torch.maximum", "torch.maximum"), {"spec_no_broadcast.yaml": "a: 1\n"},
     "exists already and is no twin of it"),
    ("another spec stands there", variant("torch.maximum", "torch.maximum"),
     {"spec_no_broadcast.yaml": SPEC.format(generate="default").replace("maximum", "relu")}, "is no twin of it"),
    ("an input can be left out", variant("  - name: other\n", "  - name: other\n    required: false\n"), {},
     "`other` can be left out"),
    ("NaN", variant("ranges: {{valid: {{values: [[-5, 5]]}}", 'ranges: {{valid: {{values: [[-5, 5], "nan"]}}'), {},
     "needs --unsafe: some case can be NaN in part"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "more", "said"), [row[1:] for row in SPECS], ids=[row[0] for row in SPECS])
def test_the_spec_has_no_twin(tmp_path: Path, spec: str, more: dict[str, str], said: str) -> None:
    files = {"spec.yaml": spec, "gen.py": NARROW, **more}
    folder = lay_out(tmp_path / "x", files)
    plan = split(folder)
    if said == "no tensor":  # nothing of it must agree bit by bit, so there is nothing to say either
        assert not [change for change in plan.changes if change.created_like]
    else:
        assert [said in reason for reason in plan.unsplit if "/spec.yaml" in reason] == [True], plan.unsplit
    assert sorted(texts(folder)) == sorted(files)
    assert (folder / "gen.py").read_text() == NARROW


def test_a_plugin_in_another_encoding_is_left_alone(tmp_path: Path) -> None:
    plugin = f"# coding: gbk\n# 形状\n{NARROW}".encode("gbk")
    folder = lay_out(tmp_path / "x", {"spec.yaml": SPEC.format(generate="narrow"), "gen.py": plugin})
    assert ["gen.py is not written in UTF-8" in reason for reason in split(folder).unsplit] == [True]
    assert (folder / "gen.py").read_bytes() == plugin


def test_a_generator_of_several_specs_chooses_for_none(tmp_path: Path) -> None:
    spec = SPEC.format(generate="narrow")
    plugin = NARROW.replace("[1] +", "list(x.shape[:1]) if self.index % 2 else [1] +")
    folder = lay_out(tmp_path / "x", {"spec.yaml": spec, "other.yaml": spec, "gen.py": plugin})
    reasons = plan_of(folder, how="plugin").unsplit
    assert len(reasons) == 2
    assert "generator `narrow` serves spec.yaml too" in reasons[0]


def test_cases_that_carry_a_standard_already_keep_the_plugin_from_choosing(tmp_path: Path) -> None:
    spec = SPEC.format(generate="narrow")
    case = (
        '[{"id": 0, "name": "torch.maximum", "api": "pytorch", "backward": true, "standard": {"acc": "equal"}, '
        '"inputs": ['
        '{"name": "input", "type": "tensor", "dtype": "fp32", "shape": [4, 8], "range_values": [-5, 5]},'
        '{"name": "other", "type": "tensor", "dtype": "fp32", "shape": [1, 8], "range_values": [-5, 5]}]}]'
    )
    folder = lay_out(tmp_path / "x", {"spec.yaml": spec, "gen.py": NARROW, "all_spec.json": case})
    assert ["cases are drawn already" in reason for reason in plan_of(folder, how="plugin").unsplit] == [True]


def test_without_libcst_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "libcst", None)
    folder = lay_out(tmp_path / "x", {"spec.yaml": SPEC.format(generate="narrow"), "gen.py": NARROW})
    assert ["pip install 'opscan-ascend[plugins]'" in reason for reason in plan_of(folder).unsplit] == [True]


@pytest.mark.parametrize("value", ["{stem}{suffix}", "twin.yaml", "{stem}/{suffix}", "{name}_x", "{stem_x{suffix}"])
def test_a_name_that_is_none_is_refused(tmp_path: Path, value: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[tool.opscan]\nsplit-name = "{value}"\n')
    with pytest.raises(ConfigError, match=r"split-name must be a name with \{stem\} and \{suffix\}"):
        load_settings(tmp_path)


def test_names_come_from_the_settings(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "x", {"spec.yaml": SPEC.format(generate="narrow"), "gen.py": NARROW})
    settings = Settings(split_name="same_shape_{stem}{suffix}", split_generator="same_shape_{name}")
    split(folder, settings=settings)
    assert "generate: same_shape_narrow\n" in (folder / "same_shape_spec.yaml").read_text()
    assert '@GENERATOR_REGISTRY.register("same_shape_narrow")' in (folder / "gen.py").read_text()
    assert not plan_of(folder, settings=settings).changes
