"""The floating formats that ATK compares: precision and range, for pass rules and for the error model."""

from __future__ import annotations

import math
import sys

from opscan.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format. `fraction`: stored fraction bits; `least`: exponent of the smallest normal number."""

    name: str
    fraction: int
    least: int

    @property
    def epsilon(self) -> float:
        """Spacing of the numbers just above 1, the largest relative size of one unit in the last place."""
        return 2.0**-self.fraction

    @property
    def largest(self) -> float:
        """The least size that is rounded to infinity."""
        if self.fraction >= sys.float_info.mant_dig - 1:
            return math.inf  # no float is larger
        # fp8e4m3 has no infinities; one binade more or less does not matter there
        return math.ldexp(2.0 - self.epsilon / 2, 1 - self.least)

    @property
    def roundoff(self) -> float:
        """The largest relative error of one rounding to nearest."""
        return 2.0 ** -(self.fraction + 1)


FORMATS = {
    f.name: f
    for f in (
        Format("fp16", 10, -14),
        Format("bf16", 7, -126),
        Format("fp32", 23, -126),
        Format("hf32", 23, -126),
        Format("fp64", 52, -1022),
        Format("fp8e4m3", 3, -6),
        Format("fp8e5m2", 2, -14),
    )
}
"""hf32 is stored as fp32; only the factors of its products are shortened."""

HF32_INPUT_ROUNDOFF = 2.0**-12

SHORT = {"float16": "fp16", "bfloat16": "bf16"}
"""The formats of 16 bits, by torch's name: a product rounded to one has lost digits that a fused kernel keeps."""

PARTS = {"complex32": "fp16", "complex64": "fp32", "complex128": "fp64"}
"""The format of the real and of the imaginary part."""


def spacing_at(value: float, form: Format) -> float:
    """The distance of the numbers of a format around a finite value."""
    return math.ldexp(1.0, max(math.frexp(value)[1] - 1, form.least) - form.fraction)


def nearest(value: float, form: Format) -> float:
    """The number of a format next to a value, ties to even; infinite where it has none so large."""
    if not value or not math.isfinite(value):
        return value
    if abs(value) >= form.largest:
        return math.copysign(math.inf, value)
    spacing = spacing_at(value, form)
    return round(value / spacing) * spacing


def part_of(dtype: str) -> str:
    """The real format of a dtype: `fp32` for `complex64`, else the dtype itself."""
    return PARTS.get(dtype, dtype)
