"""Names that only tasks on a device need: they can be imported, mentioned and inherited from, but not used."""

from __future__ import annotations

from collections.abc import Callable
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


def every_name(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names are all absent."""

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{module.rpartition('.')[2]}.{name}")

    return get
