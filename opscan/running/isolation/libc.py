"""The system calls of Linux that Python does not offer, through the C library."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from functools import lru_cache

LINUX = sys.platform.startswith("linux")
MACHINE = platform.machine() if sys.maxsize > 2**32 else ""


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | ctypes.Structure | None) -> int:
    """Call a function of the C library. Raises OSError with its errno where it returns -1."""
    passed = [
        ctypes.byref(a) if isinstance(a, ctypes.Structure) else ctypes.c_long(a) if isinstance(a, int) else a
        for a in arguments
    ]
    function = getattr(_library(), name)
    function.restype = ctypes.c_long if name == "syscall" else ctypes.c_int
    result = int(function(*passed))
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def path(value: str) -> bytes:
    return os.fsencode(value)
