"""The generator that changes nothing."""

from ..base_generator import CaseGenerator
from . import GENERATOR_REGISTRY


@GENERATOR_REGISTRY.register("default")
class DefaultGenerator(CaseGenerator):
    """Leaves the drawn cases as they are."""
