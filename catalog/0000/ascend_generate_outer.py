"""两个输入互相广播：一列乘一行。"""
import random

from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


def as_column(shape):
    return shape[:-1] + [1]


def as_row(shape):
    return [1] * (len(shape) - 1) + [shape[-1]]


@GENERATOR_REGISTRY.register("ascend_generate_outer")
class OuterGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        a, b = case_config.inputs[0], case_config.inputs[1]
        full = list(a.shape)
        pair = [as_column(full), as_row(full)]
        if random.random() < 0.5:
            pair.reverse()
        a.shape, b.shape = pair
        b.dtype = a.dtype
        return case_config
