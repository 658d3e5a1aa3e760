import random

from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig

MIN_RANGE = [-5, -1]
MAX_RANGE = [1, 5]


def bound_shape(shape):
    """每行一个上下界：最后一维置 1。"""
    bound = list(shape)
    bound[-1] = 1
    return bound


@GENERATOR_REGISTRY.register("ascend_generate_clamp")
class ClampGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        x, low, high = case_config.inputs
        shape = bound_shape(x.shape) if random.random() < 0.7 else list(x.shape)
        low.shape = shape
        high.shape = list(shape)
        for bound, limits in ((low, MIN_RANGE), (high, MAX_RANGE)):
            bound.dtype = x.dtype
            bound.range_values = limits
        return case_config
