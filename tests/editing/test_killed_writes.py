"""However `fix --write` ends, and however many of them run at once: each file is as it was or as it should be."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import stat
import time
from pathlib import Path

import pytest

from opscan.audit import audit_paths
from opscan.config import Settings
from opscan.data import data_path
from opscan.editing import remove_leftovers
from opscan.fixing import Plan, plan_fixes, write_fixes
from opscan.judging.rules import load_rule
from opscan.splitting import with_splits

SAMPLES = data_path("catalog", "1000")
CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus" / "cases"
WHERE = "torch.where_backward"
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def catalog(folder: Path) -> Path:
    """Specs and case files that need edits, one behind a link, one with a mode of its own."""
    shutil.copytree(SAMPLES / "result", folder / "result")
    for spec in sorted(SAMPLES.glob("torch.[w-z]*.yaml")) + sorted(SAMPLES.glob("*.py")):
        shutil.copy(spec, folder / spec.name)
    for path in sorted(CORPUS.glob("atk_aclnnA[a-d]*.json")) if CORPUS.is_dir() else ():
        shutil.copyfile(path, folder / path.name)
    (folder / "real").mkdir()
    shutil.move(folder / f"{WHERE}.yaml", folder / "real" / "spec.yaml")
    (folder / f"{WHERE}.yaml").symlink_to(folder / "real" / "spec.yaml")
    (folder / "real" / "spec.yaml").chmod(0o640)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def restore(folder: Path, files: dict[str, bytes]) -> None:
    for name in set(contents(folder)) - set(files):
        if not name.endswith(".opscan-tmp"):
            (folder / name).unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def split(folder: Path) -> Plan:
    settings = Settings()
    audited = audit_paths([folder], settings)
    return with_splits(plan_fixes(audited, unsafe=False), audited, settings, how="twin", unsafe=False)


def start(plan: Plan) -> int:
    """A process that writes; its exit status counts what it could not write."""
    child = os.fork()
    if not child:
        problems = 99
        try:
            problems = len(write_fixes(plan).problems)
        finally:
            os._exit(problems)
    return child


@pytest.fixture
def prepared(tmp_path: Path) -> tuple[Path, Plan, dict[str, bytes], dict[str, bytes]]:
    """A folder, what is to be written there, and its files before and after."""
    folder = catalog(tmp_path)
    before = contents(folder)
    plan = plan_fixes(audit_paths([folder], Settings()), unsafe=True)
    assert len(plan.changes) >= 5
    assert write_fixes(plan).problems == ()
    after = contents(folder)
    assert sum(after[name] != before[name] for name in before) >= 5
    restore(folder, before)
    return folder, plan, before, after


def test_killed_at_any_moment(prepared: tuple[Path, Plan, dict[str, bytes], dict[str, bytes]]) -> None:
    folder, plan, before, after = prepared
    begun = time.perf_counter()
    os.waitpid(start(plan), 0)
    whole = time.perf_counter() - begun
    draw = random.Random(7)
    tried = half_done = 0
    while tried < 40 or (not half_done and tried < 400):  # how long a run takes changes with what else is running
        tried += 1
        restore(folder, before)
        child = start(plan)
        time.sleep(draw.random() * whole)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = contents(folder)
        kept = {name: data for name, data in found.items() if name in before}
        assert all(data in (before[name], after[name]) for name, data in kept.items())
        assert set(kept) == set(before)
        assert all(Path(name).name.startswith(".") and name.endswith(".opscan-tmp") for name in set(found) - set(kept))
        half_done += before != kept != after
    assert half_done  # else the moments were not random enough to try anything
    restore(folder, before)
    assert write_fixes(plan).problems == ()
    assert contents(folder) == after  # with nothing left behind by those that were killed
    assert (folder / f"{WHERE}.yaml").is_symlink()
    assert stat.S_IMODE((folder / "real" / "spec.yaml").stat().st_mode) == 0o640


def test_several_at_once(prepared: tuple[Path, Plan, dict[str, bytes], dict[str, bytes]]) -> None:
    folder, plan, before, after = prepared
    for _ in range(5):
        restore(folder, before)
        statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in [start(plan) for _ in range(4)]]
        assert contents(folder) == after
        assert sum(statuses) == 3 * len(plan.changes)  # each file is written once; the others find it changed


def test_only_what_a_killed_run_has_left_is_removed(tmp_path: Path) -> None:
    for name in (".x.json.k2j4h1.opscan-tmp", ".x.json.tmp", "x.opscan-tmp", ".gitignore"):
        (tmp_path / name).touch()
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".gitignore", ".x.json.tmp", "x.opscan-tmp"]


@pytest.fixture
def shared(tmp_path: Path) -> tuple[Path, Plan, list[dict[str, bytes]]]:
    """A folder whose spec is to be split, the plan, and the folder after each of its changes, from none to all."""
    for name, text in load_rule("standard-shared").bad:
        strict = re.sub(r"^standard:\n(?: .*\n)+", "standard: {acc: equal}\n", str(text), flags=re.MULTILINE)
        (tmp_path / name).write_text(strict, encoding="utf-8")
    states = [contents(tmp_path)]
    plan = split(tmp_path)
    assert write_fixes(plan).problems == ()
    after = contents(tmp_path)
    for change in plan.changes:
        name = change.source.path.name
        states.append({**states[-1], name: after[name]})
    assert states[-1] == after
    assert len(states) == 4
    return tmp_path, plan, states


def test_a_split_that_is_killed_at_any_moment_is_taken_up(
    shared: tuple[Path, Plan, list[dict[str, bytes]]],
) -> None:
    folder, plan, states = shared
    begun = time.perf_counter()
    restore(folder, states[0])
    os.waitpid(start(plan), 0)
    whole = time.perf_counter() - begun
    draw = random.Random(5)
    met: set[tuple[int, bool]] = set()
    tried = 0
    while tried < 40 or (len(met) < 3 and tried < 400):
        tried += 1
        restore(folder, states[0])
        child = start(plan)
        time.sleep(draw.random() * whole)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = contents(folder)
        kept = {name: data for name, data in found.items() if not name.endswith(".opscan-tmp")}
        assert kept in states
        state = (states.index(kept), kept != found)
        if state in met:
            continue
        met.add(state)
        assert write_fixes(split(folder)).problems == ()
        assert contents(folder) == states[-1]
    assert len(met) > 2  # else the moments were not random enough to try anything


def test_what_is_left_beside_a_finished_split_goes(shared: tuple[Path, Plan, list[dict[str, bytes]]]) -> None:
    """A new file has its name before its temporary one is gone, and then no rerun has anything to write."""
    folder, _, states = shared
    (folder / ".spec_no_broadcast.yaml.k2j4h1.opscan-tmp").touch()
    again = split(folder)
    assert again.changes == ()
    assert write_fixes(again).problems == ()
    assert contents(folder) == states[-1]


def test_several_splits_at_once(shared: tuple[Path, Plan, list[dict[str, bytes]]]) -> None:
    """All of the files or none, also of a process that read them while another was writing."""
    folder, plan, states = shared
    plans = [plan]
    for state in states[1:-1]:
        restore(folder, state)
        plans.append(split(folder))
    for turn in range(8):
        restore(folder, states[0])
        for child in [start(one) for one in (plans * 2)[turn % 3 :]]:
            os.waitpid(child, 0)
        found = contents(folder)
        plugin = next(name for name in found if name.endswith(".py"))
        assert "spec_no_broadcast.yaml" not in found or found[plugin] == states[-1][plugin]
        assert write_fixes(split(folder)).problems == ()
        specs = [report for report in audit_paths([folder], Settings()).audit.files if report.kind == "spec"]
        assert [report.status for report in specs] == ["ok", "ok"]
