"""Names of the device's libraries: they can be imported, mentioned and inherited from, but not used."""

from __future__ import annotations

from typing import Any, NoReturn


def refuse(name: str) -> NoReturn:
    raise RuntimeError(f"{name} belongs to the device; opscan runs plugins without one")


class _Absent(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{cls.__name__}.{name}")

    def __call__(cls, *_: Any, **__: Any) -> NoReturn:
        refuse(cls.__name__)


def absent(name: str) -> Any:
    """A class that stands for something that is not here."""
    return _Absent(name, (), {})
