import random

from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


@GENERATOR_REGISTRY.register("ascend_generate_permute")
class PermuteGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        order = list(range(len(case_config.inputs[0].shape)))
        random.shuffle(order)
        for attr, axis in zip(case_config.inputs[1], order):
            attr.range_values = axis
        return case_config
