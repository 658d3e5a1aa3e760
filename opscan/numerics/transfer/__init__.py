"""How the class of a call's outputs follows from its inputs, attributes and extents: one rule per kind."""

from __future__ import annotations

from collections.abc import Callable

from opscan.numerics.bits import Bits, unknown
from opscan.numerics.call import Call

Rule = Callable[[Call], "tuple[Bits, ...]"]


def rule_of(kind: str) -> Rule | None:
    from opscan.numerics.transfer import contractions, copies, norms, pointwise, reductions, scatters, windows

    for family in (copies, pointwise, reductions, contractions, scatters, windows, norms):
        if rule := family.RULES.get(kind):
            return rule
    return None


def transfer(call: Call, kind: str | None) -> tuple[Bits, ...]:
    """The bits of every output of `call` (one entry per output, also for those that are None)."""
    rule = rule_of(kind) if kind else None
    if rule is None:
        bits = unknown(call.joined(), f"no kind is known for {call.op}")
        return tuple(bits for _ in call.outputs)
    return rule(call)
