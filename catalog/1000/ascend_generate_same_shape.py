from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


@GENERATOR_REGISTRY.register("ascend_generate_same_shape")
class SameShapeGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        case_config.inputs[1].shape = case_config.inputs[0].shape
        case_config.inputs[1].dtype = case_config.inputs[0].dtype
        return case_config
