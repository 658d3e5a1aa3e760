import random

from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


@GENERATOR_REGISTRY.register("ascend_generate_cat")
class CatGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        tensors = case_config.inputs[0]
        dim = case_config.inputs[1]
        base = tensors[0]
        axis = random.randrange(len(base.shape))
        for other in tensors[1:]:
            other.dtype = base.dtype
            shape = list(base.shape)
            shape[axis] = random.randint(1, 32)
            other.shape = shape
        dim.range_values = axis
        return case_config
