"""Sums, means, norms, scans and softmax: accumulation along axes of one tensor."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from opscan.numerics.bits import CONST, Bits, Level, accumulate, at_least, end, multiply, round_many, round_once
from opscan.numerics.call import SIGNIFICAND, Call, Operand, is_scale
from opscan.numerics.facts import broadcast


def _reduced(call: Call) -> int:
    source, output = call.tensor("self"), call.output
    return source.numel // output.numel if output.numel else 0


def _cause(call: Call) -> str:
    return "broadcast" if call.broadcast else "reduction"


def _counts_exactly(call: Call, count: int) -> bool:
    """Adding up ones in a float dtype stays exact until the count outgrows the significand."""
    source = call.tensor("self")
    return (source.dtype == "bool" or source.unit) and count < 2 ** SIGNIFICAND.get(call.output.dtype, 24)


def _sum(call: Call) -> tuple[Bits, ...]:
    inherited, count = call.joined(), _reduced(call)
    if call.packet == "trace":
        count = min(call.tensor("self").shape, default=0)
    if _counts_exactly(call, count):
        return call.each_output(inherited)
    return call.each_output(accumulate(inherited, count, _cause(call), "shapes"))


def _mean(call: Call) -> tuple[Bits, ...]:
    """A sum, then a division: exact for one value, one rounding for two (halving is exact)."""
    return call.each_output(mean_of(call.joined(), _reduced(call), call.output.dtype))


def mean_of(bits: Bits, count: int, dtype: str, *depends: str) -> Bits:
    if count <= 1:
        return bits
    summed = accumulate(bits, count, "reduction", "shapes", *depends)
    return summed if is_scale(1 / count, dtype) else multiply(summed, once=False)


def _product(call: Call) -> tuple[Bits, ...]:
    inherited, count = call.joined(), _reduced(call)
    if count <= 1:
        return call.each_output(inherited)
    if call.output.complex:
        return call.each_output(accumulate(inherited, count, "reduction", "shapes", fused=True))
    summed = accumulate(inherited, count, "reduction", "shapes")
    return call.each_output(replace(end(summed), products=True))


def _moments(call: Call) -> tuple[Bits, ...]:
    """var, std and their means: a sum of squares around a mean that is itself a sum."""
    source = call.tensor("self")
    output = call.output
    count = source.numel // output.numel if output.numel else 0
    inherited = call.joined()
    spread = end(accumulate(at_least(inherited, Level.ARITHMETIC), count, "reduction", "shapes", fused=True))
    if len(call.outputs) == 1:
        return (spread,)
    return spread, mean_of(inherited, count, output.dtype)


def _norm_order(call: Call) -> Any:
    for name in ("ord", "p"):
        if name in call.arguments and not isinstance(call.arguments[name], Operand):
            return 2 if call.arguments[name] is None else call.arguments[name]
    return 2


def _norm(call: Call) -> tuple[Bits, ...]:
    order, inherited, source = _norm_order(call), call.joined(), call.tensor("self")
    if call.packet == "renorm":
        count = source.numel // max(source.shape[call.argument("dim", 0)], 1)
    elif call.packet == "dist":
        count = math.prod(broadcast([operand.shape for operand in call.operands()]))
        inherited = round_once(inherited)
    else:
        count = _reduced(call)
    plain = not source.complex
    counts = order == 0 and count < 2 ** SIGNIFICAND.get(call.output.dtype, 24)
    if plain and (order in (math.inf, -math.inf) or counts):
        bits = inherited
    elif plain and order == 1:
        bits = accumulate(inherited, count, "reduction", "shapes", "attributes")
    else:
        bits = end(accumulate(round_many(inherited), count, "reduction", "shapes", "attributes", fused=True))
    return call.each_output(round_many(bits) if call.packet == "renorm" else bits)


def _log_sum_exp(call: Call) -> tuple[Bits, ...]:
    return call.each_output(end(accumulate(round_many(call.joined()), _reduced(call), "reduction", "shapes")))


def _axis_length(call: Call) -> int:
    source, axis = call.tensor("self", "input", "grad_output"), call.argument("dim", 0)
    return source.shape[axis] if source.shape and isinstance(axis, int) else 1


def _scan(call: Call) -> tuple[Bits, ...]:
    inherited, length = call.joined(), _axis_length(call)
    if call.packet == "logcumsumexp":
        inherited = round_many(inherited)
    fused = call.packet == "cumprod" and call.output.complex
    summed = accumulate(inherited, length, "scan", "shapes", fused=fused)
    if call.packet == "cumsum":
        return call.each_output(summed)
    return call.each_output(replace(end(summed), products=True))


def _softmax(call: Call) -> tuple[Bits, ...]:
    return call.each_output(end(accumulate(round_many(call.joined()), _axis_length(call), "reduction", "shapes")))


def _softmax_backward(call: Call) -> tuple[Bits, ...]:
    summed = accumulate(round_many(call.joined()), _axis_length(call), "reduction", "shapes", fused=True)
    return call.each_output(end(summed))


def _loss(call: Call) -> tuple[Bits, ...]:
    """`reduction`: 0 none, 1 mean, 2 sum; the addends are computed, so even two of them are not an exact pair."""
    rounded = round_many(call.joined())
    if call.argument("reduction", 1) == 0:
        return call.each_output(rounded)
    count = math.prod(broadcast([operand.shape for operand in call.operands()]))
    summed = accumulate(rounded, count, "reduction", "shapes", "attributes", fused=True)
    exact = call.argument("reduction", 1) == 2 or is_scale(1 / max(count, 1), call.output.dtype)
    return call.each_output(summed if exact else multiply(summed, once=False))


def _nll(call: Call) -> tuple[Bits, ...]:
    """The picked log-probabilities, their sum or their weighted mean, and the total weight."""
    picked = call.joined()
    weight = call.argument("weight")
    if isinstance(weight, Operand):
        picked = round_once(picked)
    if call.argument("reduction", 1) == 0:
        return (picked, CONST)
    count = call.tensor("target").numel
    total = accumulate(weight.bits if isinstance(weight, Operand) else CONST, count, "reduction", "shapes", "values")
    weighted = isinstance(weight, Operand)
    summed = accumulate(picked, count, "reduction", "shapes", "attributes", fused=weighted)
    if call.argument("reduction", 1) == 1 and (weighted or count > 2):
        summed = round_many(summed)
    return (summed, total)


def _nll_backward(call: Call) -> tuple[Bits, ...]:
    upstream = call.tensor("grad_output").bits
    weight = call.argument("weight")
    exact = call.tensor("target").numel <= 2 and not isinstance(weight, Operand)  # divided by one or two
    if call.argument("reduction", 1) == 1 and not exact:
        return (round_many(call.joined()),)
    return (round_once(call.joined()) if isinstance(weight, Operand) else upstream,)


RULES = {
    "sum": _sum,
    "mean": _mean,
    "product-of-many": _product,
    "moments": _moments,
    "norm": _norm,
    "log-sum-exp": _log_sum_exp,
    "scan": _scan,
    "softmax": _softmax,
    "softmax-backward": _softmax_backward,
    "loss": _loss,
    "nll": _nll,
    "nll-backward": _nll_backward,
}
