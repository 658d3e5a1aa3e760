"""What is known of a tensor's values besides how they came about, because it makes later arithmetic exact."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from opscan.numerics.call import Call, Operand, Region

_ZEROS = frozenset({"zeros", "zeros_like", "new_zeros", "zero", "zero_", "_efficientzerotensor"})
_ONES = frozenset({"ones", "ones_like", "new_ones"})
_FULL = frozenset({"full", "full_like", "new_full", "scalar_tensor", "fill_"})
_SIGNS = frozenset({"sign", "sgn", "sign_", "sgn_"})
_COPIES = frozenset({"_to_copy", "clone", "copy_", "neg"})


@dataclass(frozen=True, slots=True)
class Facts:
    """`zero`: nothing but zeros; `unit`: nothing but 0, 1 and -1; `region`: zero outside it."""

    zero: bool = False
    unit: bool = False
    region: Region | None = None

    def merged(self, other: Facts) -> Facts:
        """What still holds where values of both kinds stand side by side."""
        return Facts(self.zero and other.zero, self.unit and other.unit)


NOTHING = Facts()


def deduce(call: Call) -> Facts:
    """What follows for the result of `call`."""
    if _makes_zeros(call):
        return Facts(zero=True, unit=True)
    return Facts(unit=_makes_units(call), region=_region(call))


def _makes_zeros(call: Call) -> bool:
    if call.packet in _ZEROS:
        return True
    value = call.argument("fill_value", call.argument("s", call.argument("value")))
    return call.packet in _FULL and isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0


def _makes_units(call: Call) -> bool:
    """Signs, ones, and masks as numbers."""
    if call.packet in _ONES:
        return True
    operand = call.arguments.get("src") if call.packet == "copy_" else next(call.operands(), None)
    if not isinstance(operand, Operand) or operand.complex:
        return False
    return call.packet in _SIGNS or (call.packet in _COPIES and (operand.unit or operand.dtype == "bool"))


def _region(call: Call) -> Region | None:
    """Where the gradient of a slice lies, and what the sum of two such gradients covers."""
    if call.packet in ("slice_backward", "select_backward"):
        sizes, axis = call.argument("input_sizes"), call.argument("dim", 0)
        if "index" in call.arguments:
            start = _from_front(call.arguments["index"], sizes[axis])
            return axis, ((start, start + 1),)
        start, end = (_from_front(call.argument(name, 0), sizes[axis]) for name in ("start", "end"))
        return axis, ((start, end),)
    if call.packet == "add":
        first, second = call.arguments.get("self"), call.arguments.get("other")
        if isinstance(first, Operand) and isinstance(second, Operand) and first.region and second.region:
            same_axis = first.region[0] == second.region[0] and len(first.shape) == len(second.shape)
            return (first.region[0], first.region[1] + second.region[1]) if same_axis else None
    return None


def _from_front(position: int, size: int) -> int:
    return min(max(position + size if position < 0 else position, 0), size)


def disjoint(first: Operand, second: Operand) -> bool:
    """Whether the two are zero wherever the other one is not."""
    if first.region is None or second.region is None or first.shape != second.shape:
        return False
    if first.region[0] % len(first.shape) != second.region[0] % len(first.shape):
        return False
    spans = sorted((*first.region[1], *second.region[1]))
    return all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
