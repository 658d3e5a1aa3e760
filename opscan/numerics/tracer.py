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

from opscan.model import NumericClass, Step
from opscan.numerics.bits import CONST, Bits, Level, extend, few, join, unknown
from opscan.numerics.call import Call, Operand
from opscan.numerics.facts import NOTHING, Facts, deduce
from opscan.numerics.kinds import kind_of
from opscan.numerics.packets import rule_name
from opscan.numerics.transfer import transfer
from opscan.numerics.written_parts import Place, WrittenParts

_UNDRAWN = frozenset({"view", "const", "uninitialised", "sequence", "fill"})
"""Kinds that are no step worth drawing."""

_PLACEWISE = frozenset(
    {
        "sum-of-two", "product", "quotient", "multiply-add", "power", "scaled-copy", "masked-scale", "difference",
        "quantise", "arithmetic", "exact", "cast", "fill",
    }
)  # fmt: skip
"""Kinds whose results depend on the operands at the same place alone."""
_PLACEWISE_CHOICES = frozenset(
    {
        "clamp", "clamp_max", "clamp_min", "complex", "fmax", "fmin", "hardshrink", "hardshrink_backward", "hardtanh",
        "hardtanh_backward", "heaviside", "masked_fill", "maximum", "minimum", "nan_to_num", "relu",
        "softshrink_backward", "threshold", "threshold_backward", "where", "tril", "triu",
    }
)  # fmt: skip
_MOST_OFFSETS = 1 << 16
"""Up to so many elements of a view are counted one by one."""

_CLASSES = {
    Level.CONST: NumericClass.SELECT_ONLY,
    Level.SELECT: NumericClass.SELECT_ONLY,
    Level.ROUNDED_ONCE: NumericClass.ARITHMETIC,
    Level.ARITHMETIC: NumericClass.ARITHMETIC,
    Level.ACCUMULATED: NumericClass.ACCUMULATED,
    Level.RANDOM: NumericClass.RANDOM,
    Level.UNKNOWN: NumericClass.UNKNOWN,
}


def class_of(bits: Bits) -> NumericClass:
    if bits.uninitialised:
        return NumericClass.RANDOM
    if bits.level == Level.ACCUMULATED and {stage.cause for stage in bits.stages} == {"broadcast"}:
        return NumericClass.BROADCAST_REDUCED
    return _CLASSES[bits.level]


class Tracer(TorchDispatchMode):  # type: ignore[misc]  # torch is optional, so mypy sees Any
    """Enter it around the run; afterwards `bits_of` answers for every tensor that took part."""

    def __init__(self) -> None:
        super().__init__()
        self.phase = "forward"
        self._bits: dict[int, Bits] = {}
        self._facts: dict[int, Facts] = {}
        self._parts: dict[int, WrittenParts] = {}
        self._leaked: Bits | None = None
        self._steered = False
        self._alive: list[Any] = []

    def seed(self, tensor: Any, bits: Bits, facts: Facts = NOTHING) -> None:
        self._set(tensor, replace(bits, sources=frozenset({(_storage(tensor), 0)})))
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
        if bits.level == Level.CONST or not bits.sources or (_covers(tensor) and tensor.is_contiguous()):
            return bits, facts
        return replace(bits, sources=few((source, hash((key, place, at))) for source, at in bits.sources)), facts

    def knows(self, tensor: Any) -> bool:
        """Whether `tensor` was seeded, or a call of this trace has made it."""
        return _storage(tensor) in self._bits

    def spread_of(self, tensor: Any) -> int:
        """Whether the shape of `tensor` follows from values: see `Facts`."""
        return self._facts.get(_storage(tensor), NOTHING).spread

    def _set(self, tensor: Any, bits: Bits) -> None:
        self._alive.append(tensor)  # a freed storage's address would be given to another tensor
        self._bits[_storage(tensor)] = bits
        self._parts.pop(_storage(tensor), None)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.namespace == "prim":
            return result
        arguments = _named(func, args, kwargs or {})
        written = [arguments[name] for name in _written(func) if arguments.get(name) is not None]
        returned = list(result) if isinstance(result, (list, tuple)) else [result]
        if func._schema.name.split("::")[1].startswith("_foreach_"):
            self._foreach(func, arguments, returned, written)
            return result
        targets = list(_flat(returned)) or list(_flat(written))
        inputs = {name: value for name, value in arguments.items() if not _is_out(func, name)}
        self._record(func, inputs, targets, [tensor for tensor in _flat(written) if tensor is not None])
        return result

    def _foreach(
        self, func: Any, arguments: Mapping[str, Any], returned: Sequence[Any], written: Sequence[Any]
    ) -> None:
        """A list operator is its single operator on each member; in place it writes its first list."""
        members = [tensor for tensor in _flat(written[:1] or returned) if tensor is not None]
        for position, output in enumerate(members):
            single = {
                {"scalar": "other", "scalars": "other"}.get(name, name): value[position]
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
    ) -> None:
        packet = rule_name(_packet(func))
        kind = kind_of(packet) or ("view" if _is_view(func) else None)
        call = Call(
            op=f"{func.namespace}.{_packet(func)}.{func._overloadname}",
            packet=packet,
            overload=func._overloadname,
            arguments={name: self._operand(value) for name, value in arguments.items()},
            outputs=tuple(self._operand(output) if isinstance(output, torch.Tensor) else None for output in outputs),
            backward=self.phase == "backward",
            broadcast=self._sums_broadcast(packet, arguments, outputs),
            steered=self._steered,
        )
        results = transfer(call, kind)
        if len(results) < len(outputs):
            missing = unknown(call.joined(), f"the rule for {call.op} leaves out an output")
            results = (*results, *(missing for _ in outputs[len(results) :]))
        if self._leaked is not None:
            results = tuple(join((bits, self._leaked)) for bits in results)
        if packet == "_local_scalar_dense":
            self._leak(call)
        facts = deduce(call)
        for output, bits in zip(outputs, results, strict=False):
            if isinstance(output, torch.Tensor):
                self._store(output, self._step(call, kind, self._sourced(call, kind, bits, arguments)), facts, written)
        spill = join(results)
        for tensor in written:
            if not any(tensor is output for output in outputs):
                self._set(tensor, join((self.bits_of(tensor), spill)))

    def _sourced(self, call: Call, kind: str | None, bits: Bits, arguments: Mapping[str, Any]) -> Bits:
        """Where the elements come from: of one place of each operand, or of places of this call's own choice."""
        if kind == "view" or all(operand.numel <= 1 for operand in call.operands()):
            return bits
        if kind in _PLACEWISE or call.packet in _PLACEWISE_CHOICES:
            return replace(bits, sources=call.joined().sources)
        geometry = call.packet, repr([_told(value) for value in arguments.values()]), call.output.shape
        return replace(
            bits,
            sources=few(
                (tensor, hash((geometry, name, place)))
                for name, value in call.arguments.items()
                for operand in (value if isinstance(value, list) else [value])
                if isinstance(operand, Operand) and operand.bits.level != Level.CONST
                for tensor, place in operand.bits.sources or ((0, 0),)
            ),
        )

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
        if place is None:
            self._set(part, join((self._bits[key], bits)))
        else:
            self._parts.setdefault(key, WrittenParts(self._bits[key], before)).write(place, bits)
        self._facts[key] = facts.merged(before)

    def _step(self, call: Call, kind: str | None, bits: Bits) -> Bits:
        if kind in _UNDRAWN or bits.uninitialised:
            return bits
        numeric_class = class_of(bits)
        reduced = numeric_class in (NumericClass.ACCUMULATED, NumericClass.BROADCAST_REDUCED)
        return extend(bits, Step(call.op, self.phase, numeric_class, bits.extent if reduced else 1))

    def _operand(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            dtype = str(value.dtype).removeprefix("torch.")
            bits, facts = self._seen(value)
            covers = _covers(value)
            return Operand(
                tuple(value.shape),
                dtype,
                bits,
                facts.zero,
                facts.unit,
                facts.region if covers else None,
                facts.distinct,
                facts.spread,
                facts.pool if covers else None,
                _repeats(value, facts.repeats),
                facts.held,
            )
        if isinstance(value, (list, tuple)):
            return [self._operand(item) for item in value]
        return value

    def _sums_broadcast(self, packet: str, arguments: Mapping[str, Any], outputs: Sequence[Any]) -> bool:
        """Whether this is autograd's sum of a gradient back to the shape of an input that was broadcast.

        It starts from the shape of the node's result and ends at the shape of one of its inputs.
        """
        if packet != "sum" or self.phase != "backward":
            return False
        node = torch._C._current_autograd_node()
        if node is None:
            return False
        source, target = tuple(arguments["self"].shape), _trimmed(outputs[0].shape)
        results = {tuple(meta.shape) for meta in node._input_metadata}
        wanted = {
            _trimmed(following._input_metadata[slot].shape)
            for following, slot in node.next_functions
            if following is not None and slot < len(following._input_metadata)
        }
        return source in results and target in wanted


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


def _told(value: Any) -> Any:
    """What of an argument says which elements go where; of an index that it is this one."""
    if isinstance(value, torch.Tensor):
        exact = not (value.is_floating_point() or value.is_complex())
        return (tuple(value.shape), (_storage(value), value.storage_offset()) if exact else None)
    return [_told(item) for item in value] if isinstance(value, (list, tuple)) else value


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
