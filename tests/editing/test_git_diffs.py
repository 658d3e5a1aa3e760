"""`git apply` turns the old text into the new one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opscan.editing import unified_diff

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
LINES = st.lists(st.sampled_from(["a", "b", "", "acc: equal", "\r", "x\r", "\ufeffname", "中"]), max_size=30)


def applied(folder: Path, name: str, old: str, new: str) -> str:
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(old.encode("utf-8"))
    diff = unified_diff(name, old, new)
    command = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(command, input=diff.encode("utf-8"), cwd=folder, check=True, capture_output=True, timeout=20)
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
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
