"""Watch every ATen call of a forward and backward run and carry the class of each tensor along.

Works on fake tensors (nothing is computed) and on real CPU tensors alike. Bits are kept per storage, so a write
through one view counts for all views of it.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from opscan.numerics.bits import CONST, Bits, Level, join, unknown
from opscan.numerics.call import Call, Operand
from opscan.numerics.facts import NOTHING, Facts, deduce
from opscan.numerics.kinds import kind_of
from opscan.numerics.outcome import with_step
from opscan.numerics.transfer import transfer


class Tracer(TorchDispatchMode):  # type: ignore[misc]  # torch is optional, so mypy sees Any
    """Enter it around the run; afterwards `bits_of` answers for every tensor that took part."""

    def __init__(self) -> None:
        super().__init__()
        self.phase = "forward"
        self._bits: dict[int, Bits] = {}
        self._facts: dict[int, Facts] = {}
        self._leaked: Bits | None = None
        self._steered = False
        self._alive: list[Any] = []

    def seed(self, tensor: Any, bits: Bits, facts: Facts = NOTHING) -> None:
        self._set(tensor, bits)
        self._facts[_storage(tensor)] = facts

    def bits_of(self, tensor: Any) -> Bits:
        """The bits of `tensor`; a tensor that no call has made is a constant."""
        return self._bits.get(_storage(tensor), CONST)

    def knows(self, tensor: Any) -> bool:
        """Whether `tensor` was seeded, or a call of this trace has made it."""
        return _storage(tensor) in self._bits

    def spread_of(self, tensor: Any) -> int:
        """Whether the shape of `tensor` follows from values: see `Facts`."""
        return self._facts.get(_storage(tensor), NOTHING).spread

    def _set(self, tensor: Any, bits: Bits) -> None:
        self._alive.append(tensor)  # a freed storage's address would be given to another tensor
        self._bits[_storage(tensor)] = bits

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
            packet = _packet(func).removeprefix("_foreach_")
            self._record(func, single, [output], [output] if written else [], packet=packet)

    def _record(
        self,
        func: Any,
        arguments: Mapping[str, Any],
        outputs: Sequence[Any],
        written: Sequence[Any],
        packet: str | None = None,
    ) -> None:
        packet = packet or _packet(func)
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
                self._store(output, with_step(call, kind, bits), facts, written)
        spill = join(results)
        for tensor in written:
            if not any(tensor is output for output in outputs):
                self._set(tensor, join((self.bits_of(tensor), spill)))

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
            bits = join((self._bits[key], bits))
            facts = facts.merged(self._facts.get(key, NOTHING)) if in_place else self._facts.get(key, NOTHING)
        self._set(output, bits)
        self._facts[key] = facts

    def _operand(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            key = _storage(value)
            dtype = str(value.dtype).removeprefix("torch.")
            facts = self._facts.get(key, NOTHING)
            covers = _covers(value)
            return Operand(
                tuple(value.shape),
                dtype,
                self.bits_of(value),
                facts.zero,
                facts.unit,
                facts.region if covers else None,
                facts.distinct,
                facts.spread,
                facts.pool if covers else None,
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


def _covers(tensor: Any) -> bool:
    try:
        return bool(tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes())
    except (NotImplementedError, RuntimeError):
        return False


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
