import random

from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


@GENERATOR_REGISTRY.register("ascend_generate_masked_fill")
class MaskedFillGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        x = case_config.inputs[0]
        mask = case_config.inputs[1]
        if random.random() < 0.5:
            mask.shape = list(x.shape)
        else:
            # mask 去掉首轴后广播
            mask.shape = list(x.shape)[1:]
        return case_config
