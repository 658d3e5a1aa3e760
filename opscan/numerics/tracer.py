"""Watch every ATen call of a forward and backward run and carry the class of each tensor along.

Works on fake tensors (nothing is computed) and on real CPU tensors alike. Bits are kept per storage, so a write
through one view counts for all views of it.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from opscan.numerics.bits import CONST, Bits, Level, few, join, place_key, unknown
from opscan.numerics.call import Call
from opscan.numerics.elements.calls import terms_of
from opscan.numerics.elements.functions import elsewhere
from opscan.numerics.facts import NOTHING, Facts, deduce, operand
from opscan.numerics.kinds import kind_of
from opscan.numerics.outcome import sourced, with_step
from opscan.numerics.packets import FOREACH, OF_ONE, rule_name
from opscan.numerics.transfer import transfer
from opscan.numerics.written_parts import Place, WrittenParts

_MOST_OFFSETS = 1 << 16
"""Up to so many elements of a view are counted one by one."""
_OWN_SUMS = frozenset({"ConvTbcBackward0"})
"""Nodes whose formula sums the gradient of a bias itself."""


class Tracer(TorchDispatchMode):  # type: ignore[misc]  # torch is optional, so mypy sees Any
    """Enter it around the run; afterwards `bits_of` answers for every tensor that took part."""

    def __init__(self) -> None:
        super().__init__()
        self.phase = "forward"
        self._bits: dict[int, Bits] = {}
        self._facts: dict[int, Facts] = {}
        self._parts: dict[int, WrittenParts] = {}
        self._numbers: dict[int, int] = {}
        self._leaked: Bits | None = None
        self._steered = False
        self._alive: list[Any] = []
        self._read: set[int] = set()
        self.unfaithful: frozenset[str] = frozenset()
        """Packets that answer otherwise without data than with them."""
        self._hosted: set[int] = set()
        self._replaced: dict[int, Any] = {}
        self.seeded: dict[int, Level] = {}
        """What numbers are of generators that were given a seed, which all runs share; see `generator_key`."""
        self.prepares = False
        """What is drawn now is drawn before the comparison: every device is given the same."""
        self.guards = False
        """What is read now only decides whether the golden raises, after which nothing is compared."""

    def seed(self, tensor: Any, bits: Bits, facts: Facts = NOTHING) -> None:
        self._set(tensor, replace(bits, sources=frozenset({(self._number(tensor), 0)})))
        self._facts[_storage(tensor)] = facts

    def bits_of(self, tensor: Any) -> Bits:
        """The bits of `tensor`; a tensor that no call has made is a constant."""
        key = _storage(tensor)
        return self._parts[key].whole if key in self._parts else self._bits.get(key, CONST)

    def _seen(self, tensor: Any) -> tuple[Bits, Facts]:
        """What is known of `tensor` as an operand: a part of a storage holds other elements than another part."""
        key = _storage(tensor)
        bits, facts = self._bits.get(key, CONST), self._facts.get(key, NOTHING)
        parts = self._parts.get(key)
        place = _place(tensor) if parts or bits.sources else None
        if parts and place:
            bits, own = parts.read(place)
            facts = NOTHING if own is None else own
        if bits.term is not None and not _in_order(tensor):
            bits = replace(bits, term=elsewhere(bits.term, place_key(place or tuple(tensor.shape))))
        if bits.level == Level.CONST or not bits.sources or (_covers(tensor) and tensor.is_contiguous()):
            return bits, facts
        number = self._number(tensor)
        others = few((source, place_key((number, place, at))) for source, at in bits.sources)
        return replace(bits, sources=others), facts

    def _number(self, tensor: Any) -> int:
        """Which storage of this trace holds `tensor`: an address would be another in each run."""
        return self._numbers.setdefault(_storage(tensor), len(self._numbers))

    def _identity(self, value: Any) -> Any:
        """What of an argument says which elements go where; of an index that it is this one."""
        if isinstance(value, torch.Tensor):
            exact = not (value.is_floating_point() or value.is_complex())
            return (tuple(value.shape), (self._number(value), value.storage_offset()) if exact else None)
        return [self._identity(item) for item in value] if isinstance(value, (list, tuple)) else value

    def knows(self, tensor: Any) -> bool:
        """Whether `tensor` was seeded, or a call of this trace has made it."""
        return _storage(tensor) in self._bits

    def has_read(self, tensor: Any) -> bool:
        """Whether a call of this trace has taken `tensor`."""
        return _storage(tensor) in self._read

    def is_drawn(self, tensor: Any) -> bool:
        """Whether the values of `tensor` are drawn, by a seed of which only that it is always the same is known."""
        key = _storage(tensor)
        return self._facts.get(key, NOTHING).drawn and self.bits_of(tensor).level == Level.SELECT

    def spread_of(self, tensor: Any) -> int:
        """Whether the shape of `tensor` follows from values: see `Facts`."""
        return self._facts.get(_storage(tensor), NOTHING).spread

    def keep(self, value: Any) -> None:
        """Hold on to a value whose identity is a key."""
        self._alive.append(value)

    def replace(self, old: Any, new: Any) -> None:
        """`new` is what the run takes for the input `old` from now on."""
        self.keep(old)
        self._replaced[id(old)] = new

    def current(self, tensor: Any) -> Any:
        """What the run has taken for an input."""
        return self._replaced.get(id(tensor), tensor)

    def _set(self, tensor: Any, bits: Bits) -> None:
        self._alive.append(tensor)  # a freed storage's address would be given to another tensor
        self._bits[_storage(tensor)] = bits
        self._parts.pop(_storage(tensor), None)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if _packet(func) in self.unfaithful:
            raise NotImplementedError(f"without data {_packet(func)} makes another shape")
        arguments = _named(func, args, kwargs or {})
        before = {name: self._operand(arguments[name]) for name in _resized(func)}
        result = func(*args, **(kwargs or {}))
        if func.namespace == "prim":
            return result
        written = [arguments[name] for name in _written(func) if arguments.get(name) is not None]
        returned = list(result) if isinstance(result, (list, tuple)) else [result]
        if func._schema.name.split("::")[1].startswith(FOREACH):
            self._foreach(func, arguments, returned, written)
            return result
        targets = list(_flat(returned)) or list(_flat(written))
        inputs = {name: value for name, value in arguments.items() if not _is_out(func, name)}
        self._record(func, inputs, targets, [tensor for tensor in _flat(written) if tensor is not None], before)
        return result

    def _foreach(
        self, func: Any, arguments: Mapping[str, Any], returned: Sequence[Any], written: Sequence[Any]
    ) -> None:
        """A list operator is its single operator on each member; in place it writes its first list."""
        members = [tensor for tensor in _flat(written[:1] or returned) if tensor is not None]
        for position, output in enumerate(members):
            single = {
                OF_ONE.get(name, name): value[position]
                if isinstance(value, (list, tuple)) and len(value) == len(members)
                else value
                for name, value in arguments.items()
            }
            self._record(func, single, [output], [output] if written else [])

    def _record(
        self,
        func: Any,
        arguments: Mapping[str, Any],
        outputs: Sequence[Any],
        written: Sequence[Any],
        before: Mapping[str, Any] | None = None,
    ) -> None:
        """`before`: operands as they were, where the call has given them another shape."""
        packet = rule_name(_packet(func))
        kind = kind_of(packet) or ("view" if _is_view(func) else None)
        call = Call(
            op=f"{func.namespace}.{_packet(func)}.{func._overloadname}",
            packet=packet,
            arguments={name: self._operand(value) for name, value in arguments.items()} | dict(before or {}),
            outputs=tuple(self._operand(output) if isinstance(output, torch.Tensor) else None for output in outputs),
            backward=self.phase == "backward",
            broadcast=self._sums_broadcast(packet, arguments, outputs),
            steered=self._steered,
            drawn=self._drawn(arguments),
        )
        results = transfer(call, kind)
        terms = terms_of(call, kind, results) if self._leaked is None else [None] * len(outputs)
        if len(results) < len(outputs):
            missing = unknown(call.joined(), f"the rule for {call.op} leaves out an output")
            results = (*results, *(missing for _ in outputs[len(results) :]))
        if self._leaked is not None:
            results = tuple(join((bits, self._leaked)) for bits in results)
        if packet == "_local_scalar_dense" and not self.guards:
            self._leak(call)
        facts = deduce(call)
        if self.seeded and self._on_host(arguments):
            self._hosted.update(_storage(output) for output in outputs if isinstance(output, torch.Tensor))
        for output, bits, term in zip(outputs, results, terms, strict=False):
            if isinstance(output, torch.Tensor):
                identities = [self._identity(value) for value in arguments.values()]
                placed = sourced(call, kind, bits, identities)
                if kind == "random":  # its elements come from nowhere else, as those of an input
                    placed = replace(placed, sources=frozenset({(self._number(output), 0)}))
                self._store(output, replace(with_step(call, kind, placed), term=term), facts, written)
        spill = join(results)
        for tensor in written:
            if not any(tensor is output for output in outputs):
                self._set(tensor, join((self.bits_of(tensor), spill)))

    def _drawn(self, arguments: Mapping[str, Any]) -> Level:
        """What a number is that a call draws. On a device torch's own generator is another than on the host."""
        if self.prepares:
            return Level.SELECT
        key = generator_key(arguments.get("generator"))
        if key == generator_key(None) and not self._on_host(arguments):
            return Level.RANDOM
        return self.seeded.get(key, Level.RANDOM)

    def _on_host(self, arguments: Mapping[str, Any]) -> bool:
        """Whether no argument of a call comes from an input, which may lie on a device."""
        tensors = (value for value in _flat(arguments.values()) if value is not None)
        return all(_storage(tensor) in self._hosted for tensor in tensors)

    def _leak(self, call: Call) -> None:
        """A number that was read from a tensor may decide anything that the operator computes after it."""
        operand = call.tensor("self")
        if operand.rounds or operand.bits.level > Level.SELECT:
            self._leaked = join((operand.bits, self._leaked or CONST))
        elif operand.dtype != "bool":
            self._steered = True

    def _store(self, output: Any, bits: Bits, facts: Facts, written: Sequence[Any]) -> None:
        """A write that covers only a part of a storage leaves the rest as it was."""
        key = _storage(output)
        in_place = any(output is tensor for tensor in written)
        if key in self._bits and (not in_place or not _covers(output)):
            self._alive.append(output)
            if in_place:
                self._write_part(output, bits, facts)
            return
        self._set(output, bits)
        self._facts[key] = facts

    def _write_part(self, part: Any, bits: Bits, facts: Facts) -> None:
        key, place = _storage(part), _place(part)
        before = self._facts.get(key, NOTHING)
        if facts.zero and before.region is not None and key not in self._parts:
            return  # zeros among what is zero outside of its region
        if place is None:
            self._set(part, join((self._bits[key], bits)))
        else:
            self._parts.setdefault(key, WrittenParts(self._bits[key], before)).write(place, bits)
        self._facts[key] = facts.merged(before)

    def _operand(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            bits, facts = self._seen(value)
            self._read.add(_storage(value))
            if not _covers(value):
                facts = replace(facts, region=None, pool=None, step=0)
            facts = replace(facts, repeats=_repeats(value, facts.repeats))
            return operand(tuple(value.shape), str(value.dtype).removeprefix("torch."), bits, facts)
        if isinstance(value, (list, tuple)):
            return [self._operand(item) for item in value]
        return value

    def _sums_broadcast(self, packet: str, arguments: Mapping[str, Any], outputs: Sequence[Any]) -> bool:
        """Whether this is autograd's sum of a gradient back to the shape of an input that was broadcast.

        It starts from the shape of the node's result, or keeps the axes until it has summed, or sums over all of them:
        autograd does so, formulas do not. It ends at the shape of one of the node's inputs.
        """
        if packet != "sum" or self.phase != "backward":
            return False
        node = torch._C._current_autograd_node()
        if node is None or node.name() in _OWN_SUMS:
            return False
        source, target = tuple(arguments["self"].shape), _trimmed(outputs[0].shape)
        wanted = {
            _trimmed(following._input_metadata[slot].shape)
            for following, slot in node.next_functions
            if following is not None and slot < len(following._input_metadata)
        }
        last = source[len(source) - len(target) :]
        results = {tuple(meta.shape) for meta in node._input_metadata}
        kept = source in results or bool(arguments.get("keepdim")) or "dim" not in arguments
        return kept and target in wanted and all(size in (1, whole) for size, whole in zip(target, last, strict=True))


def generator_key(generator: Any) -> int:
    """The same for all objects that stand for one generator; None stands for torch's own."""
    return int((torch.default_generator if generator is None else generator)._cdata)


def _trimmed(shape: Iterable[int]) -> tuple[int, ...]:
    sizes = tuple(shape)
    while sizes and sizes[0] == 1:
        sizes = sizes[1:]
    return sizes


def _storage(tensor: Any) -> int:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):  # sparse layouts have no storage
        return id(tensor)


def _place(tensor: Any) -> Place | None:
    try:
        return Place(int(tensor.storage_offset()), tuple(map(int, tensor.shape)), tuple(map(int, tensor.stride())))
    except (NotImplementedError, RuntimeError):  # sparse layouts have no strides
        return None


def _covers(tensor: Any) -> bool:
    try:
        return bool(tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes())
    except (NotImplementedError, RuntimeError):
        return False


def _in_order(tensor: Any) -> bool:
    """Whether a view shows all elements of its storage in their order, each once or repeated along whole axes."""
    try:
        axes = [
            (size, stride) for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1 and stride
        ]
        step = tensor.untyped_storage().nbytes() // max(tensor.element_size(), 1)
    except (NotImplementedError, RuntimeError):  # sparse layouts have neither
        return False
    for size, stride in axes:
        if step != size * stride:
            return False
        step = stride
    return bool(step == 1)


def _repeats(tensor: Any, known: int) -> int:
    """How often one number occurs in a view of numbers that occur `known` times."""
    if known != 1 or tensor.is_contiguous():
        return known
    offsets = [0]
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        if len(offsets) * size > _MOST_OFFSETS:
            return 0
        offsets = [offset + place * stride for offset in offsets for place in range(size)]
    return max(Counter(offsets).values(), default=0)


def _packet(func: Any) -> str:
    return str(func._schema.name.split("::")[1])


def _named(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    named = {}
    for position, argument in enumerate(func._schema.arguments):
        if position < len(args):
            named[argument.name] = args[position]
        elif argument.name in kwargs:
            named[argument.name] = kwargs[argument.name]
        elif argument.has_default_value():
            named[argument.name] = argument.default_value
    return named


def _written(func: Any) -> list[str]:
    return [
        argument.name
        for argument in func._schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    ]


def _resized(func: Any) -> list[str]:
    """The arguments to which a call gives another shape."""
    return ["self"] if _packet(func).startswith("resize") else []


def _is_out(func: Any, name: str) -> bool:
    return any(argument.name == name and argument.is_out for argument in func._schema.arguments)


def _is_view(func: Any) -> bool:
    return any(
        argument.alias_info is not None and not argument.alias_info.is_write for argument in func._schema.arguments
    )


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    """Tensors and the Nones between them; other results (numbers) stand as None."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value if isinstance(value, torch.Tensor) else None
