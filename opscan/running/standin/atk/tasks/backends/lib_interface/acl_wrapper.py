"""Types and functions of the ACL library. Plugins import them for executors of the device, which are never run here."""

from __future__ import annotations

from typing import Any

from ._absent import absent


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return absent(name)
