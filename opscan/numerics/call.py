"""One ATen call as the transfer rules see it: shapes, dtypes and bits, no torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from opscan.dataclass import dataclass
from opscan.numerics.bits import PLAIN, Bits, Level, join
from opscan.numerics.packets import is_in_place

SIGNIFICAND = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8, "float8_e4m3fn": 4, "float8_e5m2": 3}
"""Bits of the significand, the hidden one included."""
EXPONENT_BITS = {"float64": 11, "float32": 8, "float16": 5, "bfloat16": 8, "float8_e4m3fn": 4, "float8_e5m2": 5}
Region = tuple[int, tuple[tuple[int, int, int], ...]]
"""An axis and the spans (from, up to, addends) on it that lie upon each other."""
Pool = tuple[Any, ...]
"""A max pooling: its name, the shapes it reads and makes, its windows."""
INTEGER_BITS = {"bool": 1, "uint8": 8, "int8": 7, "uint16": 16, "int16": 15, "int32": 31, "uint32": 32, "int64": 63}


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that enters or leaves a call. `zero` and what follows it: see `facts.Facts`."""

    shape: tuple[int, ...]
    dtype: str
    bits: Bits = PLAIN
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

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def complex(self) -> bool:
        return self.dtype.startswith("complex")

    @property
    def rounds(self) -> bool:
        """Whether arithmetic in this dtype can round at all."""
        return "float" in self.dtype or self.complex


@dataclass(frozen=True)
class Call:
    """One ATen call. `arguments` by schema name, tensors as operands; `outputs` as the schema returns them (None where
    masked out). `op` is the overload that was called, `packet` the name that `packets.rule_name` gives all variants.

    `broadcast`: the autograd engine sums this gradient back to the shape of an input that was broadcast.
    `steered`: the run has read a whole number from a tensor, which may have decided any shape since.
    `drawn`: what a number is that this call draws, unless it is random: a constant by a fixed seed, or an input.
    """

    op: str
    packet: str
    arguments: Mapping[str, Any]
    outputs: tuple[Operand | None, ...]
    backward: bool = False
    broadcast: bool = False
    steered: bool = False
    drawn: Level = Level.RANDOM

    @property
    def in_place(self) -> bool:
        return is_in_place(self.op.split(".")[1])

    @cached_property
    def _tensors(self) -> tuple[Operand, ...]:
        return tuple(_operands_in(list(self.arguments.values())))

    @cached_property
    def _all_joined(self) -> Bits:
        return join([operand.bits for operand in self._tensors])

    def operands(self) -> Iterator[Operand]:
        return iter(self._tensors)

    def joined(self, *left_out: str) -> Bits:
        """What the operands have in common, the arguments of the names `left_out` aside."""
        if not left_out:
            return self._all_joined
        kept = [value for name, value in self.arguments.items() if name not in left_out]
        return join([operand.bits for operand in _operands_in(kept)])

    def argument(self, name: str, default: Any = None) -> Any:
        value = self.arguments.get(name)
        return default if value is None else value

    def tensor(self, *names: str) -> Operand:
        """The first argument of these names that is a tensor; the call's first tensor if none of them is."""
        for name in names:
            if isinstance(value := self.arguments.get(name), Operand):
                return value
        return next(self.operands())

    @property
    def output(self) -> Operand:
        return next(output for output in self.outputs if output is not None)

    def each_output(self, bits: Bits, exact: Callable[[Bits], Bits] | None = None) -> tuple[Bits, ...]:
        """`bits` for the outputs that can round; integer and boolean ones only inherit from the operands."""
        inherited = self.joined()
        plain = exact(inherited) if exact else inherited
        return tuple(bits if output is None or output.rounds else plain for output in self.outputs)


def _operands_in(value: Any) -> Iterator[Operand]:
    if isinstance(value, Operand):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _operands_in(item)


def holds(narrow: str, wide: str) -> bool:
    """Whether every number of the floating dtype `narrow` is one of `wide`."""
    if narrow not in SIGNIFICAND or wide not in SIGNIFICAND:
        return False
    return SIGNIFICAND[narrow] <= SIGNIFICAND[wide] and EXPONENT_BITS[narrow] <= EXPONENT_BITS[wide]


def real_part(dtype: str) -> str:
    """The dtype of the real and of the imaginary part."""
    return {"complex32": "float16", "complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def is_scale(value: Any, dtype: str = "float32") -> bool:
    """Whether multiplying by the number `value` only moves the exponent (0 and powers of two).

    float16 has so few exponents that small results lose digits; there only a half is taken to be exact.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return isinstance(value, bool)
    if value == 0:
        return True
    if real_part(dtype) == "float16" and abs(value) < 0.5:
        return False
    return math.isfinite(value) and abs(math.frexp(value)[0]) == 0.5


def is_representable(value: Any, dtype: str) -> bool:
    """Whether the number `value` has the same value in `dtype`, so that no device rounds it on the way in."""
    dtype = real_part(dtype)
    digits = SIGNIFICAND.get(dtype)
    if isinstance(value, bool) or digits is None:
        return True
    if isinstance(value, complex):
        return is_representable(value.real, dtype) and is_representable(value.imag, dtype)
    if not isinstance(value, (int, float)):
        return False
    if value == 0 or not math.isfinite(value):
        return True
    exponent, bias = math.frexp(value)[1], 2 ** (EXPONENT_BITS[dtype] - 1) - 1
    if exponent > bias + 1:
        return False
    steps = math.ldexp(value, digits - max(exponent, 2 - bias))  # below 2 - bias lie the subnormal numbers
    return steps == int(steps)


def spatial(value: Any, rank: int, default: int = 1) -> list[int]:
    """An attribute such as `stride`, one number per axis."""
    if value is None or (isinstance(value, (list, tuple)) and not value):
        return [default] * rank
    numbers = list(value) if isinstance(value, (list, tuple)) else [value]
    return numbers * rank if len(numbers) == 1 else numbers
