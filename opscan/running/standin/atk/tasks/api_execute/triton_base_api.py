"""The base class of executors that run a kernel of the device, which the stand-in does not have."""

from __future__ import annotations

from typing import Any

from ..backends.lib_interface._absent import refuse
from .base_api import BaseApi


class TritonBaseApi(BaseApi):
    def __init__(self, task_result: Any = None, backend: Any = None) -> None:
        super().__init__(task_result)
        self.backend = backend

    def __call__(self, input_data: Any = None, with_output: bool = False) -> Any:
        del input_data, with_output
        refuse(type(self).__name__)
