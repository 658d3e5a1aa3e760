"""`opscan fix --split` on the command line: what it prints, and its exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from splitting_builders import SPEC, lay_out, texts
from test_split_plugins import sections

from opscan.cli import cli


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = lay_out(tmp_path / "x", {"spec.yaml": SPEC.format(generate="narrow"), "gen.py": sections()[0].values[2]})
    monkeypatch.chdir(tmp_path)
    return made


def run(*words: str) -> tuple[int, Result]:
    done = CliRunner().invoke(cli, ["fix", *words], standalone_mode=False)
    assert done.exception is None, done.output
    return done.return_value, done


def test_it_shows_then_writes_then_has_nothing_to_do(folder: Path) -> None:
    before = texts(folder)
    code, shown = run("--split", "x/spec.yaml")
    assert (code, texts(folder)) == (1, before)
    headers = [line for line in shown.stdout.splitlines() if line.startswith(("--- ", "+++ "))]
    assert headers == [
        "--- a/x/gen.py", "+++ b/x/gen.py", "--- /dev/null", "+++ b/x/spec_no_broadcast.yaml",
        "--- a/x/spec.yaml", "+++ b/x/spec.yaml",
    ]  # fmt: skip
    note = "x/spec.yaml: its twin x/spec_no_broadcast.yaml compares output:0, grad:input, grad:other bit by bit"
    assert note in shown.stderr
    assert "2 edits in 2 files and 1 new file would be made" in shown.stderr
    code, written = run("--split", "--write", "x/spec.yaml")
    assert code == 0
    assert note in written.stderr
    code, again = run("--split", "x")
    assert (code, again.stdout) == (0, "")


def test_a_refusal_leaves_the_ordinary_edits(folder: Path) -> None:
    (folder / "spec_no_broadcast.yaml").write_text("name: torch.relu\ninputs: []\n")
    code, done = run("--split", "--write", "x/spec.yaml")
    assert code == 0
    assert "not split: x/spec.yaml: spec_no_broadcast.yaml exists already and is no twin of it" in done.stderr
    assert "mixed_tolerance_bm" in (folder / "spec.yaml").read_text()


def test_without_the_option_nothing_is_split(folder: Path) -> None:
    code, done = run("--write", "x/spec.yaml")
    assert (code, sorted(texts(folder))) == (0, ["gen.py", "spec.yaml"])
    assert "1 edit in 1 file made" in done.stderr
