"""torch.where 用例参数约束：condition 为输出 shape，input 与其一致，other 部分用例做广播。"""
import random

from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


def keep(shape):
    return list(shape)


def ones_on_axes(shape):
    """Some axes become 1, at least one of them."""
    axes = random.sample(range(len(shape)), random.randint(1, len(shape)))
    return [1 if i in axes else n for i, n in enumerate(shape)]


def drop_leading(shape):
    cut = random.randint(1, len(shape))
    return list(shape[cut:])


def zero_dim(shape):
    return []


@GENERATOR_REGISTRY.register("ascend_generate_torch_where")
class TorchWhereGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        condition, x, other = case_config.inputs
        x.shape = list(condition.shape)
        if random.random() < 0.4:
            pattern = keep
        else:
            pattern = random.choice([ones_on_axes, ones_on_axes, drop_leading, zero_dim])
        other.shape = pattern(condition.shape)
        other.dtype = x.dtype
        return case_config
