"""The registry of executors, as the decorator that plugins import."""

from ..._registry import EXECUTORS

register = EXECUTORS.register

__all__ = ["register"]
