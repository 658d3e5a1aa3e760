from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


@GENERATOR_REGISTRY.register("ascend_generate_all_same")
class AllSameGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        tensors = [i for i in case_config.inputs if i.type == "tensor"]
        for item in tensors[1:]:
            item.shape = tensors[0].shape[:]
            item.dtype = tensors[0].dtype
        return case_config
