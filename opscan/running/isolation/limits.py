"""Limits on what a sandboxed process may use: processor time, memory, files and their size, core dumps."""

from __future__ import annotations

from contextlib import suppress

from opscan.running.isolation.libc import LINUX

FILE_BYTES = 16 << 20
OPEN_FILES = 128


def set_limits(seconds: float, taken: int | None, mebibytes: int) -> bool:
    """Bound this process from here on; False where the system has no such limits.

    `taken`: its private bytes, beyond which it may have `mebibytes`; None where they are not known.
    """
    try:
        import resource
    except ImportError:
        return False
    wanted = {
        "RLIMIT_CPU": int(seconds) + 2,
        "RLIMIT_FSIZE": FILE_BYTES,
        "RLIMIT_NOFILE": OPEN_FILES,
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0,
    }
    if not LINUX:  # there it would count threads too, and the filter of system calls knows processes from threads
        wanted["RLIMIT_NPROC"] = 0
    if taken is not None:
        wanted["RLIMIT_DATA"] = taken + (mebibytes << 20)
    for name, limit in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (bound, bound))
    return True


def private_bytes() -> int | None:
    """What this process has already; the address space would be no measure, for libraries alone take most of it."""
    with (
        suppress(OSError, StopIteration, ValueError),
        open("/proc/self/status", encoding="ascii", errors="replace") as f,
    ):
        return next(int(line.split()[1]) for line in f if line.startswith("VmData:")) << 10
    return None
