"""torch.sub: the standard is set per case, equal shapes are compared bit by bit."""
import copy
import random

from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


@GENERATOR_REGISTRY.register("ascend_generate_sub")
class SubGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        x, y = case_config.inputs[0], case_config.inputs[1]
        y.dtype = x.dtype
        y.shape = copy.copy(x.shape)
        if random.choice([True, False]):
            # 整行广播，只保留最后一维
            y.shape = y.shape[-1:]
            case_config.standard.acc = "mixed_tolerance_bm"
        else:
            case_config.standard.acc = "equal"
        return case_config
