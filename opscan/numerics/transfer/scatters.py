"""Accumulation at indices: how many addends meet in one element depends on the values of the indices."""

from __future__ import annotations

import math
from dataclasses import replace

from opscan.numerics.bits import CONST, Bits, Level, accumulate, add, at_least, bend, join, multiply, round_many
from opscan.numerics.call import SIGNIFICAND, Call, Operand, is_scale
from opscan.numerics.facts import broadcast
from opscan.numerics.transfer.reductions import mean_of


def _gather_up(call: Call, bits: Bits, addends: int, slots: int, *, base: Bits | None = None) -> Bits:
    """`addends` values fall into `slots` places, upon `base` where there is one."""
    gathered = _gathered(call, bits, addends, slots)
    if base is None:
        return gathered
    if gathered.addends > 1:
        gathered = replace(gathered, sources=frozenset())  # each of them is another element
    return add(base, gathered, "scatter")


def _gathered(call: Call, bits: Bits, addends: int, slots: int) -> Bits:
    """Three values in one place are certain only beyond two for each."""
    distinct = _distinct(call)
    if distinct:
        return accumulate(bits, 1, "scatter", "shapes")
    index = call.arguments.get("index")
    if isinstance(index, Operand) and index.repeats:
        most = min(addends, index.repeats)
        return accumulate(bits, most, "scatter", "shapes") if most > 1 else bits
    certain = distinct is False or addends > 2 * slots or addends <= 1
    return accumulate(bits, addends, "scatter", "shapes", *(() if certain else ("values",)))


def _distinct(call: Call) -> bool | None:
    """Whether the indices are known to differ, or known to repeat."""
    return next((operand.distinct for operand in call.operands() if operand.distinct is not None), None)


def _index_tensors(call: Call) -> list[Operand]:
    indices = call.argument("indices")
    found = indices if isinstance(indices, (list, tuple)) else [indices]
    return [index for index in found if isinstance(index, Operand)]


def _extent(call: Call) -> tuple[int, int]:
    """How many values may meet in one place, and how many places there are for them."""
    destination, axis = call.tensor("self", "grad_output"), call.argument("dim", 0)
    if call.packet in ("index_add", "index_reduce"):
        return call.tensor("index").numel, destination.shape[axis] if destination.shape else 1
    if call.packet.startswith("scatter"):
        index = call.tensor("index")
        return (index.shape[axis] if index.shape else 1), (destination.shape[axis] if destination.shape else 1)
    if call.packet == "put":
        return call.tensor("index").numel, destination.numel
    if call.packet == "embedding_dense_backward":
        return call.tensor("indices").numel, int(call.argument("num_weights", 1))
    positions = call.arguments.get("indices")
    indexed = [
        axis
        for axis, index in enumerate(positions if isinstance(positions, (list, tuple)) else ())
        if index is not None
    ]
    numbers = [index for index in _index_tensors(call) if index.dtype != "bool"]
    slots = math.prod(destination.shape[axis] for axis in indexed if axis < len(destination.shape))
    return math.prod(broadcast([index.shape for index in numbers])) if numbers else 1, slots


def _scatter_sum(call: Call) -> tuple[Bits, ...]:
    """index_add, scatter_add, index_put and put with `accumulate`, the dense embedding gradient."""
    if call.arguments.get("accumulate", True) is False:
        return _write(call, _extent(call)[0])
    destination = call.arguments.get("self")
    base = destination.bits if isinstance(destination, Operand) and not destination.zero else None
    addends, slots = _extent(call)
    if call.argument("padding_idx", -1) >= 0:
        slots = addends  # every index may be the padding, whose gradient is dropped
    bits = call.joined("self")
    source = call.tensor("source", "src", "values", "grad_output")
    counted = source.unit and (base is None or call.tensor("self").unit) and call.argument("alpha", 1) == 1
    if counted and addends < 2 ** SIGNIFICAND.get(call.output.dtype, 24):
        return call.each_output(call.joined())  # ones are counted
    if base is not None and call.argument("alpha", 1) == 0:
        return call.each_output(base)
    if not is_scale(call.argument("alpha", 1), call.output.dtype):
        bits = multiply(bits, once=False)
    if call.argument("scale_grad_by_freq"):
        bits = round_many(bits)
    return call.each_output(_gather_up(call, bits, addends, slots, base=base))


def _scatter_reduce(call: Call) -> tuple[Bits, ...]:
    """`reduce`: amax and amin select; sum, mean and prod accumulate."""
    if call.argument("reduce", "sum") in ("amax", "amin", "max", "min"):
        return call.each_output(bend(call.joined()))
    inherited = call.joined("self")
    addends, slots = _extent(call)
    if call.argument("reduce") in ("mean", "prod", "multiply"):
        inherited = round_many(inherited)
    base = call.tensor("self").bits if call.argument("include_self", True) is not False else None
    if base is not None and call.argument("reduce") in ("mean", "prod", "multiply"):
        base = round_many(base)
    return call.each_output(_gather_up(call, inherited, addends, slots, base=base))


def _scatter_value(call: Call) -> tuple[Bits, ...]:
    """`scatter` copies; its `reduce` overloads add or multiply."""
    if call.arguments.get("reduce") is not None:
        return _scatter_reduce(call)
    index = call.tensor("index")
    axis = call.argument("dim", 0)
    return _write(call, index.shape[axis] if index.shape and call.packet.startswith("scatter") else index.numel)


def _write(call: Call, addends: int) -> tuple[Bits, ...]:
    """Copies to indices: with equal indices either value may stay, unless all are the same number."""
    bits = call.joined()
    written = [call.arguments.get(name) for name in ("src", "source", "values")]
    open_order = (
        addends > 1 and not _distinct(call) and any(isinstance(value, Operand) and value.numel > 1 for value in written)
    )
    return tuple(at_least(bits, bits.level, "values") if open_order else bits for _ in call.outputs)


def _segment(call: Call) -> tuple[Bits, ...]:
    data = call.tensor("data")
    if call.argument("reduce") in ("max", "min"):
        return call.each_output(call.joined())
    axis, initial = call.argument("axis", 0), call.argument("initial") is not None
    addends = (data.shape[axis] if data.shape else 1) + initial
    bits = accumulate(round_many(call.joined()), max(3, addends), "reduction", "values")
    return call.each_output(bits)


def _segment_backward(call: Call) -> tuple[Bits, ...]:
    """An element lies in one segment, so its gradient is that segment's: as it is, or divided by a count or by ties.

    For a product it is multiplied by all the other elements of the segment.
    """
    upstream, reduce = call.tensor("grad").bits, call.argument("reduce")
    if reduce == "sum":
        return call.each_output(upstream)
    bits = round_many(upstream if reduce == "mean" else call.joined())
    if reduce == "prod":
        shape = call.tensor("data").shape
        bits = accumulate(bits, shape[call.argument("axis", 0)] if shape else 1, "reduction", "values", fused=True)
    return call.each_output(bits)


def _embedding_bag(call: Call) -> tuple[Bits, ...]:
    """`mode`: 0 sum, 1 mean, 2 max. Offsets are values, so a bag may hold all the indices, unless they are a ramp."""
    indices, offsets = call.tensor("indices"), call.tensor("offsets")
    last = indices.numel - (offsets.numel - 1) * offsets.step
    count = max(offsets.step, last) if offsets.step else indices.numel
    held = () if offsets.step else ("values",)
    mode = call.argument("mode", 0)
    weighted = isinstance(call.argument("per_sample_weights"), Operand)
    if mode == 2:
        bits = call.joined()
    elif mode == 1:
        bits = mean_of(call.joined(), count, call.output.dtype, *held)
        if call.argument("include_last_offset") and held:
            bits = at_least(bits, Level.ARITHMETIC)  # how many indices are averaged is a value
    else:
        addend = multiply(call.joined()) if weighted else call.joined()
        bits = accumulate(addend, count, "reduction", "shapes", *held, fused=weighted)
    rest = join((indices.bits, CONST))
    return (bits, *(rest for _ in call.outputs[1:]))


def _embedding_bag_backward(call: Call) -> tuple[Bits, ...]:
    """Each index adds its bag's gradient to a row of the weight; `mode`: 0 sum, 1 mean, 2 max."""
    indices, bits = call.tensor("indices"), call.joined()
    offsets = call.arguments.get("offsets")
    single = isinstance(offsets, Operand) and offsets.step == 1 and offsets.numel >= indices.numel
    exact = call.argument("mode", 0) != 1 or single  # a mean of one index divides by one
    if not exact or call.argument("scale_grad_by_freq") or isinstance(call.argument("per_sample_weights"), Operand):
        bits = round_many(bits)
    dropped = call.argument("padding_idx", -1) >= 0 or call.argument("mode", 0) == 2
    addends = max(indices.numel, call.tensor("grad").shape[0])
    slots = addends if dropped else int(call.argument("num_weights", 1))
    return call.each_output(_gather_up(call, bits, addends, slots))


def _histogram(call: Call) -> tuple[Bits, ...]:
    """Counts are exact where edges are given or none are needed; computed edges, densities, sums of weights are not."""
    weight = call.argument("weight", call.argument("weights"))
    edges = call.argument("bins")
    given = [isinstance(edge, Operand) for edge in (edges if isinstance(edges, (list, tuple)) else [edges])]
    few = all(given) and call.tensor("self").numel < 2 ** SIGNIFICAND.get(call.output.dtype, 24)
    if weight is None and (call.packet == "bincount" or (few and not call.argument("density"))):
        return tuple(call.joined() for _ in call.outputs)
    computed = round_many(call.joined())
    if not isinstance(weight, Operand):
        return tuple(computed for _ in call.outputs)
    inherited = call.joined() if call.packet == "bincount" else computed
    counts = _gather_up(call, inherited, weight.numel, call.output.numel)
    return tuple(computed if position else counts for position in range(len(call.outputs)))


def _renumber(call: Call) -> tuple[Bits, ...]:
    """Sparse coalescing adds the values of equal indices."""
    bits = call.joined()
    if bits.level == Level.CONST:
        return tuple(bits for _ in call.outputs)
    return call.each_output(accumulate(bits, 3, "scatter", "values"))


RULES = {
    "scatter-sum": _scatter_sum,
    "scatter-reduce": _scatter_reduce,
    "scatter-value": _scatter_value,
    "segment": _segment,
    "segment-backward": _segment_backward,
    "embedding-bag": _embedding_bag,
    "embedding-bag-backward": _embedding_bag_backward,
    "histogram": _histogram,
    "coalesce": _renumber,
}
