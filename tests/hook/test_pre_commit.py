"""The hooks under the real pre-commit tool, in a repository of their own.

The environment that pre-commit builds has no PyTorch here: what needs none is checked and fixed, and what needs it must
say so instead of passing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
TRAP = """\
# thresholds of the release
name: torch.tanh
standard:
  acc: {mixed_tolerance_bm: {fp32_rtol: 1e-4}}   # agreed
inputs: []
"""


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as it stands, committed in a repository that pre-commit can clone."""
    if not (PROJECT / ".git").exists():
        pytest.skip("the project is no git checkout, so the files of a release cannot be listed")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("hooks")
    for name in filter(None, listed.stdout.split("\0")):
        if (PROJECT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(PROJECT / name, folder / name)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "hooks")
    return folder


@pytest.fixture(scope="module")
def repository(hooks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("catalog")
    git(folder, "init", "-q")
    revision = git(hooks, "rev-parse", "HEAD")
    (folder / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks:\n  - id: opscan-audit\n  - id: opscan-fix\n"
    )
    return folder


def run_hook(repository: Path, hook: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PRE_COMMIT_HOME": str(repository.parent / "pre-commit-home"), "OPSCAN_CACHE": "off"}
    environment.pop("PYTHONPATH", None)
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", hook, "--all-files"],
        cwd=repository, env=environment, capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip


def test_audit_and_fix(repository: Path) -> None:
    spec = repository / "torch.tanh.yaml"
    spec.write_text(TRAP)
    git(repository, "add", "-A")
    audit = run_hook(repository, "opscan-audit")
    assert audit.returncode == 1, audit.stdout + audit.stderr
    column = TRAP.splitlines()[3].index("1e-4") + 1
    assert f"torch.tanh.yaml:4:{column}: error OPS017" in audit.stdout
    fix = run_hook(repository, "opscan-fix")
    assert "files were modified by this hook" in fix.stdout, fix.stdout + fix.stderr
    assert spec.read_text() == TRAP.replace("1e-4", "1.0e-4")


def test_what_needs_torch_does_not_pass_silently(repository: Path) -> None:
    spec = repository / "torch.unique.yaml"
    tensor = "- {name: input, type: tensor, dtypes: {values: [fp32]}}"
    spec.write_text(f"name: torch.unique\nstandard: {{acc: equal}}\ninputs:\n{tensor}\n")
    git(repository, "add", "-A")
    audit = run_hook(repository, "opscan-audit")
    assert audit.returncode == 1, audit.stdout
    assert "OPS206" in audit.stdout
