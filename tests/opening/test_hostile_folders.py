"""What hangs or ends other readers: each lies beside a good spec, which is judged all the same.

Sizes are such that what is quadratic in them takes many minutes, and the run is ended after one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SPEC = """\
name: torch.relu
standard: {acc: equal}
inputs:
  - name: input
    type: tensor
    dtypes: {values: [fp32]}
    ranges: {valid: {values: [[-5, 5]]}}
    shapes: {dim_numbers: {values: [2]}, dim_values: {values: [4, 8]}}
"""
MANY = 120_000


def write(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


def deep_folders(folder: Path) -> None:
    """Folders whose path no system call takes."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(70):
        os.mkdir("f" * 64, dir_fd=here)
        below = os.open("f" * 64, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def sparse(name: str) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        with (folder / name).open("wb") as file:
            file.truncate(30 << 30)

    return make


def wide(folder: Path) -> None:
    """A project in which many folders with many programs lie beside the specs."""
    for number in range(40):
        (folder / f"package_{number}").mkdir()
        for module in range(40):
            (folder / f"package_{number}" / f"module_{module}.py").write_text("x = 1\n" * 50)


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "blank-lines": (write("blank.yaml", "api: pytorch\n" + "\n" * MANY * 3 + "name: torch.add\n"), ""),
    "blanks": (write("blanks.yaml", "api: pytorch\n" + " " * MANY * 3 + "\nname: torch.add\n"), ""),
    "long-word": (write("run.sh", "#!/bin/bash\nx=" + "aZ9_" * MANY + "\n"), ""),
    "atk-words": (write("run.sh", "atk " * MANY + "\n"), ""),
    "atk-case-words": (write("run.sh", "atk case -f " * (MANY // 10) + "\n"), ""),
    "open-substitutions": (write("run.sh", "atk case -f x" + "$(" * (MANY // 10) + "\n"), ""),
    "continued": (write("run.sh", "atk case -f x \\\n" * (MANY // 10) + "\n"), ""),
    "loops": (
        write("run.sh", "".join(f"for a{n} in {'w ' * 40}; do\n" for n in range(40)) + "atk case -f $a1$a2$a3\n"),
        "",
    ),
    "stars": (write("run.sh", "atk task -c " + "*a" * 5000 + ".json --task accuracy\n"), ""),
    "open-calls": (write("plugin.py", "register(" * MANY + "\n"), ""),
    "composed": (write("plugin.py", "register(" + "'a' + " * (MANY // 4) + "\n"), ""),
    "ignores": (write("many.yaml", SPEC + "# opscan: ignore[OPS101]\n" * (MANY // 4)), ""),
    "pipe": (lambda folder: os.mkfifo(folder / "pipe"), ""),
    "pipe-as-spec": (lambda folder: os.mkfifo(folder / "pipe.yaml"), "no regular file"),
    "pipe-as-settings": (lambda folder: os.mkfifo(folder / "pyproject.toml"), ""),
    "loop": (lambda folder: os.symlink("loop.yaml", folder / "loop.yaml"), "symbolic links"),
    "dangling": (lambda folder: os.symlink("nowhere.py", folder / "gone.py"), "leads nowhere"),
    "sparse-plugin": (sparse("x.py"), "larger than"),
    "sparse-spec": (sparse("x.yaml"), "larger than"),
    "sparse-script": (sparse("x.sh"), "larger than"),
    "deep-folders": (deep_folders, "cannot look into the folder"),
    "wide": (wide, ""),
}


def audit(folder: Path, **environment: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "opscan", "audit", str(folder), "--format", "json", "--fail-on", "never"]
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", HOSTILE)
def test_the_good_spec_is_judged_beside_it(name: str, tmp_path: Path) -> None:
    make, told = HOSTILE[name]
    folder = tmp_path / "project" / "1000"
    folder.mkdir(parents=True)
    (folder / "torch.relu.yaml").write_text(SPEC)
    make(folder)
    result = audit(folder)
    assert {Path(file["path"]).name: file["status"] for file in result["files"]}["torch.relu.yaml"] == "ok"
    messages = [finding["message"] for finding in result["findings"]]
    assert not told or any(told in message for message in messages), messages
    assert not any(finding["name"] == "audit-failed" for finding in result["findings"])


def test_nobody_needs_a_home(tmp_path: Path) -> None:
    (tmp_path / "torch.relu.yaml").write_text(SPEC)
    command = ["env", "-u", "HOME", "-u", "XDG_CACHE_HOME", sys.executable, "-m", "opscan", "audit", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
