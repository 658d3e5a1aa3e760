import torch

from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig
from atk.configs.dataset_config import InputDataset
from atk.configs.results_config import TaskResult
from atk.tasks.api_execute import register
from atk.tasks.api_execute.aclnn_base_api import AclnnBaseApi
from atk.tasks.api_execute.base_api import BaseApi


@GENERATOR_REGISTRY.register("ascend_generate_scale_shift")
class ScaleShiftGenerator(CaseGenerator):
    """scale and shift belong to the last axis of x."""

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        x, scale, shift = case_config.inputs
        for given in (scale, shift):
            given.shape = [x.shape[-1]]
            given.dtype = x.dtype
        return case_config


@register("golden_scale_shift")
class ScaleShiftApi(BaseApi):
    def __init__(self, task_result: TaskResult):
        super(ScaleShiftApi, self).__init__(task_result)
        self.change_flag = None

    def __call__(self, input_data: InputDataset, with_output: bool = False):
        x = input_data.kwargs["x"]
        scale = input_data.kwargs["scale"]
        shift = input_data.kwargs["shift"]
        dtype = x.dtype
        if self.device == "cpu" and dtype in (torch.float16, torch.bfloat16):
            x, scale, shift = x.float(), scale.float(), shift.float()
        return (x * scale + shift).to(dtype)


@register("aclnn_scale_shift")
class ScaleShiftAclnnApi(AclnnBaseApi):
    def get_cpp_func_signature_type(self):
        return (
            "aclnnStatus aclnnScaleShiftGetWorkspaceSize(const aclTensor *x, const aclTensor *scale, "
            "const aclTensor *shift, aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor)"
        )
