"""The registry of comparators; what plugins register in it is never called here."""

from ..._registry import COMPARATORS as ACCURACY_REGISTRY

__all__ = ["ACCURACY_REGISTRY"]
