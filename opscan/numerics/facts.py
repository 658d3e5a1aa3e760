"""What is known of a tensor's values besides how they came about, because it makes later arithmetic exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opscan.dataclass import dataclass
from opscan.numerics.bits import Bits, Level
from opscan.numerics.call import Call, Operand, Pool, Region, holds, spatial
from opscan.numerics.kinds import kind_of

ZEROS = frozenset({"zeros", "zeros_like", "new_zeros", "zero", "_efficientzerotensor"})
ONES = frozenset({"ones", "ones_like", "new_ones"})
_FULL = frozenset({"full", "full_like", "new_full", "scalar_tensor", "fill"})
_SIGNS = frozenset({"sign", "sgn"})
_COPIES = frozenset({"_to_copy", "clone", "copy", "neg"})
_CHOOSING_KINDS = frozenset({"view", "select", "exact", "extreme", "max-pool"})
"""Kinds whose results hold no other values than their operands, but for zeros, ones and signs."""
_PLACES = frozenset({"dim", "p", "eps"})
_MOST_SPANS = 1024
_CHOOSING = frozenset(
    {
        "nonzero", "masked_select", "_unique", "_unique2", "unique_dim", "unique_dim_consecutive", "unique_consecutive",
        "bincount", "_to_sparse", "_coalesce", "_values", "values", "_indices", "indices",
    }
)  # fmt: skip
"""Calls whose values decide how many elements come out."""
_SIZED = frozenset(
    {"new_zeros", "new_ones", "new_full", "new_empty", "embedding_dense_backward", "masked_scatter_backward"}
)
"""Calls that take the sizes of the result as an attribute."""
_LIKE_SELF = frozenset(
    {
        "index_put", "_unsafe_index_put", "_index_put_impl", "put", "index_add", "index_copy", "index_fill", "scatter",
        "scatter_add", "scatter_reduce", "index_reduce", "masked_scatter", "copy",
    }
)  # fmt: skip
"""Calls whose result has the shape of `self` whatever is written into it."""
_POOLS = frozenset(f"{form}max_pool{rank}d" for form in ("", "adaptive_", "fractional_") for rank in (2, 3))


_FINITE = frozenset(
    {
        "rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm", "bernoulli", "random",
        "uniform", "normal", "multinomial", "geometric",
    }
)  # fmt: skip
"""Calls that draw finite numbers only."""


@dataclass(frozen=True, slots=True)
class Facts:
    """`zero`: nothing but zeros; `unit`: nothing but 0, 1 and -1; `region`: zero outside it.

    `distinct`: indices that are known to differ (True) or to repeat (False). `spread`: 0 where the shape is certain; n
    where it follows from values, and other values could make it n times as large. `pool`: the max pooling of this trace
    that made these indices, so that each lies in its own window. `repeats`: how often one value occurs at most among
    these numbers; 0 where that is not known. `held`: a narrower dtype that holds all of these values. `drawn`: random
    numbers, all of them finite. `step`: of whole numbers from 0 on that lie so far apart; 0 where that is not known.
    """

    zero: bool = False
    unit: bool = False
    region: Region | None = None
    distinct: bool | None = None
    spread: int = 0
    pool: Pool | None = None
    repeats: int = 0
    held: str = ""
    drawn: bool = False
    step: int = 0

    def merged(self, other: Facts) -> Facts:
        """What still holds where values of both kinds stand side by side."""
        return Facts(self.zero and other.zero, self.unit and other.unit, spread=max(self.spread, other.spread))


NOTHING = Facts()


def operand(shape: tuple[int, ...], dtype: str, bits: Bits, facts: Facts) -> Operand:
    """A tensor as the rules of `transfer` see it."""
    return Operand(
        shape, dtype, bits, facts.zero, facts.unit, facts.region, facts.distinct, facts.spread, facts.pool,
        facts.repeats, facts.held, facts.drawn, facts.step,
    )  # fmt: skip


def deduce(call: Call) -> Facts:
    """What follows for the result of `call`."""
    if _makes_zeros(call):
        return Facts(zero=True, unit=True, spread=_spread(call))
    source = _copied(call)
    return Facts(
        unit=_makes_units(call),
        region=_region(call),
        distinct=source.distinct if source else True if call.packet == "randperm" else None,
        spread=_spread(call),
        pool=source.pool if source else pool_of(call),
        repeats=_repeats(call, source),
        held=_held(call),
        drawn=source.drawn if source else call.packet in _FINITE,
        step=_step(call, source),
    )


def _copied(call: Call) -> Operand | None:
    """What the result is a copy of, element by element."""
    if call.packet == "copy":
        return call.tensor("src")
    return next(call.operands(), None) if call.packet in _COPIES else None


def _repeats(call: Call, source: Operand | None) -> int:
    """A range names each number once; copies and other shapes of it repeat them as often."""
    if call.packet in ("arange", "randperm"):
        return 1
    if source is None and kind_of(call.packet) == "view":
        source = next(call.operands(), None)
    return source.repeats if source and source.numel == call.output.numel else 0


def _step(call: Call, source: Operand | None) -> int:
    if source is not None:
        return source.step if call.packet != "neg" else 0
    start, step = call.argument("start", 0), call.argument("step", 1)
    return step if call.packet == "arange" and start == 0 and type(step) is int and step > 0 else 0


def _held(call: Call) -> str:
    """The narrower dtype of all the numbers of which the result is made."""
    output = next((output for output in call.outputs if output is not None and output.rounds), None)
    if output is None:
        return ""
    if call.packet in ("_to_copy", "copy"):
        source = call.tensor("src", "self")
        held = source.held or source.dtype
    elif kind_of(call.packet) in _CHOOSING_KINDS and _plain_choice(call):
        dtypes = {operand.held or operand.dtype for operand in call.operands() if operand.rounds and not operand.unit}
        held = dtypes.pop() if len(dtypes) == 1 else ""
    else:
        return ""
    return held if held != output.dtype and holds(held, output.dtype) else ""


def _plain_choice(call: Call) -> bool:
    """No number among the attributes may become an element."""
    numbers = [value for name, value in call.arguments.items() if name not in _PLACES and type(value) is float]
    return all(number in (0, 1, -1) for number in numbers) and not any(operand.complex for operand in call.operands())


def _spread(call: Call) -> int:
    """Whether, and by how much, other values could make the result larger."""
    source = next(call.operands(), None)
    if source is None or call.packet in _SIZED or all(out is None or not out.shape for out in call.outputs):
        return 0
    if call.packet in _LIKE_SELF or call.in_place:
        return call.tensor("self").spread
    given = max(operand.spread for operand in call.operands())
    if not _sized_by_values(call):
        return given
    chosen, most = call.output.numel, max(operand.numel for operand in call.operands())
    if call.packet == "nonzero":
        chosen = call.output.shape[0]
    elif call.packet == "masked_select":
        most = math.prod(broadcast([operand.shape for operand in call.operands()]))
    return max(given, 1, -(-most // max(chosen, 1)))


def _sized_by_values(call: Call) -> bool:
    if call.packet == "index":
        return any(operand.dtype in ("bool", "uint8") for operand in _flat(call.argument("indices", ())))
    return call.packet in _CHOOSING or (call.packet == "repeat_interleave" and "repeats" in call.arguments)


def _flat(values: Sequence[Any]) -> list[Operand]:
    return [value for value in values if isinstance(value, Operand)]


def broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(max(sizes) for sizes in zip(*padded, strict=True))


def pool_of(call: Call) -> Pool | None:
    """The max pooling that `call` is, or of which it is the gradient."""
    name = call.packet.removesuffix("_backward").removesuffix("_with_indices")
    if name not in _POOLS:
        return None
    upstream = call.arguments.get("grad_output")
    result = upstream if isinstance(upstream, Operand) else call.output
    rank = int(name[-2])
    kernel = spatial(call.argument("kernel_size"), rank)
    windows = (spatial(call.argument("stride") or kernel, rank), *(
        spatial(call.argument(attribute), rank, default) for attribute, default in (("padding", 0), ("dilation", 1))
    ))  # fmt: skip
    return name, call.tensor("self").shape, result.shape, tuple(kernel), *(tuple(window) for window in windows)


def erases(call: Call) -> bool:
    """Whether nothing is left of random numbers: zero times a finite number is zero."""
    factor = call.arguments.get("other")
    nothing = call.packet == "mul" and type(factor) in (int, float) and factor == 0
    return nothing and call.tensor("self").drawn


def _makes_zeros(call: Call) -> bool:
    if call.packet in ZEROS:
        return True
    if call.packet == "mul":
        factors = (call.argument("self"), call.argument("other"))
        return any(factor.zero if isinstance(factor, Operand) else factor == 0 for factor in factors) and (
            # a sum may overflow on one device alone, and 0 * inf is NaN
            erases(call) or bool(call.joined().level <= Level.SELECT)
        )
    if call.packet == "copy":
        return call.tensor("src").zero
    if call.packet in ("sum", "neg") or kind_of(call.packet) == "view":
        source = next(call.operands(), None)
        return source is not None and source.zero
    value = call.argument("fill_value", call.argument("s", call.argument("value")))
    return call.packet in _FULL and isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0


def _makes_units(call: Call) -> bool:
    """Signs, ones, masks as numbers, and sums over one of these."""
    if call.packet in ONES:
        return True
    operand = call.arguments.get("src") if call.packet == "copy" else next(call.operands(), None)
    if not isinstance(operand, Operand) or operand.complex:
        return False
    signed = operand.unit or operand.dtype == "bool"
    lone = call.packet == "sum" and operand.numel == call.output.numel
    return call.packet in _SIGNS or (signed and (lone or call.packet in _COPIES))


def _region(call: Call) -> Region | None:
    """Where the gradient of a slice lies, and what the sum of two such gradients covers."""
    if call.packet in ("slice_backward", "select_backward"):
        sizes, axis = call.argument("input_sizes"), call.argument("dim", 0)
        axis, addends = axis % len(sizes), next(call.operands()).bits.addends
        if "index" in call.arguments:
            start = _from_front(call.arguments["index"], sizes[axis])
            return axis, ((start, start + 1, addends),)
        start = _from_front(call.argument("start", 0), sizes[axis])
        end = _from_front(call.argument("end", sizes[axis]), sizes[axis])
        return axis, ((start, end, addends),)
    if call.packet in ("clone", "copy"):
        source = call.tensor("src", "self")
        return source.region if source.shape == call.output.shape else None
    if call.packet == "add":
        first, second = call.arguments.get("self"), call.arguments.get("other")
        return together(first, second) if isinstance(first, Operand) and isinstance(second, Operand) else None
    return None


def _from_front(position: int, size: int) -> int:
    return min(max(position + size if position < 0 else position, 0), size)


def together(first: Operand, second: Operand) -> Region | None:
    """Where two operands of one shape that are zero outside of their regions lie upon each other."""
    regions = [operand.region for operand in (first, second) if operand.region is not None]
    if not regions or first.shape != second.shape:
        return None
    axis = min(regions, key=lambda region: len(region[1]))[0]
    whole = (0, first.shape[axis])
    spans = [
        span
        for operand in (first, second)
        for span in (
            operand.region[1]
            if operand.region and operand.region[0] == axis
            else ((*whole, operand.bits.addends),)  # along this axis it may be anywhere
        )
    ]
    return (axis, tuple(spans)) if len(spans) <= _MOST_SPANS else None
