import random

from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


@GENERATOR_REGISTRY.register("ascend_generate_matmul")
class MatmulGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        a = case_config.inputs[0]
        b = case_config.inputs[1]
        n = random.choice([1, 7, 16, 64])
        if len(a.shape) > 2 and random.random() < 0.5:
            b.shape = a.shape[:-2] + [a.shape[-1], n]    # 批量矩阵乘
        else:
            b.shape = [a.shape[-1], n]
        b.dtype = a.dtype
        return case_config
