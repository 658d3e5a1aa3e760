"""The kinds table: which rule tells how the bits of an ATen call's outputs come about."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from opscan.data import data_path
from opscan.numerics.packets import rule_name

_KEY = re.compile(r"^[\w-]+:", re.MULTILINE)
_ENTRY = re.compile(r"^([\w-]+):\n  because: (.*)\n  packets: \[([^\]]*)\]", re.MULTILINE)
"""A kind as the files write it; a tenth of the time that YAML takes, which every run of the hook would wait for."""


@lru_cache(maxsize=1)
def _entries() -> list[tuple[Path, str, str, list[str]]]:
    """File, kind, why it has its class, packets. Raises ValueError where a file holds something else."""
    found = []
    for path in sorted(data_path("catalog", "aten").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        entries = _ENTRY.findall(text)
        if len(entries) != len(_KEY.findall(text)):
            raise ValueError(f"{path}: a kind is its name, a line `because:` and a list `packets: [...]` below it")
        for kind, because, packets in entries:
            found.append((path, kind, because, [name for packet in packets.split(",") if (name := packet.strip())]))
    return found


@lru_cache(maxsize=1)
def load_kinds() -> dict[str, str]:
    """Name of a packet as `rule_name` has it -> kind, from every file of `catalog/aten/`.

    Raises ValueError where two files claim the same packet.
    """
    kinds: dict[str, str] = {}
    for path, kind, _, packets in _entries():
        for packet in packets:
            if packet in kinds:
                raise ValueError(f"{path}: {packet} is {kind} here and {kinds[packet]} elsewhere")
            kinds[packet] = kind
    return kinds


def reason_of(kind: str) -> str:
    """Why a kind has the class it has, in a line."""
    return next(because for _, name, because, _ in _entries() if name == kind)


def kind_of(packet: str) -> str | None:
    """The kind of an ATen packet; all variants of one operator have the same."""
    return load_kinds().get(rule_name(packet))
