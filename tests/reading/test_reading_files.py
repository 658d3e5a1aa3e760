"""What a file is, told by its content; bad files become `Unread` with a place, never an exception."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from opscan.model import CaseFile, Command, NodeFile, Plugin, RunScript, Spec, Unread
from opscan.opening.discovery import discover
from opscan.reading import read_file

GENERATOR = (
    "from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY{}\n"
    "from atk.case_generator.generator.base_generator import CaseGenerator{}\n"
)
EXECUTOR = "from atk.configs.results_config import TaskResult\nfrom atk.tasks.api_execute import register{}\n"


def read_text(folder: Path, name: str, text: str | bytes) -> object:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return read_file(path)


@pytest.mark.parametrize(
    ("name", "text", "kind", "rule", "place"),
    [
        ("x.yaml", "name: x\ninputs: [\n", "spec", "yaml-syntax", (3, 1)),
        ("x.yml", "nodes:\n  - backend: [\n", "nodes", "yaml-syntax", (3, 1)),
        ("x.yaml", "inputs: []\n---\ninputs: []\n", "spec", "multiple-documents", (2, 1)),
        ("x.yaml", "", "spec", "empty-file", (1, 1)),
        ("x.yaml", "# only a comment\n", "spec", "empty-file", (1, 1)),
        ("x.yaml", b"name: x\n# \xd6\xd0\xce\xc4\n", "spec", "not-utf8", (2, 3)),
        ("x.yaml", b"\xef\xbb\xbfa: \xe4\xb8\xad \xff\n", "spec", "not-utf8", (1, 6)),
        ("x.yaml", "a: 1\n".encode("utf-16"), "spec", "not-utf8", (1, 1)),
        ("x.json", "  \n", "cases", "empty-file", (1, 1)),
        ("x.json", b'[{"inputs": [], "name": "\xff"}]', "cases", "not-utf8", (1, 26)),
        ("x.json", '[{"name": "x",\n "inputs": [}', "cases", "json-syntax", (2, 13)),
        ("x.py", "class A(CaseGenerator)\n    pass\n", "plugin", "python-syntax", (1, 23)),
        ("x.py", "@register('x')\nclass A:\n    def f(self):\n        print 'a'\n", "plugin", "python-syntax", (4, 9)),
        ("x.py", "@register('x')\nclass A:\n  x = '\0'\n", "plugin", "python-syntax", (1, 1)),
        ("x.py", b"class A(BaseApi):\n    x = '\xff'\n", "plugin", "not-utf8", (2, 10)),
    ],
)
def test_broken_files(
    tmp_path: Path, name: str, text: str | bytes, kind: str, rule: str, place: tuple[int, int]
) -> None:
    read = read_text(tmp_path, name, text)
    assert isinstance(read, Unread)
    assert (read.kind, [fault.rule for fault in read.faults]) == (kind, [rule])
    span = read.faults[0].span
    assert span is not None
    assert (span.line, span.column) == place
    assert f"line {place[0]}, column {place[1]}" in read.reason


def test_python_2_is_named(tmp_path: Path) -> None:
    read = read_text(tmp_path, "x.py", "class A(BaseApi):\n    print 'a'\n")
    assert isinstance(read, Unread)
    assert "Python 2" in read.reason


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.yaml", "name: CI\non: [push]\njobs: {a: 1}\n"),
        ("x.yaml", "name: action\ninputs: {x: {default: 1}}\nruns: {}\n"),
        ("x.yaml", "- a\n- b\n"),
        ("x.yaml", "text\n"),
        ("x.yaml", "a: 1\n---\nb: 2\n"),
        ("x.yaml", "nodes: [a, b]\n"),
        ("x.py", ""),
        ("x.py", "import os\n"),
        ("x.py", "def f(:\n"),
        ("x.py", "import registry\n@ACCURACY_REGISTRY.register('x')\nclass A:\n    pass\n"),
        ("x.py", "@atexit.register\ndef f(): pass\n"),
        ("x.py", b"x = '\xff'\n"),
        ("x.sh", "echo atk\n"),
        ("x.sh", b"\xff\xfe\x00"),
        ("x.txt", "x"),
        ("x.json", "// comment\n{}"),
    ],
)
def test_other_files_are_other_without_faults(tmp_path: Path, name: str, text: str | bytes) -> None:
    read = read_text(tmp_path, name, text)
    assert isinstance(read, Unread)
    assert (read.kind, read.faults) == ("other", ())
    assert read.reason


def test_missing_files_and_folders(tmp_path: Path) -> None:
    missing = read_file(tmp_path / "no.yaml", "specs/no.yaml")
    assert isinstance(missing, Unread)
    assert (missing.kind, missing.faults[0].rule) == ("spec", "missing-path")
    assert "specs/no.yaml" in missing.reason
    folder = read_file(tmp_path)
    assert isinstance(folder, Unread)
    assert folder.faults[0].rule == "unreadable-file"
    odd = read_file(Path("a\0b.yaml"))
    assert isinstance(odd, Unread)


def test_discover(tmp_path: Path) -> None:
    for name in (
        "b/x.yaml", "b/.hidden/x.yaml", "a/y.YML", "a/z.json", "a/p.py", "a/readme.md", "c.sh", ".x.yaml",
        "venv/pyvenv.cfg", "venv/x.yaml", ".venv/x.yaml", "a/__pycache__/x.py", "node_modules/x.json",
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")
    (tmp_path / "run").write_text("#!/bin/sh\natk case -f x.yaml\n", encoding="utf-8")
    (tmp_path / "LICENSE").write_text("no", encoding="utf-8")
    os.symlink(tmp_path, tmp_path / "b" / "loop")
    found, missing = discover([tmp_path, tmp_path / "a" / "readme.md", tmp_path / "a", tmp_path / "none.json"])
    assert [path.relative_to(tmp_path).as_posix() for path in found] == [
        "c.sh",
        "run",
        "a/p.py",
        "a/y.YML",
        "a/z.json",
        "b/x.yaml",
        "a/readme.md",
    ]
    assert [(one.kind, one.faults[0].rule) for one in missing] == [("cases", "missing-path")]


@pytest.mark.parametrize(
    ("text", "generators", "executors"),
    [
        (
            GENERATOR.format("", "") + "@GENERATOR_REGISTRY.register('g')\nclass A(CaseGenerator):\n    pass\n",
            ("g",),
            (),
        ),
        (GENERATOR.format(" as G", " as C") + "@G.register('g')\nclass A(C):\n    pass\n", ("g",), ()),
        (GENERATOR.format("", "") + "class A(CaseGenerator): pass\nclass B(A): pass\n", ("A", "B"), ()),
        (
            GENERATOR.format("", "") + "N = 'n'\n@GENERATOR_REGISTRY.register(N)\nclass A(CaseGenerator): pass\n",
            ("n",),
            (),
        ),
        ("import atk.reg as r\n@r.GENERATOR_REGISTRY.register('g')\nclass A: pass\n", ("g",), ()),
        ("R = GENERATOR_REGISTRY\n@R.register(name='g')\nclass A: pass\n", ("g",), ()),
        (EXECUTOR.format("") + "@register('e')\nclass A(BaseApi): pass\n", (), ("e",)),
        (EXECUTOR.format(" as reg") + "@reg('e')\nclass A(AclnnBaseApi): pass\n", (), ("e",)),
        ("import atk.tasks as t\n@t.register('e')\nclass A: pass\n", (), ("e",)),
        ("from a import b\nclass A(b.BaseApi): pass\n", (), ("A",)),
        ("@register('e')\n@register('f')\nclass A(BaseApi): pass\n", (), ("e", "f")),
        ("@register(f'e{1}')\nclass A(BaseApi): pass\n", (), ("A",)),
        ("OP = 'o'\n@register(f'{OP}_e')\nclass A(BaseApi): pass\n", (), ("o_e",)),
        ("OP = 'o'\nN = 'e_' + OP + f'_{OP}'\n@register(N)\nclass A(BaseApi): pass\n", (), ("e_o_o",)),
        ("OP = 'o'\n@register(f'{OP:>3}')\nclass A(BaseApi): pass\n", (), ("A",)),
        ("@register('e' + other)\nclass A(BaseApi): pass\n", (), ("A",)),
        ("if True:\n    @register('e')\n    class A(BaseApi): pass\nx = '\\d'\n", (), ("e",)),
    ],
)
def test_plugins(tmp_path: Path, text: str, generators: tuple[str, ...], executors: tuple[str, ...]) -> None:
    read = read_text(tmp_path, "p.py", text)
    assert isinstance(read, Plugin), read
    assert (read.generators, read.executors) == (generators, executors)
    assert isinstance(read.tree, ast.Module)


def test_a_plugin_may_declare_its_encoding(tmp_path: Path) -> None:
    text = "# -*- coding: gbk -*-\n# 中文\n@register('e')\nclass A(BaseApi): pass\n"
    read = read_text(tmp_path, "p.py", text.encode("gbk"))
    assert isinstance(read, Plugin)
    assert "中文" in read.source.text


def test_nodes(tmp_path: Path) -> None:
    text = (
        "# 节点\nnodes:\n- backend: npu\n  task: [accuracy, accuracy_dc]\n  devices: [0]\n  name: dut\n"
        "- backend: cpu\n  task: run\n- {backend: gpu, tasks: [run], is_compare: 1}\n"
        "- {task: [acuracy, 1], backend: cpu}\n"
        "- {task: [run]}\n- x\n- {backend: [a], task: 3}\n"
    )
    read = read_text(tmp_path, "n.yaml", text)
    assert isinstance(read, NodeFile)
    assert [(node.backend, node.tasks, node.name) for node in read.nodes] == [
        ("npu", ("accuracy", "accuracy_dc"), "dut"),
        ("cpu", ("run",), None),
        ("gpu", (), None),
        ("cpu", ("acuracy",), None),
    ]
    assert read.nodes[1].span is not None
    assert read.nodes[1].span.line == 7
    found = [(fault.rule, text[fault.span.start : fault.span.end]) for fault in read.faults if fault.span]
    assert found == [
        ("unknown-key", "tasks"),
        ("wrong-type", "1"),
        ("unknown-key", "acuracy"),
        ("wrong-type", "1"),
        ("missing-key", "{task: [run]}"),
        ("wrong-type", "x"),
        ("wrong-type", "3"),
        ("wrong-type", "[a]"),
    ]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("atk case -f a.yaml -p p.py\n", [Command("case", ("a.yaml",), (), ("p.py",))]),
        (
            "#!/bin/bash\nset -e\ncd x && atk task -c all.json \\\n  -n n.yaml \\\r\n -p p.py --task=accuracy # go\n",
            [Command("task", ("all.json",), ("n.yaml",), ("p.py",), "accuracy", line=3, folder="x")],
        ),
        (
            "mssanitizer --tool=memcheck -- atk task -c a.json -n n.yaml --task run --mssanitizer",
            [Command("task", ("a.json",), ("n.yaml",), (), "run", True)],
        ),
        ("mssanitizer -t racecheck -- /usr/bin/atk task -c a.json", [Command("task", ("a.json",))]),
        (
            "atk case -f a.yaml; atk case -f b.yaml -p p q",
            [Command("case", ("a.yaml",)), Command("case", ("b.yaml",), (), ("p", "q"))],
        ),
        (
            '# atk case -f old.yaml\natk case -f "${DIR}/中 文.yaml" | tee log',
            [Command("case", ("**/中 文.yaml",), line=2)],
        ),
        ("echo \"it's\natk case -f $1.yaml", [Command("case", ("**.yaml",), line=2)]),
    ],
)
def test_run_scripts(tmp_path: Path, text: str, commands: list[Command]) -> None:
    read = read_text(tmp_path, "run.sh", text)
    assert isinstance(read, RunScript), read
    assert list(read.commands) == commands


def test_content_decides_not_the_name(tmp_path: Path) -> None:
    assert isinstance(read_text(tmp_path, "nodes.yaml", "inputs: [{type: tensor}]\n"), Spec)
    assert isinstance(read_text(tmp_path, "spec.yaml", "nodes: [{backend: cpu}]\n"), NodeFile)
    assert isinstance(read_text(tmp_path, "x.json", '[{"name": "a", "inputs": []}]'), CaseFile)
