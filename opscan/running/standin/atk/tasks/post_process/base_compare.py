"""The base class of comparators."""

from __future__ import annotations

from typing import Any


class BaseAccuracyCompare:
    def __init__(self, config: Any = None, **thresholds: Any) -> None:
        self.config = config
        self.thresholds = thresholds
