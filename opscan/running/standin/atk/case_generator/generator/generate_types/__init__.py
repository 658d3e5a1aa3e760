"""The registry of generators."""

from ...._registry import GENERATORS as GENERATOR_REGISTRY

__all__ = ["GENERATOR_REGISTRY"]
