"""Constraints of the operators that take an index: gather, index_select, embedding."""
import random

from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


def index_range(size):
    return [0, size - 1]


@GENERATOR_REGISTRY.register("ascend_generate_gather")
class GatherGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        x, dim, index = case_config.inputs
        axis = random.randrange(len(x.shape))
        dim.range_values = axis
        # 除 axis 外与 x 一致，axis 上取 4 到 2 倍
        shape = list(x.shape)
        shape[axis] = random.randint(4, 2 * shape[axis])
        index.shape = shape
        index.range_values = index_range(x.shape[axis])
        return case_config


@GENERATOR_REGISTRY.register("ascend_generate_index_select")
class IndexSelectGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        x, dim, index = case_config.inputs
        axis = random.choice([0, len(x.shape) - 1])
        dim.range_values = axis
        index.shape = index.shape[:1]
        index.range_values = index_range(x.shape[axis])
        return case_config


@GENERATOR_REGISTRY.register("ascend_generate_embedding")
class EmbeddingGenerator(CaseGenerator):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        ids, weight = case_config.inputs
        ids.range_values = index_range(weight.shape[0])
        return case_config
