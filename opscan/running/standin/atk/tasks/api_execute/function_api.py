"""ATK's own executor: the operator that the case names."""

from __future__ import annotations

from typing import Any

from .. import _operators
from .base_api import BaseApi


class FunctionApi(BaseApi):
    def __call__(self, input_data: Any, with_output: bool = False) -> Any:
        del with_output
        result = _operators.named(self.api_name)(*input_data.args, **input_data.kwargs)
        if self.output is None:
            return result
        return input_data.kwargs[self.output] if isinstance(self.output, str) else input_data.args[self.output]
