"""All registries of the case generation."""

from ..._registry import DATA_TYPES as DATATYPE_REGISTRY
from ..._registry import GENERATORS as GENERATOR_REGISTRY
from ..._registry import PARAMETERS as PARAMETER_REGISTRY

__all__ = ["DATATYPE_REGISTRY", "GENERATOR_REGISTRY", "PARAMETER_REGISTRY"]
