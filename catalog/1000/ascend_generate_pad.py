import random

from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


@GENERATOR_REGISTRY.register("ascend_generate_pad")
class PadGenerator(CaseGenerator):
    """Four pads (left, right, top, bottom), each smaller than the axis it pads."""

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        shape = case_config.inputs[0].shape
        width, height = shape[-1], shape[-2]
        pads = case_config.inputs[1]
        for i, size in enumerate([width, width, height, height]):
            pads[i].range_values = random.randint(1, min(3, size - 1))
        return case_config
