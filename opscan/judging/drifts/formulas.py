"""Which formulas are more than one sum, and the spread of those, remembered by all that it depends on."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from opscan.judging.drifts.draw import Draw, Untold
from opscan.judging.drifts.shape import is_pointwise, is_single_sum
from opscan.judging.drifts.spread import Spread, spread_of
from opscan.judging.floating import SHORT
from opscan.model import NumericClass, TensorClass
from opscan.numerics.elements.term import Formula

if TYPE_CHECKING:
    from opscan.judging.devices import Device

_LEAVES = frozenset({"input", "upstream", "elsewhere"})
_STEPS_AN_OCTAVE = 2
_EXACT_UP_TO = 32
DrawOf = Callable[[tuple[int, str]], Draw]


def composed_spread(
    tensor: TensorClass, draw_of: DrawOf, upstream: tuple[float, float], device: Device | None = None
) -> tuple[Spread | None, str]:
    """The spread of a tensor that is more than one sum; else None, and the step that cannot be followed, if any."""
    formula = tensor.formula
    if not formula:
        return None, _last_step(tensor)
    places = {step[2]: draw_of(step[2]) for step in formula if step[0] == "input"}
    if is_single_sum(formula) and not any(draw.outliers for draw in places.values()):
        return None, ""
    several = tensor.extent > 2 and is_pointwise(formula)
    found = _spread(coarse(formula), tuple(places.items()), upstream, several, device)
    return (None, found) if isinstance(found, str) else (found, "")


def composed(tensor: TensorClass) -> Formula:
    """What the judgement of a tensor depends on of its formula: nothing where bits must agree, or of a single sum."""
    if tensor.numeric_class is NumericClass.SELECT_ONLY or is_single_sum(tensor.formula):
        return ()
    return coarse(tensor.formula)


def _last_step(tensor: TensorClass) -> str:
    return tensor.path[-1].op if tensor.path else "a step"


@lru_cache(maxsize=4096)
def _spread(
    formula: Formula,
    draws: tuple[tuple[Any, Draw], ...],
    upstream: tuple[float, float],
    several: bool,
    device: Device | None,
) -> Spread | str:
    from opscan.judging.drifts.levels import levels_of  # here alone: the hook's usual run has nothing composed

    known = dict(draws)
    try:
        return spread_of(levels_of(formula, known.__getitem__, Draw(*upstream), several=several, device=device))
    except Untold as step:
        return str(step)


def steps_of(formula: Formula) -> int:
    """How many steps compute anything."""
    return sum(step[0] not in _LEAVES and step[0] not in ("number", "ratio", "cast", "neg") for step in formula)


def keeps_short(formula: Formula, dtype: str) -> bool:
    """Whether a golden rounds values on the way to a 16-bit format, the format of the result."""
    own = next((name for name, form in SHORT.items() if form == dtype), "")
    return bool(own) and any(step[3] == own and step[0] not in ("input", "upstream") for step in formula[:-1])


@lru_cache(maxsize=65536)
def coarse(formula: Formula) -> Formula:
    """The formula with its extents, and what follows from them, in steps: an audit meets few different ones."""
    return tuple([(name, operands, _stepped(name, numbers), dtype) for name, operands, numbers, dtype in formula])


def _stepped(name: str, numbers: tuple[Any, ...]) -> tuple[Any, ...]:
    if name == "ratio" and numbers[0] > 0:
        return (2.0 ** (round(math.log2(numbers[0]) * _STEPS_AN_OCTAVE) / _STEPS_AN_OCTAVE),)
    if name in ("total", "dot", "mean", "largest", "running") and numbers[1] > _EXACT_UP_TO:
        steps = math.ceil(_STEPS_AN_OCTAVE * math.log2(numbers[1]) - 1e-9)
        return (numbers[0], math.ceil(2.0 ** (steps / _STEPS_AN_OCTAVE) - 1e-9))
    return numbers
