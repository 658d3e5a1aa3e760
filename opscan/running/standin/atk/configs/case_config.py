"""A case and its inputs, as the hooks of a generator receive them and as they are written to a case file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from opscan.pyread import atk_models

from .._model import Model
from .design_config import StandardConfig


class InputCaseConfig(Model):
    def is_range_null(self) -> bool:
        return atk_models.is_range_null(vars(self))

    def numel(self) -> int:
        return atk_models.numel(vars(self))

    def get_id(self) -> int:
        return _fingerprint(self)


class CaseConfig(Model):
    def __init__(self, **values: Any) -> None:
        super().__init__(**atk_models.case_parts(values, lambda name, fields: _PARTS[name](**fields)))

    @property
    def opp_perf(self) -> Any:
        return self.standard.perf

    @staticmethod
    def flatten_list(old_list: Any) -> list[Any]:
        return atk_models.flatten_list(old_list)

    def is_backward(self) -> bool:
        return atk_models.is_backward(self.inputs or (), getattr)

    def get_input_data_config(self, index: int | None = None, name: str | None = None) -> Any:
        return atk_models.find_input(self.inputs or (), getattr, index, name)

    def get_id(self) -> int:
        return _fingerprint(self)


_PARTS: Mapping[str, Any] = {"InputCaseConfig": InputCaseConfig, "StandardConfig": StandardConfig}


def _fingerprint(model: Model) -> int:
    return int(hashlib.sha1(json.dumps(model.model_dump(), default=str).encode()).hexdigest(), 16)
