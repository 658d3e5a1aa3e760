"""`git apply` turns the old text into the new one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opscan.cli import cli
from opscan.editing import apply_edits, replace_acc, unified_diff, with_bom
from opscan.model import Edit, Spec
from opscan.reading import read_file

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
LINES = st.lists(st.sampled_from(["a", "b", "", "acc: equal", "\r", "x\r", "\ufeffname", "中"]), max_size=30)


WAYS: dict[str, Callable[[bytes], bytes]] = {
    "as it is": lambda data: data,
    "crlf": lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    "bom": lambda data: b"\xef\xbb\xbf" + data.removeprefix(b"\xef\xbb\xbf"),
    "no final line end": lambda data: data.rstrip(b"\r\n"),
    "every second line with a CR": lambda data: b"\r\n".join(data.split(b"\n")).replace(b"\r\n", b"\n", 1),
}
SPEC = """\
name: torch.cat
api_type: function
standard: {acc: double}   # 误差
inputs:
  - name: tensors
    type: tensors
    dtypes: {values: [fp32]}
    ranges: {valid: {values: [[1e-3, 5]]}}
"""


def applied(folder: Path, name: str, old: str, new: str) -> str:
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(old.encode("utf-8"))
    git_apply(unified_diff(name, old, new).encode(), folder)
    return target.read_bytes().decode("utf-8")


@needs_git
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\nb", "a\nB"),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nb"),
        ("a\r\nb\r\n", "a\r\nB\r\n"),
        ("\ufeffa\nb\n", "\ufeffA\nb\n"),
        ("a\rb\r", "a\rB\r"),
        ("a\n", "a\nb\n"),
        ("".join(f"{n}\n" for n in range(50)), "".join(f"{n}\n" for n in range(50) if n not in (3, 30))),
        ("x\n" * 40, "x\n" * 20 + "y\n" + "x\n" * 20),
        ("a\nb\n", "c\nd\n"),
    ],
)
def test_git_applies_it(tmp_path: Path, old: str, new: str) -> None:
    assert applied(tmp_path, "dir/x.yaml", old, new) == new


@needs_git
@pytest.mark.parametrize("name", ["with blank.yaml", "中文.yaml", 'quo"te.yaml', "back\\slash.yaml", "tab\tname.yaml"])
def test_names(tmp_path: Path, name: str) -> None:
    assert applied(tmp_path, name, "a\n", "b\n") == "b\n"


@needs_git
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, LINES, st.booleans(), st.booleans())
def test_any_two_texts(tmp_path: Path, old: list[str], new: list[str], old_end: bool, new_end: bool) -> None:
    before = "\n".join(["first", *old]) + ("\n" if old_end else "")
    after = "\n".join(["first", *new]) + ("\n" if new_end else "")
    if before != after:
        assert applied(tmp_path, "x.yaml", before, after) == after


def test_hunks_are_local_and_equal_texts_have_none() -> None:
    old = "".join(f"line {n}\n" for n in range(5000))
    diff = unified_diff("x", old, old.replace("line 100\n", "LINE\n").replace("line 4000\n", "LINE\nLINE\n"))
    assert diff.count("@@ -") == 2
    assert len(diff.splitlines()) < 25
    assert unified_diff("x", old, old) == ""


@needs_git
@pytest.mark.parametrize("way", WAYS)
def test_it_applies_the_edits_of_every_style(tmp_path: Path, way: str) -> None:
    diffs, wanted = [], {}
    for case in sorted((Path(__file__).parent / "cases").glob("*/before.yaml")):
        path = tmp_path / f"{case.parent.name}.yaml"
        path.write_bytes(WAYS[way](case.read_bytes()))
        spec = read_file(path)
        assert isinstance(spec, Spec)
        edit = replace_acc(spec, json.loads((case.parent / "value.json").read_text(encoding="utf-8")))
        edited = apply_edits(spec.source, [edit] if isinstance(edit, Edit) else [])
        old, new = (with_bom(spec.source, text) for text in (spec.source.text, edited.text))
        diffs.append(unified_diff(path.name, old, new))
        wanted[path] = new.encode()
    git_apply("".join(diffs).encode(), tmp_path)
    assert sum(map(bool, diffs)) > 35
    assert {path: path.read_bytes() for path in wanted} == wanted


def git_apply(diff: bytes, folder: Path) -> None:
    command = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(command, input=diff, cwd=folder, check=True, capture_output=True, timeout=20)


@needs_git
@pytest.mark.parametrize(
    ("current", "given", "where"),
    [
        (".", "a/spec.yaml", "."),
        (".", "{root}/a/spec.yaml", "."),
        ("a", "spec.yaml", "a"),
        ("b/c", "../../a/spec.yaml", "."),
        ("b", "link/spec.yaml", "."),
        (".", "b/link/spec.yaml", "."),
        (".", "file.yaml", "."),
        ("x", "x/spec.yaml", "."),
        ("a", "a/spec.yaml", "."),
        ("x/y", "x/y/spec.yaml", "."),
    ],
)
def test_wherever_the_file_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current: str, given: str, where: str
) -> None:
    """However a file is named and whatever is the current folder, and with a link on the way to it."""
    root = tmp_path / "root"
    for folder in ("a/a", "b/c", "x/x", "x/y/x/y"):
        (root / folder).mkdir(parents=True)
        (root / folder / "spec.yaml").write_text(SPEC, encoding="utf-8")
    (root / "a" / "spec.yaml").write_text(SPEC, encoding="utf-8")
    (root / "b" / "link").symlink_to(root / "a", target_is_directory=True)
    (root / "file.yaml").symlink_to(Path("a", "spec.yaml"))
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True, timeout=20)
    monkeypatch.chdir(root / current)
    path = given.format(root=root)
    shown = CliRunner().invoke(cli, ["fix", path], standalone_mode=False)
    assert ("apply it there" in shown.stderr) == (current != where)
    git_apply(shown.stdout_bytes, root / where)
    changed = [one for one in sorted(root.rglob("spec.yaml")) if "1.0e-3" in one.read_text(encoding="utf-8")]
    assert changed == [Path(os.path.realpath(path))]


@needs_git
@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are text there")
@pytest.mark.parametrize("name", ["中 😀.yaml", "b\udcff\udcd6.yaml"])
@pytest.mark.parametrize("encoding", ["gbk", "ascii"])
def test_the_diff_has_the_bytes_of_the_files(tmp_path: Path, name: str, encoding: str) -> None:
    """Whatever the terminal's encoding: it goes into a pipe."""
    (tmp_path / name).write_text(SPEC, encoding="utf-8")
    command = [sys.executable, "-m", "opscan", "fix", "."]
    variables = {**os.environ, "PYTHONIOENCODING": encoding}
    shown = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, timeout=60, check=False)
    assert shown.returncode == 1, shown.stderr
    git_apply(shown.stdout, tmp_path)
    assert "1.0e-3" in (tmp_path / name).read_text(encoding="utf-8")
