"""What a spec says, as `self.config` of a generator shows it; keys a spec leaves out have ATK's defaults."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from opscan.pyread import atk_models

from .._model import Model


class StandardConfig(Model):
    """What a case is compared by."""


class RandomConfig(Model):
    def get_values(self, k: int = 1, clc_interval: bool = True) -> Any:
        """`k` values, by weight; a pair of whole numbers is an interval unless `clc_interval` is off."""
        drawn = [self._one(clc_interval) for _ in range(k)]
        return drawn[0] if k == 1 else drawn

    def _one(self, clc_interval: bool) -> Any:
        (value,) = random.choices(self.values, self.weights)
        pair = type(value) is list and len(value) == 2 and all(type(end) is int for end in value)
        return random.randint(*value) if pair and clc_interval else value


class RangeConfig(Model):
    """Where values are drawn from, and how often from the invalid ones."""


class InputsShape(Model):
    """The shapes that may be drawn."""


class BoundaryConfig(Model):
    """The kinds of boundary cases that an input takes part in."""


class InputDesignConfig(Model):
    """One input of a spec."""


class DesignConfig(Model):
    """A spec."""


_PARTS: Mapping[str, Any] = {
    one.__name__: one
    for one in (StandardConfig, RandomConfig, RangeConfig, InputsShape, BoundaryConfig, InputDesignConfig)
}


def design_from(value: Mapping[str, Any]) -> DesignConfig:
    """The design of a spec's YAML value."""
    return DesignConfig(**atk_models.design_parts(value, lambda name, fields: _PARTS[name](**fields)))
