"""Which files belong to which spec, on a small catalog in a temporary folder."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from opscan.model import CaseFile, Command, Node, NodeFile, Plugin, RunScript, Source, Spec, Unread
from opscan.shapes import Catalog, companions, link


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
    stray = cases(tmp_path / "deep/all_torch.mul.json")
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
        ("../other/run.sh", "*.yaml", set()),
        ("../other/run.sh", "../1000/torch.add.yaml", {"torch.add"}),
    ],
)
def test_commands_that_concern_a_spec(tmp_path: Path, where: str, written: str, concerned: set[str]) -> None:
    folder = tmp_path / "1000"
    specs = [spec(folder / "torch.add.yaml"), spec(folder / "torch.mul.yaml")]
    catalog = link([*specs, script(folder / where, Command("case", (written,)))])
    assert {s.source.path.stem for s in specs if catalog.links(s).commands} == concerned


def test_node_files_of_the_commands(tmp_path: Path) -> None:
    one, two = spec(tmp_path / "x.yaml"), spec(tmp_path / "y.yaml")
    here, there, unused = nodes(tmp_path / "node.yaml"), nodes(tmp_path / "conf/perf.yaml"), nodes(tmp_path / "z.yaml")
    task = Command("task", ("all_x.json",), node_files=("node.yaml", "$CONF/perf.yaml"), task="accuracy")
    catalog = link([one, two, here, there, unused, script(tmp_path / "run.sh", task)])
    assert catalog.links(one).node_files == (here, there)
    assert catalog.links(two).node_files == ()


def test_other_files_are_kept_and_unknown_specs_have_no_links(tmp_path: Path) -> None:
    unread = Unread(tmp_path / "notes.txt", "other", "no ATK file")
    catalog = link([unread])
    assert catalog.files == (unread,)
    assert catalog.links(spec(tmp_path / "x.yaml")).case_file is None
    assert Catalog(()).links(spec(tmp_path / "x.yaml")).commands == ()


def test_relative_and_absolute_paths_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one = spec(Path("x.yaml"))
    beside = cases(tmp_path / "all_x.json")
    assert link([one, beside]).links(one).case_file is beside


def test_companions_are_only_what_one_spec_needs(tmp_path: Path) -> None:
    files = {
        "x.yaml": "generate: 'gen_x' # ours\napi_type: run_x\ninputs:\n",
        "y.yaml": "generate: gen_y\n",
        "make_x.py": '@GENERATOR_REGISTRY.register("gen_x")\n',
        "run_x.py": '@register("run_x")\n',
        "make_z.py": '@GENERATOR_REGISTRY.register(f"gen_{NAME}")\n',
        "make_y.py": '@GENERATOR_REGISTRY.register("gen_y")\n',
        "all_y.json": "[]",
        "result/x/json/all_x.json": "[]",
        "run.sh": "atk case -f x.yaml -p ../shared/extra.py\natk task -n node.yaml -n ../conf/perf.yml -c $C\n",
        "node.yaml": "nodes:\n  - backend: npu\n",
        "../shared/extra.py": '@register("run_x")\n',
        "../conf/perf.yml": "# perf\nnodes: []\n",
        "../conf/unused.yaml": "nodes: []\n",
        "notes.md": "gen_x",
    }
    folder = tmp_path / "cat"
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = companions(folder / "x.yaml")
    expected = ("make_x.py", "make_z.py", "run_x.py", "result/x/json/all_x.json", "run.sh", "node.yaml")
    outside = {(tmp_path / p) for p in ("shared/extra.py", "conf/perf.yml")}
    assert set(found) == {folder / name for name in expected} | outside
    assert found == sorted(found)


def test_companions_of_a_plain_spec_read_no_python(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("generate: default\napi_type: function\n", encoding="utf-8")
    (tmp_path / "a.py").write_text("default function", encoding="utf-8")
    assert companions(tmp_path / "x.yaml") == []


def test_companions_of_a_missing_or_binary_spec(tmp_path: Path) -> None:
    assert companions(tmp_path / "gone/x.yaml") == []
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\x00generate: g\n")
    (tmp_path / "a.py").write_text("g", encoding="utf-8")
    assert companions(tmp_path / "x.yaml") == []


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("atk case -f x.yaml -p ../plugins", True),
        ("atk case \\\n  -f x.yaml \\\n  -p ../plugins\n", True),
        ("atk case -f x.yaml --plugin='../plugins/deep'", True),
        ("mkdir -p ../plugins\natk case -f x.yaml", False),
        ("atk case -f x.yaml -p ../nowhere", False),
        ("atk case -f x.yaml -p $PLUGINS", False),
    ],
)
def test_a_folder_of_plugins_that_a_script_names(tmp_path: Path, command: str, found: bool) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "plugins" / "deep").mkdir(parents=True)
    (tmp_path / "specs" / "x.yaml").write_text("name: torch.add\ngenerate: narrow_add\n")
    (tmp_path / "specs" / "run.sh").write_text(f"#!/bin/bash\n{command}\n")
    (tmp_path / "plugins" / "other.py").write_text("GENERATOR_REGISTRY.register('other')\n")
    needed = tmp_path / "plugins" / "deep" / "gen.py"
    needed.write_text("OP = 'add'\n@GENERATOR_REGISTRY.register('narrow_' + OP)\nclass G(CaseGenerator): pass\n")
    named = [path for path in companions(tmp_path / "specs" / "x.yaml") if path.suffix == ".py"]
    assert named == ([needed] if found else [])
