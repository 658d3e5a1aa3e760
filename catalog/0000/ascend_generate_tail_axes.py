import random

from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
from atk.configs.case_config import CaseConfig


class TailAxes(CaseGenerator):
    """The second input has the first one's last axes, copied from the right."""

    def tail(self, shape):
        kept = random.randint(1, len(shape))
        out = []
        for i in range(1, kept + 1):
            out.insert(0, shape[-i])
        return out


@GENERATOR_REGISTRY.register("ascend_generate_tail_axes")
class TailAxesGenerator(TailAxes):

    def after_case_config(self, case_config: CaseConfig) -> CaseConfig:
        x, y = case_config.inputs[:2]
        y.shape = self.tail(x.shape)
        y.dtype = x.dtype
        return case_config
