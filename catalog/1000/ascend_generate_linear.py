import random

from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


@GENERATOR_REGISTRY.register("ascend_generate_linear")
class LinearGenerator(CaseGenerator):
    """input [*, K], weight [N, K], bias [N]"""

    out_features = [8, 16, 33, 64, 128]

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        x, weight, bias = case_config.inputs
        n = random.choice(self.out_features)
        weight.shape = [n, x.shape[-1]]
        bias.shape = [n]
        for item in (weight, bias):
            item.dtype = x.dtype
        return case_config
