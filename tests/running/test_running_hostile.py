"""Plugins that misbehave end as a finding that names the file and, where it can be known, the line, and do no harm.

The table is data; the same plugins are run again with the first line of defence off, where the kernel may not have it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from running_builders import PRELUDE, Section, lay_out, read_sections

from opscan.running import apart
from opscan.running.apart import Ended
from opscan.running.evidence import Ran, run_generator
from opscan.running.messages import Bounds, Job

LINUX = sys.platform.startswith("linux")
SECTIONS = read_sections("hostile_plugins.txt")
AMPLE, TIGHT = Bounds(seconds=30, mebibytes=200), Bounds(seconds=1, mebibytes=200)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(section: Section, folder: Path, without: tuple[str, ...] = ()) -> Ran:
    spec, plugin = lay_out(folder, section.source)
    before = contents(folder)
    bounds = TIGHT if "1 s" in section.facts.get("says", "") else AMPLE
    ran = run_generator(spec, plugin, seed=1234, bounds=bounds, without=without)
    assert contents(folder) == before
    return ran


@pytest.mark.skipif(not LINUX, reason="limits on memory and crashes are told apart on Linux")
@pytest.mark.parametrize("section", SECTIONS, ids=[s.title for s in SECTIONS])
def test_ends_as_a_finding(section: Section, tmp_path: Path) -> None:
    ran = run(section, tmp_path / "plugin")
    assert ran.failed
    assert section.facts["rule"] in [fault.rule for fault in ran.faults]
    told = " ".join(fault.message for fault in ran.faults if fault.rule == section.facts["rule"])
    assert section.facts["says"] in told
    place = (tmp_path / "plugin" / "generate_g.py").as_posix()
    if section.line:
        assert f"{place}:{section.line}:" in told
    assert told.startswith(f"{place}:")
    assert ran.faults[0].span is not None
    assert ran.faults[0].span.line == 2


REACHING = (
    PRELUDE
    + """\
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        tried = {
            "socket": libc.socket(2, 1, 0),
            "fork": libc.fork(),
            "kill": libc.kill(os.getppid(), 0),
            "beside": libc.open((__file__ + ".evil").encode(), 0o101, 0o600),
            "elsewhere": libc.open(b"/var/tmp/opscan.evil", 0o101, 0o600),
            "over": libc.open(__file__.encode(), 0o1001, 0o600),
            "passwords": libc.open(b"/etc/passwd", 0, 0),
            "mount": libc.mount(b"none", b"/", b"tmpfs", 0, None),
            "memfd": libc.memfd_create(b"x", 0),
        }
        if tried["fork"] == 0:
            os._exit(0)
        case_config.inputs[1].range_values = [name for name, result in tried.items() if result != -1]
        return case_config
"""
)
LINES = ("namespaces", "files", "calls")


@pytest.mark.skipif(not LINUX, reason="the kernel's lines of defence are Linux's")
@pytest.mark.parametrize("off", [(), ("namespaces",), ("files",), ("calls",)], ids=lambda off: "-".join(off) or "none")
def test_code_that_goes_past_python_meets_the_kernel(off: tuple[str, ...], tmp_path: Path) -> None:
    """What the hook cannot see is refused all the same, and one line of defence may be missing."""
    ran = run(Section("", REACHING, {}), tmp_path / "plugin", (*off, "hook"))
    if missing := [line for line in LINES if line not in off and line not in ran.lines]:
        pytest.skip(f"this kernel does not have {', '.join(missing)}")
    assert ran.faults == ()
    got_through = {name for case in ran.cases for name in case.inputs[1].values}
    allowed = {"files": set(), "calls": {"memfd", "fork", "socket", "kill"}, "namespaces": set()}
    assert got_through <= (allowed[off[0]] if off else set())
    assert not Path("/var/tmp/opscan.evil").exists()


def test_python_code_meets_the_hook_where_the_kernel_has_nothing(tmp_path: Path) -> None:
    for title in ("opens a socket", "a fork bomb", "starts a program", "writes over itself", "moves itself"):
        section = next(s for s in SECTIONS if s.title == title)
        ran = run(section, tmp_path / "plugin", ("namespaces", "files", "calls", "limits"))
        assert ran.lines == ("hook",)
        assert "plugin-refused" in [fault.rule for fault in ran.faults]


def test_nothing_of_the_user_is_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cr3t")
    source = (
        PRELUDE
        + """\
        case_config.inputs[1].range_values = [sorted(os.environ), os.listdir(), os.path.expanduser("~") == os.getcwd()]
        return case_config
"""
    )
    ran = run(Section("", source, {}), tmp_path / "plugin")
    names, files, at_home = ran.cases[0].inputs[1].values
    assert "SECRET_TOKEN" not in names
    assert not {name for name in names if name.endswith("_proxy")}
    assert files == []
    assert at_home


def test_a_system_that_breaks_in_a_namespace_does_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, ...]] = []

    def run_once(job: Job, base: str) -> Ended:
        seen.append(job.without)
        return Ended(None, broken=True) if len(seen) == 1 else honest(job, base)

    honest = apart._run
    monkeypatch.setattr(apart, "_run", run_once)
    ran = run(Section("", PRELUDE + "        return case_config\n", {}), tmp_path / "plugin")
    assert seen == [(), ("namespaces",)]
    assert len(ran.cases) == 8
    assert "namespaces" not in ran.lines


@pytest.mark.parametrize(
    "answer",
    [b"\x00\x00\x00\x02{}", b"\xff\xff\xff\xff", b'\x00\x00\x00\x0b["answer",1]', b'\x00\x00\x00\x0d["answer",{}]'],
)
def test_an_answer_that_makes_no_sense_is_a_finding(answer: bytes, tmp_path: Path) -> None:
    """A plugin may find the pipe to opscan and write in it."""
    source = (
        PRELUDE
        + f"""\
        for number in range(3, 20):
            try:
                os.write(number, {answer!r})
            except OSError:
                pass
        os._exit(0)
"""
    )
    ran = run(Section("", source, {}), tmp_path / "plugin")
    assert ran.failed
    assert ran.faults[0].rule in ("plugin-run-failed", "plugin-stopped")
