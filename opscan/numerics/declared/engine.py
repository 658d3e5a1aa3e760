"""Evaluate declared calls, and the gradients of what they made, with the rules that also judge traced calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from opscan.dataclass import dataclass, replace
from opscan.numerics.bits import PLAIN, Bits, Level, few, place_key, unknown
from opscan.numerics.call import Call, Operand
from opscan.numerics.declared.arguments import bind
from opscan.numerics.declared.dtypes import HALVES, category, flat, floating, promoted
from opscan.numerics.declared.entries import Entry, Expression, find
from opscan.numerics.declared.values import EVALUATOR, Dtype, NotDeclared, Refused, Results, Tensor, number
from opscan.numerics.elements.calls import terms_of
from opscan.numerics.elements.term import Term
from opscan.numerics.facts import Facts, deduce
from opscan.numerics.kinds import kind_of
from opscan.numerics.outcome import sourced, with_step
from opscan.numerics.packets import rule_name
from opscan.numerics.transfer import transfer

_SAME_PLACES = frozenset({"view", "unsqueeze", "squeeze", "alias", "detach"})
"""Views that leave the elements in their order."""
_PARTS = frozenset({"select", "slice", "split_with_sizes", "unbind", "expand"})
"""Views of a part, or of all of it."""
_TAKES: Mapping[str, tuple[int, ...]] = {
    "any": (0, 1, 2, 3), "mask": (0,), "whole": (0, 1), "integers": (1,), "floating": (2,), "complex": (3,),
    "rounding": (2, 3), "ordered": (0, 1, 2), "ordered-numbers": (1, 2), "numbers": (1, 2, 3),
}  # fmt: skip
"""What `takes` says of the common dtype of the tensors of a call.

Alternatives are separated by commas, dtypes may be among them. Behind `alike ` all tensors must have one dtype; `-wide`
at the end of a word: no fp16 and no bf16.
"""


@dataclass(frozen=True, slots=True)
class Node:
    """A call through which gradients may flow."""

    number: int
    entry: Entry
    arguments: Mapping[str, Any]
    outputs: Sequence[Tensor | None]
    sources: Sequence[tuple[str, int | None, Tensor]]
    """(parameter, place in its list, tensor) of the inputs that want a gradient."""


class _State:
    """Of the one run that is going on."""

    backward = False
    any_dtype = False


@contextmanager
def _while(state: str) -> Iterator[None]:
    setattr(_State, state, True)
    try:
        yield
    finally:
        setattr(_State, state, False)


def any_dtype() -> AbstractContextManager[None]:
    """What a device computes may have dtypes that PyTorch's kernels on a CPU have not."""
    return _while("any_dtype")


def call(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of the operator `name`. Raises NotDeclared, Refused."""
    entry = find(name)
    if entry is None:
        raise NotDeclared(f"no steps are declared for {name}")
    arguments = bind(name, entry.parameters, args, kwargs)
    if entry.formula is not None:
        return _evaluated(entry.formula, arguments)
    return _packet(entry, arguments)


def _evaluated(expression: Expression, values: Mapping[str, Any]) -> Any:
    try:
        return expression.evaluate(values)
    except (IndexError, ZeroDivisionError, KeyError) as problem:
        raise Refused(f"{type(problem).__name__}: {problem}") from None
    except (TypeError, ValueError, AttributeError) as problem:
        raise NotDeclared(f"`{expression.text.strip()}`: {problem}") from None


def _packet(entry: Entry, arguments: Mapping[str, Any]) -> Any:
    """One ATen call: the shapes of its results, their bits, and what a gradient needs to know."""
    tensors = [value for value in flat(arguments.values()) if isinstance(value, Tensor)]
    common = promoted(flat(arguments[p.name] for p in entry.parameters if p.kind in ("tensor", "either")))
    if entry.shape is None and not tensors:
        raise NotDeclared(f"{entry.name} of numbers alone, which some functions take for tensors")
    if entry.takes and tensors and not _State.any_dtype:
        _check_dtypes(entry, arguments, common)
    shapes, many = _shapes(entry, arguments, tensors)
    dtypes = _dtypes(entry, arguments, common, shapes)
    outputs = [None if shape is None else Tensor(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    _judge(entry, arguments, outputs, tensors)
    _remember(entry, arguments, outputs)
    return Results(outputs) if many else outputs[0]


def _check_dtypes(entry: Entry, arguments: Mapping[str, Any], common: str) -> None:
    """Refuse dtypes that torch refuses: of all tensors together, or of those that are named."""
    named = {"": entry.takes} if isinstance(entry.takes, str) else entry.takes or {}
    for name, wanted in named.items():
        given = (
            [common] if not name else [value.dtype for value in flat([arguments[name]]) if isinstance(value, Tensor)]
        )
        words, alike = wanted.removeprefix("alike "), wanted.startswith("alike ")
        if alike:
            given = sorted({value.dtype for value in flat(arguments.values()) if isinstance(value, Tensor)})
        if not all(_taken(words, dtype) for dtype in given) or (alike and len(given) > 1):
            raise Refused(f"{entry.name} takes no {' and '.join(given)}{f' as `{name}`' if name else ''}")


def _taken(words: str, dtype: str) -> bool:
    """Whether one of the words, separated by commas, holds for a dtype."""
    for word in words.split(", "):
        kinds = _TAKES.get(word.removesuffix("-wide"))
        narrow = word.endswith("-wide") and dtype in HALVES
        if dtype == word or (kinds is not None and category(dtype) in kinds and not narrow):
            return True
    return False


def _shapes(
    entry: Entry, arguments: Mapping[str, Any], tensors: Sequence[Tensor]
) -> tuple[list[tuple[int, ...] | None], bool]:
    """The shapes of the results, None for one that is masked out, and whether there are several."""
    if entry.shape is None:
        from opscan.numerics.declared.shapes import broadcast

        return [broadcast(*tensors)], False
    found = _evaluated(entry.shape, arguments)
    many = isinstance(found, list) and bool(found) and not isinstance(found[0], int)
    shapes = found if many else [found]
    return [None if shape is None else tuple(int(size) for size in shape) for shape in shapes], many


def _dtypes(
    entry: Entry, arguments: Mapping[str, Any], common: Dtype, shapes: Sequence[tuple[int, ...] | None]
) -> list[str]:
    if entry.dtype is None:
        return [common] * len(shapes)
    values = {**arguments, "promoted": common, "floating": floating(common), "shapes": shapes}
    found = _evaluated(entry.dtype, values)
    return list(found) if isinstance(found, (list, tuple)) else [found] * len(shapes)


def _operands(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.operand
    return [_operands(item) for item in value] if isinstance(value, (list, tuple)) else value


def _judge(
    entry: Entry, arguments: Mapping[str, Any], outputs: Sequence[Tensor | None], tensors: Sequence[Tensor], *,
    broadcast: bool = False,
) -> None:  # fmt: skip
    """Set the bits and the facts of `outputs`."""
    packet, kind = entry.name, kind_of(entry.name)
    source = entry.source
    made = Call(
        op=f"aten.{source}" if "." in source else f"aten.{packet}.default",
        packet=rule_name(packet),
        arguments={name: _operands(value) for name, value in arguments.items()},
        outputs=tuple(None if output is None else output.operand for output in outputs),
        backward=_State.backward,
        broadcast=broadcast,
    )
    results = transfer(made, kind)
    if len(results) < len(outputs):
        results = (*results, *[unknown(made.joined(), f"the rule for {packet} leaves out an output")] * len(outputs))
    facts = deduce(made)
    identities = [_identity(value) for value in arguments.values()]
    looks = kind == "view" and packet != "clone" and len(tensors) > 0
    terms = terms_of(made, kind, results)
    for part, (output, bits, term) in enumerate(zip(outputs, results, terms, strict=False)):
        if output is None:
            continue
        moved = looks and packet not in _SAME_PLACES and not _shows_all(packet, tensors[0], output)
        placed = _elsewhere(made, bits, output, part) if moved else sourced(made, kind, bits, identities)
        output.bits = replace(with_step(made, kind, placed), term=term)
        output.facts = _seen_through(tensors[0], output) if looks else facts


def _identity(value: Any) -> Any:
    """What of an argument says which elements go where; of an index that it is this one."""
    if isinstance(value, Tensor):
        return value.shape, None if value.dtype.rounds else value.number
    return [_identity(item) for item in value] if isinstance(value, (list, tuple)) else value


def _shows_all(packet: str, source: Tensor, view: Tensor) -> bool:
    """Whether a view has all elements in their order: a part as large as the whole, or a row with other axes."""
    row = sum(size > 1 for size in view.shape) <= 1
    return source.numel() == view.numel() and (packet in _PARTS or (row and packet != "as_strided"))


def _elsewhere(made: Call, bits: Bits, view: Tensor, part: int) -> Bits:
    """What stands at a place of a view is another element than at that place of its source; the same in equal views.

    `part`: which of several views.
    """
    if bits.level == Level.CONST or not bits.sources:
        return bits
    attributes = [str(value) for value in made.arguments.values() if not isinstance(value, Operand)]
    moved = place_key((made.packet, part, *attributes, view.shape))
    return replace(bits, sources=few((tensor, place_key((place, moved))) for tensor, place in bits.sources))


def _seen_through(source: Tensor, view: Tensor) -> Facts:
    """What holds of a tensor holds of another look at it; where its parts lie only of a look at all of it."""
    held = source.facts
    if source.numel() == view.numel():
        return held
    return replace(held, region=None, pool=None, repeats=0)


def _remember(entry: Entry, arguments: Mapping[str, Any], outputs: Sequence[Tensor | None]) -> None:
    """Put the call where a gradient can find it, if it takes a tensor that wants one."""
    wanting: list[tuple[str, int | None, Tensor]] = []
    for name, value in arguments.items():
        if isinstance(value, Tensor):
            wanting += [(name, None, value)] if value.requires_grad else []
        elif isinstance(value, list):
            wanting += [
                (name, i, item) for i, item in enumerate(value) if isinstance(item, Tensor) and item.requires_grad
            ]
    if entry.gradients is not None:
        stray = next((item[0] for item in wanting if item[0] not in entry.gradients), "")
        if entry.gradients and stray and stray != "output" and not _State.backward:
            raise Refused(f"{entry.name} is not differentiable with respect to {stray}")
        wanting = [item for item in wanting if item[0] in entry.gradients]
    if not wanting:
        return
    node = Node(number(), entry, arguments, outputs, wanting)
    for output in outputs:
        if output is not None and output.dtype.rounds:
            output.requires_grad, output.node = True, node


def leaf(shape: tuple[int, ...], dtype: str, *, requires_grad: bool, facts: Facts, term: Term) -> Tensor:
    """An input of the operator."""
    return Tensor(shape, dtype, _own_bits(term), facts, requires_grad=requires_grad)


def _own_bits(term: Term) -> Bits:
    """The bits of a tensor whose elements are like those of no other."""
    return replace(PLAIN, sources=frozenset({(number(), 0)}), term=term)


def gradients(roots: Sequence[Tensor], leaves: Sequence[Tensor]) -> list[Tensor | None]:
    """The gradient of each leaf, None where nothing of `roots` depends on it. Raises NotDeclared, Refused."""
    held: dict[int, Tensor] = {}
    kept: list[Any] = []
    with _while("backward"):
        for place, root in enumerate(roots):
            bits = _own_bits(Term("upstream", (), (place,), str(root.dtype)))
            upstream = Tensor(root.shape, root.dtype, bits, Facts(spread=root.facts.spread))
            held[id(root)] = upstream if id(root) not in held else _added(held[id(root)], upstream)
        for node in _latest_first(roots):
            kept.append(node)
            made = (None if output is None or output.node is None else id(output) for output in node.outputs)
            given = [None if place is None else held.pop(place, None) for place in made]
            if any(gradient is not None for gradient in given):
                for source, gradient in _through(node, given):
                    held[id(source)] = gradient if id(source) not in held else _added(held[id(source)], gradient)
    return [held.get(id(tensor)) for tensor in leaves]


def _latest_first(roots: Sequence[Tensor]) -> list[Node]:
    nodes: dict[int, Node] = {}
    waiting = [root.node for root in roots if root.node is not None]
    while waiting:
        node = waiting.pop()
        if node.number not in nodes:
            nodes[node.number] = node
            waiting += [source.node for _, _, source in node.sources if source.node is not None]
    return [nodes[number] for number in sorted(nodes, reverse=True)]


def _through(node: Node, given: Sequence[Tensor | None]) -> Iterator[tuple[Tensor, Tensor]]:
    """The gradients that a call passes on, in the shape and the dtype of its inputs."""
    entry = node.entry
    if entry.gradients is None:
        raise NotDeclared(f"{entry.name} has no declared gradient")
    values = {
        **node.arguments,
        "grad": next(gradient for gradient in given if gradient is not None),
        "grads": list(given),
        "result": node.outputs[0],
        "results": node.outputs,
    }
    passed: dict[str, Any] = {}
    for name, place, source in node.sources:
        if name not in passed:
            passed[name] = _evaluated(entry.gradients[name], values)
        gradient = passed[name] if place is None or not isinstance(passed[name], (list, tuple)) else passed[name][place]
        if gradient is not None:
            if not isinstance(gradient, Tensor):
                raise NotDeclared(f"{entry.place}: the gradient of {name} is no tensor")
            yield source, _fitted(gradient, source)


def _fitted(gradient: Tensor, source: Tensor) -> Tensor:
    if gradient.shape != source.shape:
        gradient = sum_to(gradient, source.shape)
    if gradient.dtype.is_complex and not source.dtype.is_complex:
        gradient = call("real", (gradient,), {})
    if gradient.dtype != source.dtype:
        gradient = call("_to_copy", (gradient,), {"dtype": source.dtype})
    return gradient


def sum_to(gradient: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The sum over the axes along which an input of this shape was broadcast. Raises Refused where it was not."""
    lead = gradient.ndim - len(shape)
    axes = [axis for axis, size in enumerate(gradient.shape) if axis < lead or (shape[axis - lead] == 1 != size)]
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(gradient.shape))
    if lead < 0 or kept[lead:] != shape:
        raise NotDeclared(f"a gradient of shape {list(gradient.shape)} for an input of {list(shape)}")
    entry = find("sum")
    if entry is None or (not axes and shape):
        return Tensor(shape, gradient.dtype, gradient.bits, gradient.facts)
    summed = Tensor(kept, gradient.dtype)
    _judge(entry, {"self": gradient, "dim": axes, "keepdim": True, "dtype": None}, [summed], [gradient], broadcast=True)
    return Tensor(shape, summed.dtype, summed.bits, summed.facts)


def _added(first: Tensor, second: Tensor) -> Tensor:
    return call("add", (first, second), {})  # type: ignore[no-any-return]


EVALUATOR["call"] = call
