from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


@GENERATOR_REGISTRY.register("ascend_generate_masked_fill_tensor_value")
class MaskedFillTensorValueGenerator(CaseGenerator):
    """value 为 0 维 tensor."""

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        x, mask, value = case_config.inputs
        mask.shape = list(x.shape)
        value.shape = []
        value.dtype = x.dtype
        return case_config
