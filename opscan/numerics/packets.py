"""The one name under which the rules know an operator, whatever variant of it is called."""

from __future__ import annotations

from functools import lru_cache

FOREACH = "_foreach_"
"""What the name of a list operator begins with."""
OF_ONE = {"scalar": "other", "scalars": "other"}
"""What its single operator calls a parameter of a list operator, where that is another name."""
_OWN_COPIES = frozenset({"_to_copy", "index_copy"})
"""Names that end like the copying variant of a view, and are none."""
_ALIASES = {
    "_reshape": "reshape",
    "absolute": "abs",
    "arccos": "acos",
    "clip": "clamp",
    "divide": "div",
    "multiply": "mul",
    "subtract": "sub",
    "true_divide": "div",
}


@lru_cache(maxsize=4096)
def rule_name(packet: str) -> str:
    """`add` for `add_`, `_foreach_add_` and `__iadd__`'s like; `slice` for `slice_copy`. An overload, `out` among them,
    is no part of a packet's name."""
    name = packet.removeprefix(FOREACH)
    if name.startswith("__i") and name.endswith("__"):
        name = f"__{name[3:]}"
    elif name.endswith("_") and not name.endswith("__"):
        name = name[:-1]
    name = name.removesuffix("_functional")
    if name not in _OWN_COPIES:
        name = name.removesuffix("_copy")
    return _ALIASES.get(name, name)


def is_in_place(packet: str) -> bool:
    """Whether the packet writes what it is given first."""
    dunder = packet.startswith("__")
    return packet.startswith("__i") if dunder else packet.endswith("_")
