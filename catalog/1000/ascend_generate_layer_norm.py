from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


@GENERATOR_REGISTRY.register("ascend_generate_layer_norm")
class LayerNormGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        x, normalized_shape, weight, bias = case_config.inputs
        size = x.shape[-1]
        normalized_shape[0].range_values = size
        weight.shape = [size]
        bias.shape = [size]
        weight.dtype = x.dtype
        bias.dtype = x.dtype
        return case_config
