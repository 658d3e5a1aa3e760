import random

from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


@GENERATOR_REGISTRY.register("ascend_generate_bitwise")
class BitwiseGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        x, y = case_config.inputs
        y.dtype = x.dtype
        y.shape = list(x.shape)
        if x.dtype == "bool":
            return case_config
        while y.shape and random.random() < 0.3:
            y.shape = y.shape[1:]
        return case_config
