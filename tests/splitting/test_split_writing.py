"""All files of a split are written or none, and a run that is killed in between leaves a sound catalog."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from splitting_builders import SPEC, lay_out, plan_of, split, texts
from test_split_plugins import sections

from opscan import fixing
from opscan.audit import audit_paths
from opscan.config import Settings
from opscan.fixing import write_fixes

FILES = {"spec.yaml": SPEC.format(generate="narrow"), "gen.py": sections()[0].values[2]}


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("written", [0, 1, 2])
def test_a_killed_run_leaves_a_sound_catalog_and_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    whole = lay_out(tmp_path / "whole", FILES)
    split(whole)
    folder = lay_out(tmp_path / "x", FILES)
    plan = plan_of(folder)
    make, made = fixing._make, []

    def killed(change: fixing.Change) -> None:
        if len(made) == written:
            raise Killed
        made.append(change.shown)
        make(change)

    monkeypatch.setattr(fixing, "_make", killed)
    with pytest.raises(Killed):
        write_fixes(plan)
    monkeypatch.undo()
    assert len(made) == written
    statuses = {Path(f.path).name: f.status for f in audit_paths([folder], Settings()).audit.files if f.kind == "spec"}
    assert statuses == {"spec.yaml": "too-strict", **({"spec_no_broadcast.yaml": "ok"} if written == 2 else {})}
    split(folder)
    assert texts(folder) == texts(whole)


@pytest.mark.parametrize("failing", ["gen.py", "spec_no_broadcast.yaml", "spec.yaml"])
def test_what_fails_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    folder = lay_out(tmp_path / "x", FILES)
    plan, before, make = plan_of(folder), texts(folder), fixing._make

    def fail(change: fixing.Change) -> None:
        if Path(change.shown).name == failing:
            raise OSError(28, "No space left on device")
        make(change)

    monkeypatch.setattr(fixing, "_make", fail)
    assert [failing in problem and "No space" in problem for problem in write_fixes(plan).problems] == [True]
    assert texts(folder) == before


@pytest.mark.parametrize("name", ["gen.py", "spec.yaml", "spec_no_broadcast.yaml"])
def test_a_file_that_changed_meanwhile_stops_all_three(tmp_path: Path, name: str) -> None:
    folder = lay_out(tmp_path / "x", FILES)
    plan = plan_of(folder)
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write("# later\n")
    before = texts(folder)
    assert len(write_fixes(plan).problems) == 1
    assert texts(folder) == before


def test_the_twin_has_the_mode_of_its_spec(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "x", FILES)
    os.chmod(folder / "spec.yaml", 0o640)
    split(folder)
    assert stat.S_IMODE((folder / "spec_no_broadcast.yaml").stat().st_mode) == 0o640


def test_a_run_verifies_what_the_text_does_not_show(tmp_path: Path) -> None:
    """The number of a process is not followed, so only a run tells what comes of it."""
    plugin = FILES["gen.py"].replace("import random\n", "import os\nimport random\n").replace(
        "x, other = case_config.inputs", "x, other = case_config.inputs[: 2 + 0 * os.getpid()]")  # fmt: skip
    at = "from atk.case_generator.generator"
    real = f"{at}.base_generator import CaseGenerator\n{at}.generate_types import GENERATOR_REGISTRY\n"
    plugin = plugin.replace("from atk import GENERATOR_REGISTRY, CaseGenerator\n", real)
    folder = lay_out(tmp_path / "x", {**FILES, "gen.py": plugin})
    assert plan_of(folder).changes == ()
    plan = split(folder, settings=Settings(run_generators=True, run_cases=20))
    assert plan.unsplit == ()
    assert sorted(texts(folder)) == ["gen.py", "spec.yaml", "spec_no_broadcast.yaml"]
