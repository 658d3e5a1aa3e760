"""How the class of a call's outputs follows from its inputs, attributes and extents: one rule per kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

from opscan.dataclass import replace
from opscan.numerics.bits import CONST, Bits, Level, join, lengthen, unknown
from opscan.numerics.call import Call, Operand
from opscan.numerics.facts import erases
from opscan.numerics.transfer.copies import cast, without_chance

_ANY_DTYPE = frozenset({"cast", "view", "const", "uninitialised", "extreme", "quantise"})
"""Kinds whose operands are not first brought to the dtype of the result."""
_PROMOTED = frozenset(
    {
        "self",
        "other",
        "input",
        "tensors",
        "tensor1",
        "tensor2",
        "end",
        "weight",
        "value",
        "values",
        "source",
        "src",
        "min",
        "max",
        "exponent",
        "grad_output",
        "grad",
    }
)
"""Arguments that hold numbers of the result's kind, as opposed to indices, masks and counts."""
_COUNTED = frozenset({"bincount"})
"""Calls that accumulate into as many places as the values ask for."""

_SUMMING = frozenset({"reductions", "contractions", "norms", "fused"})
"""Families whose calls add up along whole axes, however short these are in one run."""

_FAMILIES = {
    "copies": "cast const exact extreme fill random resized select sequence uninitialised view",
    "pointwise": (
        "arithmetic difference masked-scale multiply-add power product quantise quotient scaled-copy sum-of-two"
    ),
    "reductions": (
        "log-sum-exp loss mean moments nll nll-backward norm product-of-many scan softmax softmax-backward sum"
    ),
    "contractions": "convolution convolution-backward cross fourier linear-algebra matmul triangular-solve",
    "scatters": (
        "coalesce embedding-bag embedding-bag-backward histogram scatter-reduce scatter-sum scatter-value "
        "segment segment-backward"
    ),
    "windows": (
        "adaptive-backward average-pool fold interpolate interpolate-backward max-pool max-unpool "
        "nearest-backward pad-backward pool-backward unfold-backward"
    ),
    "norms": "norm-layer norm-layer-backward renorm-embedding",
    "fused": "attention grid-gradient grid-sample opaque",
}
"""The kinds of each module; one is imported when a kind of it is asked for, since a run needs few of them."""
_FAMILY = {kind: family for family, kinds in _FAMILIES.items() for kind in kinds.split()}

Rule = Callable[[Call], "tuple[Bits, ...]"]


@lru_cache(maxsize=256)
def rule_of(kind: str) -> Rule | None:
    """The rule of a kind; None where there is no such kind."""
    if kind not in _FAMILY:
        return None
    rules: dict[str, Rule] = import_module(f"opscan.numerics.transfer.{_FAMILY[kind]}").RULES
    return rules[kind]


def transfer(call: Call, kind: str | None) -> tuple[Bits, ...]:
    """The bits of every output of `call` (one entry per output, also for those that are None)."""
    rule = rule_of(kind) if kind else None
    if kind not in _ANY_DTYPE:
        call = _promoted(call)
    if erases(call):
        return tuple(CONST for _ in call.outputs)
    call = without_chance(call)
    if rule is None:
        bits = unknown(call.joined(), f"no kind is known for {call.op}")
        return tuple(bits for _ in call.outputs)
    return _hanging_on_values(call, kind, rule(call))


def _hanging_on_values(call: Call, kind: str | None, results: tuple[Bits, ...]) -> tuple[Bits, ...]:
    """An accumulation over a shape that follows from values hangs on these, and could be longer than in this run."""
    spread = max((operand.spread for operand in call.operands()), default=0)
    counting = call.packet in _COUNTED and not any(operand.distinct for operand in call.operands())
    if not (spread or counting or call.steered):
        return results
    inherited = call.joined()
    longer = spread > 1 and _FAMILY.get(kind or "") in _SUMMING

    def hang(bits: Bits) -> Bits:
        raised = bits.level >= Level.ACCUMULATED > inherited.level or bits.stages != inherited.stages
        raised = raised or bits.extent > inherited.extent
        if not raised and not longer:
            return bits
        if spread > 1:
            bits = lengthen(join((bits, inherited)), inherited, spread)
        return replace(bits, depends=bits.depends | {"values"})

    return tuple(map(hang, results))


def _promoted(call: Call) -> Call:
    """Mixed dtypes: an operand that the dtype of the result cannot hold is rounded on its way in."""
    output = next((output for output in call.outputs if output is not None), None)
    if output is None or not output.rounds:
        return call
    if all(operand.dtype in (output.dtype, "bool") for operand in call.operands()):
        return call

    def bring(value: Any) -> Any:
        if isinstance(value, Operand) and not value.unit and value.dtype not in (output.dtype, "bool"):
            return replace(value, bits=cast(value.bits, value.dtype, output.dtype))
        return [bring(item) for item in value] if isinstance(value, list) else value

    arguments = {name: bring(value) if name in _PROMOTED else value for name, value in call.arguments.items()}
    return replace(call, arguments=arguments)
