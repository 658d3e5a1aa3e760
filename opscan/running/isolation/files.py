"""Landlock, on Linux from 5.13: what may be read is an allow-list, and only one folder may be written in.

It needs no namespaces, and holds beside them as a second line for files.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress

from opscan.running.isolation.libc import call
from opscan.running.isolation.namespaces import DEVICES, SYSTEM

_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""The same numbers on every machine."""
_ASK_VERSION = 1
_BENEATH = 1
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_ALL = (1 << 13, 1 << 14, 1 << 15)
"""One more than the rights that the first three versions of the interface know: since then none is about content."""
_PROCESS = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo")


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled", ctypes.c_uint64),)


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def restrict(visible: Sequence[str], work: str) -> None:
    """Let this process read `visible` and what Python needs of the system, and write in `work` alone, from now on.

    Raises OSError where the kernel does not have it.
    """
    version = call("syscall", _CREATE, None, 0, _ASK_VERSION)
    handled = _ALL[min(version, len(_ALL)) - 1] - 1
    rules = call("syscall", _CREATE, _Ruleset(handled), ctypes.sizeof(_Ruleset), 0)
    try:
        _allow(rules, [*SYSTEM, *visible, *_PROCESS], _EXECUTE | _READ | _LIST)
        _allow(rules, DEVICES, _READ | _WRITE)
        _allow(rules, [work], handled)
        call("syscall", _RESTRICT, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, places: Iterable[str], access: int) -> None:
    for place in places:
        with suppress(FileNotFoundError):
            folder = os.open(place, os.O_PATH | os.O_CLOEXEC)
            try:
                wanted = access if os.path.isdir(place) else access & (_EXECUTE | _READ | _WRITE)
                call("syscall", _ADD, rules, _BENEATH, _Beneath(wanted, folder), 0)
            finally:
                os.close(folder)
