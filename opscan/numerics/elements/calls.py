"""The terms of the results of one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opscan.numerics.bits import Bits, Level, place_key
from opscan.numerics.call import Call, Operand
from opscan.numerics.elements.functions import Arithmetic, either, elsewhere, inner, kept_in, lifted
from opscan.numerics.elements.layers import LAYERS, PACKETS
from opscan.numerics.elements.pointwise import FUNCTIONS, Given, Untold
from opscan.numerics.elements.term import Term, number
from opscan.numerics.facts import ONES, ZEROS

_IN_ORDER = frozenset(
    {
        "view", "unsqueeze", "squeeze", "alias", "detach", "expand", "reshape", "_reshape_alias", "_unsafe_view",
        "clone", "contiguous", "lift", "lift_fresh", "_conj", "_neg_view", "flatten",
    }
)  # fmt: skip
"""Looks at a tensor that leave its elements in their order, or repeat them along new axes."""
_AROUND = frozenset(
    {"constant_pad_nd", "select_backward", "slice_backward", "diagonal_backward", "tril", "triu", "diag_embed"}
)
"""Calls that put elements among zeros."""
_EXACT = frozenset({"view", "select", "exact", "extreme", "max-pool", "const", "fill", "scatter-value"})
"""Kinds whose results are elements of their operands."""
_IN_FORMAT = frozenset({"add", "sub", "rsub", "mul", "div", "xlogy", "special_xlog1py", "special_entr", "logit"})
"""Functions that PyTorch's kernels on a CPU compute in the format of the result, each step of them; most others are
computed in float32 and rounded once. Measured: the first err by more than half a unit in a quarter of their results."""
_SELECTING = frozenset({"select", "exact"})


def terms_of(call: Call, kind: str | None, results: Sequence[Bits]) -> list[Term | None]:
    """The term of each output; None where nothing is known of its values."""
    output = next((output for output in call.outputs if output is not None), None)
    nothing: list[Term | None] = [None] * len(call.outputs)
    if output is None or kind is None or any(operand.complex for operand in (*call.operands(), output)):
        return nothing
    try:
        found = _terms(call, kind, output, results)
    except (Untold, TypeError, ValueError, ZeroDivisionError, KeyError, IndexError):
        return nothing  # an argument that the formula does not foresee
    terms = [*found, *nothing][: len(call.outputs)]
    return [
        term if term is None or made is None or kind in _EXACT else kept_in(term, made.dtype)
        for term, made in zip(terms, call.outputs, strict=True)
    ]


def _terms(call: Call, kind: str, output: Operand, results: Sequence[Bits]) -> Sequence[Term | None]:
    given = Given(call, results)
    of = Arithmetic(inner(output.dtype))
    if kind == "view":
        return _seen(call, given)
    if call.packet in FUNCTIONS:
        if call.packet in _IN_FORMAT:
            of = Arithmetic(output.dtype)
        return [FUNCTIONS[call.packet](of, given)]
    if call.packet in PACKETS:
        return PACKETS[call.packet](of, given)
    if kind in LAYERS:
        return LAYERS[kind](of, given)
    if kind == "cast":
        return [given.get("src") if call.packet == "copy" else given.self]
    if kind in ("const", "fill"):
        return [_constant(call)] * len(call.outputs)
    if kind in _SELECTING or call.packet in _AROUND:
        return _chosen(call)
    return []


def _seen(call: Call, given: Given) -> Sequence[Term | None]:
    source = next(call.operands(), None)
    name = next((name for name, value in call.arguments.items() if value is source), "self")
    if source is None:
        raise Untold(name)
    x = lifted(given.get(name))
    if call.packet in _IN_ORDER or all(made is None or _is_all(made, source) for made in call.outputs):
        return [x] * len(call.outputs)
    place = _place(call)
    return [elsewhere(x, place_key((place, part))) for part in range(len(call.outputs))]


def _is_all(view: Operand, source: Operand) -> bool:
    """Whether a view is a row of all elements."""
    return view.numel == source.numel and sum(size > 1 for size in view.shape) <= 1


def _place(call: Call) -> int:
    """Which elements a call looks at: equal for equal looks at equal shapes."""
    return place_key((call.packet, *map(_identity, call.arguments.values())))


def _identity(value: Any) -> Any:
    if isinstance(value, Operand):
        return value.shape
    if isinstance(value, list):
        return len(value) if _has_tensors(value) else str(value)
    return str(value)


def _has_tensors(value: Sequence[Any]) -> bool:
    return any(isinstance(item, Operand) for item in value)


def _constant(call: Call) -> Term | None:
    if call.packet in ZEROS:
        return number(0)
    if call.packet in ONES:
        return number(1)
    value = call.argument("fill_value", call.argument("s", call.argument("value")))
    if isinstance(value, (int, float)):
        return number(value)
    return value.bits.term if isinstance(value, Operand) else None


def _chosen(call: Call) -> Sequence[Term | None]:
    """Elements of the operands that hold numbers of the result's kind, at other places."""
    rounds, sources = call.output.rounds, []
    for operand in call.operands():
        if operand.rounds == rounds and operand.bits.level != Level.CONST:
            if operand.bits.term is None:
                raise Untold(call.packet)
            sources.append(operand.bits.term)
    if not sources:
        raise Untold(call.packet)
    place = _place(call)
    if call.packet in _AROUND:
        share = call.tensor("self", "grad_output").numel / max(call.output.numel, 1)
        return [either(elsewhere(sources[0], place), number(0), min(share, 1.0))]
    found, *others = [elsewhere(source, place) for source in sources]
    for many, choice in enumerate(others, 2):  # each as often as the others
        found = either(choice, found, 1 / many)
    return [found]
