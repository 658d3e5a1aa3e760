"""What a spec says, as `self.config` of a generator shows it; keys a spec leaves out have ATK's defaults."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, ClassVar

from .._model import Model


class StandardConfig(Model):
    FIELDS: ClassVar[Mapping[str, Any]] = {"acc": "default", "perf": "not_key", "mem": None}


class RandomConfig(Model):
    FIELDS: ClassVar[Mapping[str, Any]] = {
        "type": "choices",
        "values": None,
        "weights": None,
        "invalid_values": [],
        "random_types": None,
        "custom_dist_ratio": None,
    }

    def get_values(self, k: int = 1, clc_interval: bool = True) -> Any:
        """`k` values, by weight; a pair of whole numbers is an interval unless `clc_interval` is off."""
        drawn = [self._one(clc_interval) for _ in range(k)]
        return drawn[0] if k == 1 else drawn

    def _one(self, clc_interval: bool) -> Any:
        (value,) = random.choices(self.values, self.weights)
        pair = type(value) is list and len(value) == 2 and all(type(end) is int for end in value)
        return random.randint(*value) if pair and clc_interval else value


class RangeConfig(Model):
    FIELDS: ClassVar[Mapping[str, Any]] = {"valid": None, "invalid": None, "valid_weights": 0.95}


class InputsShape(Model):
    FIELDS: ClassVar[Mapping[str, Any]] = {"dim_numbers": None, "dim_values": None, "max_length": 2**32 - 1}


class BoundaryConfig(Model):
    FIELDS: ClassVar[Mapping[str, Any]] = dict.fromkeys(
        ("has_empty", "has_infnan", "has_scalar", "has_upper_border", "has_lower_border"), True
    )


class InputDesignConfig(Model):
    FIELDS: ClassVar[Mapping[str, Any]] = {
        "name": None,
        "aclnn_name": None,
        "type": None,
        "required": True,
        "backward": True,
        "align_32B": None,
        "outlier_values": None,
        "dtypes": None,
        "ranges": None,
        "shapes": None,
        "tuple_numbers": None,
        "boundary": None,
        "expected_error_msg": None,
    }


class DesignConfig(Model):
    FIELDS: ClassVar[Mapping[str, Any]] = {
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
        "dist_api_type": "dist_function",
        "kernel_api_type": "kernel_function",
        "generate": "default",
        "standard": None,
        "backward": False,
        "outputs": None,
        "inputs": [],
        "tensor_input": None,
        "method_inputs": None,
        "shape_distributions": [[1e7, 0.3], [1e8, 0.1], [1e9, 0.01]],
        "dtype_numbers": 700,
        "extra_numbers": 0,
        "is_gen_extra": False,
    }


def design_from(value: Mapping[str, Any]) -> DesignConfig:
    """The design of a spec's YAML value."""
    given = {name: value[name] for name in DesignConfig.FIELDS if name in value}
    given["standard"] = StandardConfig(**_mapping(value.get("standard")))
    given["inputs"] = _inputs(value.get("inputs")) or []
    given["method_inputs"] = _inputs(value.get("method_inputs"))
    given["tensor_input"] = _input(value["tensor_input"]) if value.get("tensor_input") else None
    return DesignConfig(**given)


def _inputs(value: Any) -> list[InputDesignConfig] | None:
    return [_input(item) for item in value] if isinstance(value, list) else None


def _input(value: Any) -> InputDesignConfig:
    fields = dict(_mapping(value))
    ranges, shapes = _mapping(fields.get("ranges")), dict(_mapping(fields.get("shapes")))
    axes = shapes.get("dim_values")
    shapes["dim_numbers"] = _choices(shapes.get("dim_numbers"))
    shapes["dim_values"] = [_choices(axis) for axis in axes] if isinstance(axes, list) else _choices(axes)
    parts = {**ranges, "valid": _choices(ranges.get("valid")), "invalid": _choices(ranges.get("invalid"))}
    fields.update(
        dtypes=_choices(fields.get("dtypes")),
        ranges=RangeConfig(**parts),
        shapes=InputsShape(**shapes),
        tuple_numbers=_choices(fields.get("tuple_numbers")),
        boundary=BoundaryConfig(**_mapping(fields.get("boundary"))),
    )
    return InputDesignConfig(**fields)


def _choices(value: Any) -> RandomConfig | None:
    return None if value is None else RandomConfig(**_mapping(value))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
