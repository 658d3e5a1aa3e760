"""Helpers for input data."""

from __future__ import annotations

import random
from typing import Any


class OpsDataset:
    @staticmethod
    def seed_everything(seed: int = 1234, *_: Any) -> None:
        """Seed Python, NumPy and PyTorch, as far as the plugin has imported them."""
        import sys

        random.seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % 2**32)
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(seed)
