"""How exact a function is on the two sides, the device's and the golden's, and what a device flushes to zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opscan.dataclass import replace
from opscan.judging.drifts.columns import Column, pointwise
from opscan.judging.drifts.functions import ULPS
from opscan.judging.floating import FORMATS

if TYPE_CHECKING:
    from opscan.judging.devices import Device

_IEEE = 0.5
_ATEN = {"power": "pow"}
_INFINITE = 1e38
"""A difference beyond all tolerances."""


def aten_name(step: str) -> str:
    """What ATen, and a device's file, call the function of a step."""
    return _ATEN.get(step, step)


def approximation(name: str, form: str, device: Device | None) -> float:
    """Deviation, in units in the last place, of what a function errs on both sides beside the last rounding.

    An approximation errs uniformly by what its bound leaves. A golden in a format of 16 bits computes in float32, which
    leaves nothing; a device does so unless its own bound says otherwise.
    """
    if name not in ULPS:
        return 0.0
    golden = ULPS[name] - _IEEE if form in ("fp32", "fp64") else 0.0
    if device is None:
        return math.sqrt(2 / 3) * golden
    own = device.ulp(aten_name(name), form, golden + _IEEE) - _IEEE
    return math.sqrt((own * own + golden * golden) / 3)


def flushing(name: str, given: Sequence[Column], column: Column, form: str, device: Device | None) -> Column:
    """`column`, a function of `given`, and the difference made by a device that takes subnormal numbers for zero."""
    if device is None or aten_name(name) not in device.flushed or form not in FORMATS:
        return column
    least = 2.0 ** FORMATS[form].least
    hit = [
        place
        for place, values in enumerate(zip(column.values, *[one.values for one in given], strict=True))
        if any(0 < abs(value) < least for value in values)
    ]
    if not hit:
        return column
    flushed = [replace(one, values=[0.0 if abs(v) < least else v for v in one.values]) for one in given]
    other, own = pointwise(name, flushed).values, list(column.own)
    for place in hit:
        there = 0.0 if abs(other[place]) < least else other[place]
        apart = there - column.values[place]
        own[place] = apart if abs(apart) < _INFINITE else _INFINITE
    return replace(column, own=own)
