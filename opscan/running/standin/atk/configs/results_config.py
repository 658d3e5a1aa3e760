"""What an executor's constructor receives, and what comparators return."""

from __future__ import annotations

from typing import Any


class TaskResult:
    """The task of one case on one device; here that device is the CPU, which makes the golden."""

    def __init__(self, case_config: Any = None, **fields: Any) -> None:
        self.case_config = case_config
        self.backend = "cpu"
        self.name = "cpu"
        self.device_id = 0
        self.is_benchmark_task = False
        self.output_info_list: list[Any] = []
        self.__dict__.update(fields)


class AccuracyConfig:
    """The verdict of a comparator."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)
