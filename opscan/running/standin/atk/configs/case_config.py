"""A case and its inputs, as the hooks of a generator receive them and as they are written to a case file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, ClassVar

from .._model import Model
from .design_config import StandardConfig


class InputCaseConfig(Model):
    FIELDS: ClassVar[Mapping[str, Any]] = {
        "name": None,
        "type": None,
        "required": True,
        "dtype": None,
        "shape": None,
        "range_values": None,
        "format": None,
        "backward": False,
        "align_32B": None,
        "outlier_values": None,
    }

    def is_range_null(self) -> bool:
        values: Any = self.range_values
        return "null" in values if isinstance(values, list) else values == "null"

    def numel(self) -> int:
        shape: Any = self.shape
        if not shape:
            return 1
        return 0 if self.is_range_null() else math.prod(shape)

    def get_id(self) -> int:
        return _fingerprint(self)


class CaseConfig(Model):
    FIELDS: ClassVar[Mapping[str, Any]] = {
        "id": 0,
        "default_seed": None,
        "name": None,
        "aclnn_name": None,
        "triton_name": None,
        "kernel_name": None,
        "version": None,
        "expected_error_msg": None,
        "api": "pytorch",
        "api_type": "function",
        "aclnn_api_type": "aclnn_function",
        "triton_api_type": "triton_function",
        "fusion_api_type": "fusion_function",
        "fusion_mode": None,
        "dist_api_type": "dist_function",
        "kernel_api_type": "kernel_function",
        "backward": False,
        "standard": None,
        "outputs": None,
        "inputs": None,
        "method_inputs": None,
        "tensor_input": None,
        "save_name": None,
        "uuid": None,
        "is_boundary": False,
        "strategy": None,
        "compute_times": None,
    }

    def __init__(self, **values: Any) -> None:
        given = values.get("standard")
        values["standard"] = given if isinstance(given, Model) else StandardConfig(**(given or {}))
        for name in ("inputs", "method_inputs", "tensor_input"):
            values[name] = _config(values.get(name))
        super().__init__(**values)

    @property
    def opp_perf(self) -> Any:
        return self.standard.perf

    @staticmethod
    def flatten_list(old_list: Any) -> list[Any]:
        return [leaf for item in old_list for leaf in (CaseConfig.flatten_list(item) if _is_list(item) else [item])]

    def is_backward(self) -> bool:
        return any((item[0] if _is_list(item) else item).backward for item in self.inputs or [])

    def get_input_data_config(self, index: int | None = None, name: str | None = None) -> Any:
        """The input of that name, else the one in that place among the inputs without a name; None where neither is."""
        firsts = [item[0] if _is_list(item) else item for item in self.inputs or []]
        if name is not None:
            return next((item for item in firsts if item.name == name), None)
        unnamed = [item for item in firsts if not item.name]
        return unnamed[index] if index is not None and 0 <= index < len(unnamed) else None

    def get_id(self) -> int:
        return _fingerprint(self)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _config(value: Any) -> Any:
    if _is_list(value):
        return [_config(item) for item in value]
    return InputCaseConfig(**value) if isinstance(value, dict) else value


def _fingerprint(model: Model) -> int:
    return int(hashlib.sha1(json.dumps(model.model_dump(), default=str).encode()).hexdigest(), 16)
