"""From the name in a case to PyTorch's function."""

from __future__ import annotations

from functools import reduce
from typing import Any


def named(name: str | None) -> Any:
    """The function of that dotted name. Raises NameError where PyTorch has none."""
    head, _, rest = (name or "").partition(".")
    if head != "torch" or not rest:
        raise NameError(f"{name!r} names no function of PyTorch")
    import torch

    try:
        return reduce(getattr, rest.split("."), torch)
    except AttributeError:
        raise NameError(f"{name!r} names no function of PyTorch") from None
