"""A name that executors import and use on a device only; opscan runs plugins without one."""

from __future__ import annotations

from typing import Any

from atk.tasks.backends.lib_interface._absent import absent


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return absent(f"torch_npu.{name}")
