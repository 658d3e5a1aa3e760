"""The kinds table: which rule tells how the bits of an ATen call's outputs come about."""

from __future__ import annotations

from functools import lru_cache

from opscan.data import data_path
from opscan.numerics.packets import rule_name


@lru_cache(maxsize=1)
def load_kinds() -> dict[str, str]:
    """Name of a packet as `rule_name` has it -> kind, from every file of `catalog/aten/`.

    Raises ValueError where two files claim the same packet.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    kinds: dict[str, str] = {}
    for path in sorted(data_path("catalog", "aten").glob("*.yaml")):
        for kind, entry in yaml.load(path.read_text(encoding="utf-8"), Loader=loader).items():
            for packet in entry["packets"]:
                if packet in kinds:
                    raise ValueError(f"{path}: {packet} is {kind} here and {kinds[packet]} elsewhere")
                kinds[packet] = kind
    return kinds


@lru_cache(maxsize=1)
def _reasons() -> dict[str, str]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    texts = [path.read_text(encoding="utf-8") for path in sorted(data_path("catalog", "aten").glob("*.yaml"))]
    return {kind: entry["because"] for text in texts for kind, entry in yaml.load(text, Loader=loader).items()}


def reason_of(kind: str) -> str:
    """Why a kind has the class it has, in a line."""
    return _reasons()[kind]


def kind_of(packet: str) -> str | None:
    """The kind of an ATen packet; all variants of one operator have the same."""
    return load_kinds().get(rule_name(packet))
