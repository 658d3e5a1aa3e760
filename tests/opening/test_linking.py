"""Which files belong to which spec, on a small catalog in a temporary folder."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from opscan.model import CaseFile, Command, Node, NodeFile, Plugin, RunScript, Source, Spec, Unread
from opscan.opening import Catalog, Links, absolute, link, open_catalog


def spec(path: Path, **fields: Any) -> Spec:
    return Spec(Source(path, ""), "torch.add", (), **fields)


def cases(path: Path) -> CaseFile:
    return CaseFile(Source(path, "[]"), ())


def plugin(path: Path, generators: tuple[str, ...] = (), executors: tuple[str, ...] = ()) -> Plugin:
    return Plugin(Source(path, ""), generators, executors, ast.parse(""))


def nodes(path: Path) -> NodeFile:
    return NodeFile(Source(path, ""), (Node("npu", ("accuracy",)),))


def script(path: Path, *commands: Command) -> RunScript:
    return RunScript(Source(path, ""), commands)


def test_case_file_by_the_stem_of_the_spec(tmp_path: Path) -> None:
    first, second = spec(tmp_path / "torch.add.yaml"), spec(tmp_path / "torch.mul.yaml")
    written = cases(tmp_path / "result/torch.add/json/all_torch.add.json")
    beside = cases(tmp_path / "all_torch.mul.json")
    stray = cases(tmp_path / "deep/all_torch.sub.json")
    catalog = link([first, second, written, beside, stray])
    assert catalog.links(first).case_file is written
    assert catalog.links(second).case_file is beside
    assert catalog.owner(written) is first
    assert catalog.owner(beside) is second
    assert catalog.owner(stray) is None


def test_what_atk_wrote_comes_before_a_file_beside(tmp_path: Path) -> None:
    one = spec(tmp_path / "x.yaml")
    written, beside = cases(tmp_path / "result/x/json/all_x.json"), cases(tmp_path / "all_x.json")
    assert link([one, beside, written]).links(one).case_file is written


def test_plugins_by_their_registered_names(tmp_path: Path) -> None:
    one = spec(tmp_path / "x.yaml", generate="gen_x", api_type="run_x")
    generator, executor = plugin(tmp_path / "a.py", ("gen_x",)), plugin(tmp_path / "b.py", (), ("run_x",))
    found = link([plugin(tmp_path / "c.py", ("other",)), generator, executor, one]).links(one)
    assert (found.generator, found.executor) == (generator, executor)
    assert (found.generator_reason, found.executor_reason) == ("", "")


def test_built_in_names_need_no_plugin(tmp_path: Path) -> None:
    one = spec(tmp_path / "x.yaml")
    found = link([one, plugin(tmp_path / "a.py", ("default",), ("function",))]).links(one)
    assert (found.generator, found.executor, found.generator_reason, found.executor_reason) == (None, None, "", "")


def test_missing_plugins_have_a_reason(tmp_path: Path) -> None:
    one = spec(tmp_path / "x.yaml", generate="gen_x", api_type="run_x")
    found = link([one]).links(one)
    assert found.generator_reason == "generator `gen_x` is not in any plugin beside the spec"
    assert found.executor_reason == "executor `run_x` is not in any plugin beside the spec"


def generate(spec_path: str, *plugins: str) -> Command:
    return Command("case", (spec_path,), plugins=plugins)


@pytest.mark.parametrize(
    ("plugins", "commands", "expected"),
    [
        (["a/p.py", "b/q.py"], [], "a/p.py"),
        (["b/q.py"], [], "b/q.py"),
        (["b/q.py", "c/r.py"], [], None),
        (["b/q.py", "c/r.py"], [generate("x.yaml", "../c/r.py")], "c/r.py"),
        (["b/q.py", "c/r.py"], [generate("x.yaml", "../b")], "b/q.py"),
        (["a/p.py", "a/p2.py"], [], None),
        (["a/p.py", "a/p2.py"], [generate("x.yaml", "p2.py")], "a/p2.py"),
        (["a/p.py", "a/p2.py"], [generate("other.yaml", "p2.py")], None),
        (["a/p.py", "b/q.py"], [generate("x.yaml", "../b/q.py")], "a/p.py"),
    ],
)
def test_order_of_plugins(tmp_path: Path, plugins: list[str], commands: list[Command], expected: str | None) -> None:
    one = spec(tmp_path / "a/x.yaml", generate="g")
    files = [plugin(tmp_path / p, ("g",)) for p in plugins]
    found = link([one, *files, script(tmp_path / "a/run.sh", *commands)]).links(one)
    if expected is None:
        assert found.generator is None
        assert f"generator `g` is registered by {len(plugins)} plugins" in found.generator_reason
    else:
        assert found.generator is not None
        assert found.generator.source.path == tmp_path / expected


@pytest.mark.parametrize(
    ("where", "written", "concerned"),
    [
        ("run.sh", "torch.add.yaml", {"torch.add"}),
        ("run.sh", "./torch.mul.yaml", {"torch.mul"}),
        ("run.sh", "result/torch.add/json/all_torch.add.json", {"torch.add"}),
        ("run.sh", "$OUT/all_torch.mul.json", {"torch.mul"}),
        ("run.sh", "${f}", {"torch.add", "torch.mul"}),
        ("run.sh", "*.yaml", {"torch.add", "torch.mul"}),
        ("run.sh", "result/$op/json/all_${op}.json", {"torch.add", "torch.mul"}),
        ("run.sh", "torch.sub.yaml", set()),
        ("../run.sh", "1000/torch.add.yaml", {"torch.add"}),
        ("../run.sh", "1000/${op}.yaml", {"torch.add", "torch.mul"}),
        ("../run.sh", "torch.add.yaml", set()),
        ("../run.sh", "elsewhere/all_torch.add.json", {"torch.add"}),
        ("../other/run.sh", "*.yaml", set()),
        ("../other/run.sh", "../1000/torch.add.yaml", {"torch.add"}),
    ],
)
def test_commands_that_concern_a_spec(tmp_path: Path, where: str, written: str, concerned: set[str]) -> None:
    folder = tmp_path / "1000"
    specs = [spec(folder / "torch.add.yaml"), spec(folder / "torch.mul.yaml")]
    verb = "task" if written.endswith(".json") else "case"
    catalog = link([*specs, script(folder / where, Command(verb, (as_read(written),)))])
    assert {s.source.path.stem for s in specs if catalog.links(s).commands} == concerned


def as_read(name: str) -> str:
    """A name as the reader of scripts gives it: `**` for what a variable stands for."""
    return re.sub(r"\$(\{\w+\}|\w+)", "**", name)


def test_node_files_of_the_commands(tmp_path: Path) -> None:
    one, two = spec(tmp_path / "x.yaml"), spec(tmp_path / "y.yaml")
    here, there, unused = nodes(tmp_path / "node.yaml"), nodes(tmp_path / "conf/perf.yaml"), nodes(tmp_path / "z.yaml")
    task = Command("task", ("all_x.json",), node_files=("node.yaml", "**/perf.yaml"), task="accuracy")
    catalog = link([one, two, here, there, unused, script(tmp_path / "run.sh", task)])
    assert catalog.links(one).node_files == (here, there)
    assert catalog.links(two).node_files == ()


def test_other_files_are_kept_and_unknown_specs_have_no_links(tmp_path: Path) -> None:
    unread = Unread(tmp_path / "notes.txt", "other", "no ATK file")
    catalog = link([unread])
    assert catalog.files == (unread,)
    assert catalog.links(spec(tmp_path / "x.yaml")) == Links()
    assert Catalog(()).links(spec(tmp_path / "x.yaml")).commands == ()


def test_relative_and_absolute_paths_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one = spec(Path("x.yaml"))
    beside = cases(tmp_path / "all_x.json")
    assert link([one, beside]).links(one).case_file is beside


SPEC = """\
name: torch.add
generate: {generate}
api_type: {api_type}
standard: {{acc: equal}}
inputs: [{{type: tensor}}]
"""
CASES = (
    '[{"id": 0, "name": "torch.add", "standard": {"acc": "equal"}, "inputs": [{"type": "tensor", "dtype": "fp32"}]}]'
)


def lay_out(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def spec_text(generate: str = "default", api_type: str = "function") -> str:
    return SPEC.format(generate=generate, api_type=api_type)


def beside(path: Path) -> set[Path]:
    """What is read besides one file."""
    asked = {absolute(path)}
    return {absolute(getattr(f, "path", None) or f.source.path) for f in open_catalog([path]).files} - asked


def test_beside_one_spec_only_what_it_needs(tmp_path: Path) -> None:
    files = {
        "cat/x.yaml": spec_text("gen_x", "run_x"),
        "cat/y.yaml": spec_text("gen_y"),
        "cat/make_x.py": '@GENERATOR_REGISTRY.register("gen_x")\nclass X(CaseGenerator): pass\n',
        "cat/run_x.py": '@register("run_x")\nclass X(BaseApi): pass\n',
        "cat/make_z.py": '@GENERATOR_REGISTRY.register(f"gen_{NAME}")\nclass Z(CaseGenerator): pass\n',
        "cat/make_y.py": '@GENERATOR_REGISTRY.register("gen_y")\nclass Y(CaseGenerator): pass\n',
        "cat/all_y.json": CASES,
        "cat/result/x/json/all_x.json": CASES,
        "cat/run.sh": "atk case -f x.yaml -p ../shared/extra.py\n"
        "atk task -n node.yaml -n ../conf/perf.yml -c all_x.json\n",
        "cat/node.yaml": "nodes:\n  - backend: npu\n",
        "shared/extra.py": '@register("run_x")\nclass X(BaseApi): pass\n',
        "conf/perf.yml": "# perf\nnodes: [{backend: cpu}]\n",
        "conf/unused.yaml": "nodes: [{backend: cpu}]\n",
        "cat/notes.md": "gen_x",
    }
    lay_out(tmp_path, files)
    expected = ("make_x.py", "make_z.py", "run_x.py", "result/x/json/all_x.json", "run.sh", "node.yaml")
    outside = {tmp_path / p for p in ("shared/extra.py", "conf/perf.yml")}
    assert beside(tmp_path / "cat/x.yaml") == {tmp_path / "cat" / name for name in expected} | outside


def test_beside_a_plain_spec_no_python_is_read(tmp_path: Path) -> None:
    lay_out(tmp_path, {"x.yaml": spec_text(), "a.py": "default function"})
    assert beside(tmp_path / "x.yaml") == set()


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("atk case -f x.yaml -p ../plugins", True),
        ("atk case \\\n  -f x.yaml \\\n  -p ../plugins\n", True),
        ("atk case -f x.yaml --plugin='../plugins/deep'", True),
        ("P=../plugins/deep/gen.py\natk case -f x.yaml -p $P", True),
        ("cd ..\natk case -f specs/x.yaml -p plugins", True),
        ("mkdir -p ../plugins\natk case -f x.yaml", False),
        ("atk case -f x.yaml -p ../nowhere", False),
        ("atk case -f x.yaml -p $PLUGINS", False),
    ],
)
def test_a_folder_of_plugins_that_a_script_names(tmp_path: Path, command: str, found: bool) -> None:
    needed = tmp_path / "plugins" / "deep" / "gen.py"
    register = "OP = 'add'\n@GENERATOR_REGISTRY.register('narrow_' + OP)\nclass G(CaseGenerator): pass\n"
    lay_out(tmp_path, {
        "specs/x.yaml": spec_text("narrow_add"),
        "specs/run.sh": f"#!/bin/bash\n{command}\n",
        "plugins/other.py": "@GENERATOR_REGISTRY.register('other')\nclass G(CaseGenerator): pass\n",
        "plugins/deep/gen.py": register,
    })  # fmt: skip
    named = {path for path in beside(tmp_path / "specs" / "x.yaml") if path.suffix == ".py"}
    assert named == ({needed} if found else set())


def test_of_several_plugins_elsewhere_none_is_taken_of_one_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "@GENERATOR_REGISTRY.register('g')\nclass G(CaseGenerator): pass\n"
    lay_out(tmp_path, {"1000/x.yaml": spec_text("g"), "plugins/a.py": text})
    for paths in ([tmp_path / "1000/x.yaml"], [tmp_path]):
        catalog = open_catalog(paths)
        (one,) = (file for file in catalog.files if isinstance(file, Spec))
        generator = catalog.links(one).generator
        assert generator is not None
        assert absolute(generator.source.path) == tmp_path / "plugins/a.py"
    lay_out(tmp_path, {"plugins/b.py": text})
    for paths in ([tmp_path / "1000/x.yaml"], [tmp_path]):
        catalog = open_catalog(paths)
        (one,) = (file for file in catalog.files if isinstance(file, Spec))
        assert catalog.links(one).generator is None
        assert "registered by 2 plugins" in catalog.links(one).generator_reason


def test_cases_of_another_operator_are_not_of_the_spec(tmp_path: Path) -> None:
    lay_out(tmp_path, {"x.yaml": spec_text(), "all_x.json": CASES.replace("torch.add", "torch.sub")})
    catalog = open_catalog([tmp_path])
    assert [catalog.owner(file) for file in catalog.files if isinstance(file, CaseFile)] == [None]


def test_of_specs_with_one_name_the_nearest_owns_the_cases(tmp_path: Path) -> None:
    files = {"a/x.yaml": spec_text(), "b/x.yaml": spec_text(), "a/result/x/json/all_x.json": CASES}
    lay_out(tmp_path, {**files, "result/x/json/all_x.json": CASES})
    catalog = open_catalog([tmp_path])
    owners = {
        absolute(file.source.path).relative_to(tmp_path).as_posix(): catalog.owner(file)
        for file in catalog.files
        if isinstance(file, CaseFile)
    }
    owned = owners["a/result/x/json/all_x.json"]
    assert owned is not None
    assert absolute(owned.source.path) == tmp_path / "a/x.yaml"
    assert owners["result/x/json/all_x.json"] is None


def test_of_scripts_that_mean_cases_by_name_the_nearest_counts(tmp_path: Path) -> None:
    for folder, task in (("one", "accuracy"), ("two", "accuracy_dc")):
        files = {"x.yaml": spec_text(), "run.sh": f"atk task -c result/x/json/all_x.json -n n.yaml --task {task}\n"}
        lay_out(tmp_path / folder, files)
    for paths in ([tmp_path], [tmp_path / "one" / "x.yaml", tmp_path / "two" / "x.yaml"]):
        catalog = open_catalog(paths)
        specs = [file for file in catalog.asked if isinstance(file, Spec)]
        assert [catalog.links(one).scenarios.names for one in specs] == [("accuracy",), ("determinism",)]
