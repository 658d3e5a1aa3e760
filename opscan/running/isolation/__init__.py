"""Keeps a process that runs a plugin apart from everything else. `isolate` says which lines of defence hold.

| line | where | what it does |
|---|---|---|
| `namespaces` | Linux that allows them | no network, no other process, no file system but a read-only view |
| `files` | Linux from 5.13 | reads from an allow-list, writes in the working folder only (Landlock) |
| `calls` | Linux, x86-64 and aarch64 | refuses network, programs, processes, mounts and uncounted memory |
| `limits` | Linux, macOS | processor time, memory (Linux), size and number of files |
| `hook` | everywhere | refuses the same to Python code, and writing outside the working folder |
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from opscan.running.isolation.hook import Denial, Watch
from opscan.running.isolation.libc import LINUX

__all__ = ["Denial", "Isolated", "Watch", "isolate"]

WORK_MEBIBYTES = 64


@dataclass(frozen=True, slots=True)
class Isolated:
    """`lines`: the lines of defence that hold; `watch`: what was refused."""

    lines: tuple[str, ...]
    watch: Watch


def isolate(
    folder: str, work: str, visible: Sequence[str], seconds: float, mebibytes: int, *, without: Sequence[str] = ()
) -> Isolated:
    """Shut this process in: it may read `folder` and `visible`, and write in `work`, an empty folder.

    With namespaces the process forks: the one that returns is the first of its own namespace. `without`: lines to
    leave out, for tests of the others. Raises OSError where a line failed half-way.
    """
    from opscan.running.isolation.limits import private_bytes, set_limits

    lines = []
    taken = private_bytes()  # inside there may be nothing to tell it
    if LINUX and "namespaces" not in without and _enter_namespaces(folder, work, visible):
        lines.append("namespaces")
    os.chdir(work)
    tempfile.tempdir = work
    if "limits" not in without and set_limits(seconds, taken, mebibytes):
        lines.append("limits")
    watch = Watch(folder, work)
    if LINUX:
        lines += _drop_and_refuse([*visible, folder], work, without)
    if "hook" not in without:
        watch.start()
        lines.append("hook")
    return Isolated(tuple(lines), watch)


def _enter_namespaces(folder: str, work: str, visible: Sequence[str]) -> bool:
    from opscan.running.isolation import namespaces

    if not namespaces.leave_the_rest():
        return False
    namespaces.become_first()
    root = os.path.join(os.path.dirname(work), "root")
    os.mkdir(root)
    namespaces.see_only([*visible, folder], root, work, WORK_MEBIBYTES)
    return True


def _drop_and_refuse(visible: Sequence[str], work: str, without: Sequence[str]) -> list[str]:
    """What a process may do to itself without asking, and cannot undo."""
    from opscan.running.isolation import files, syscalls

    lines = []
    with suppress(OSError):
        syscalls.drop_privileges()
    if "files" not in without:
        with suppress(OSError):
            files.restrict(visible, work)
            lines.append("files")
    if "calls" not in without:
        with suppress(OSError):
            syscalls.refuse_calls()
            lines.append("calls")
    return lines
