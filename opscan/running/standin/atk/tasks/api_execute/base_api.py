"""The base class of executors."""

from __future__ import annotations

from typing import Any


class BaseApi:
    """An executor of the CPU: `__call__` computes the golden from the inputs of a case."""

    def __init__(self, task_result: Any = None, *_: Any, **__: Any) -> None:
        case = getattr(task_result, "case_config", None)
        self.task_result = task_result
        self.api_name = getattr(case, "name", None)
        self.output = getattr(case, "outputs", None)
        self.backend = "cpu"
        self.device = "cpu"
        self.name = "cpu"
        self.device_id = 0
        self.change_flag: Any = False

    def init_by_input_data(self, input_data: Any) -> Any:
        """Called before the golden; plugins prepare inputs in it."""

    def __call__(self, input_data: Any, with_output: bool = False) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __call__")
