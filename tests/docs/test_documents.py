"""Every command in the README and the docs is run, and prints what the page says.

A console block holds `$ command` lines, each followed by its output (stdout and stderr together). `...` alone stands
for any lines, at the end of a line for any rest of it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(PROJECT.glob("*.md")), *sorted((PROJECT / "docs").rglob("*.md"))]


@dataclass(frozen=True)
class Shown:
    """One command of a page and the output that the page shows for it."""

    page: str
    line: int
    command: str
    output: tuple[str, ...]


def shown_commands() -> Iterator[Shown]:
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        inside = False
        current: list[str] = []
        start = 0
        for number, line in enumerate([*lines, "```"], 1):
            if line.startswith("```"):
                if inside and current:
                    yield Shown(page.name, start, current[0], tuple(current[1:]))
                inside, current = line == "```console", []
            elif inside and line.startswith("$ "):
                if current:
                    yield Shown(page.name, start, current[0], tuple(current[1:]))
                current, start = [line[2:]], number
            elif inside:
                current.append(line)


COMMANDS = list(shown_commands())


def pattern(output: tuple[str, ...]) -> str:
    parts = []
    for line in output:
        if line == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(re.escape(line).replace(re.escape(" ..."), r" .*").replace(re.escape("..."), r".*") + r"\n")
    return "".join(parts)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh copy of what a clone has, so that commands may write."""
    folder = tmp_path_factory.mktemp("clone") / "opscan"
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "*.egg-info")
    shutil.copytree(PROJECT, folder, ignore=ignored)
    return folder


@pytest.mark.parametrize("shown", COMMANDS, ids=[f"{shown.page}:{shown.line}" for shown in COMMANDS])
def test_command(shown: Shown, copy: Path) -> None:
    if shown.command == "./run test":
        assert "./run test" in (PROJECT / ".ci" / "run").read_text(encoding="utf-8")
        return  # this very run
    if shown.command.startswith("./run") and not (Path(sys.prefix) / ".ready").exists():
        pytest.skip("the tests do not run in the environment that ./run sets up")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(copy),
        "OPSCAN_VENV": sys.prefix,
        "COLUMNS": "100",
    }
    done = subprocess.run(
        shown.command, shell=True, cwd=copy, env=environment, text=True, timeout=600, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert "Traceback" not in done.stdout
    assert re.fullmatch(pattern(shown.output), done.stdout), done.stdout


def test_pages_have_commands() -> None:
    assert {"README.md", "usage.md"} <= {shown.page for shown in COMMANDS}


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
