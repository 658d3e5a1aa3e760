"""ATK's logger; what plugins log goes with what they print."""

from __future__ import annotations

import logging
from typing import Any


class Logger:
    def __init__(self, *_: Any, **__: Any) -> None:
        self._logger = logging.getLogger("atk")

    def get_logger(self, *_: Any, **__: Any) -> logging.Logger:
        return self._logger

    def __getattr__(self, name: str) -> Any:
        return getattr(self._logger, name)
