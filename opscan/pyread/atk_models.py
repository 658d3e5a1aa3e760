"""ATK's configuration objects: their fields with the defaults, how they are made, and what their methods tell.

The reading of a plugin's text and the stand-in for ATK, which a run imports, are made from the same tables.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

INPUT: Mapping[str, Any] = {
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
_NAMES: Mapping[str, Any] = {
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
    "standard": None,
    "backward": False,
    "outputs": None,
    "inputs": None,
    "tensor_input": None,
    "method_inputs": None,
}
"""What a design and a case have in common."""
CASE: Mapping[str, Any] = {
    "id": 0,
    "default_seed": None,
    **_NAMES,
    "fusion_mode": None,
    "save_name": None,
    "uuid": None,
    "is_boundary": False,
    "strategy": None,
    "compute_times": None,
}
DESIGN: Mapping[str, Any] = {
    **_NAMES,
    "inputs": [],
    "generate": "default",
    "shape_distributions": [[1e7, 0.3], [1e8, 0.1], [1e9, 0.01]],
    "dtype_numbers": 700,
    "extra_numbers": 0,
    "is_gen_extra": False,
}
MODELS: Mapping[str, Mapping[str, Any]] = {
    "InputCaseConfig": INPUT,
    "CaseConfig": CASE,
    "StandardConfig": {"acc": "default", "perf": "not_key", "mem": None},
    "DesignConfig": DESIGN,
    "InputDesignConfig": {
        **dict.fromkeys(("name", "aclnn_name", "type", "align_32B", "outlier_values", "expected_error_msg")),
        **dict.fromkeys(("dtypes", "ranges", "shapes", "tuple_numbers", "boundary")),
        "required": True,
        "backward": True,
    },
    "RandomConfig": {
        "type": "choices",
        "values": None,
        "weights": None,
        "invalid_values": [],
        "random_types": None,
        "custom_dist_ratio": None,
    },
    "RangeConfig": {"valid": None, "invalid": None, "valid_weights": 0.95},
    "InputsShape": {"dim_numbers": None, "dim_values": None, "max_length": 2**32 - 1},
    "BoundaryConfig": dict.fromkeys(
        ("has_empty", "has_infnan", "has_scalar", "has_upper_border", "has_lower_border"), True
    ),
}
"""The fields of each class with their defaults. An object has no others: to assign one is a ValueError in pydantic."""
_KEPT = frozenset({"range_values", "acc", "perf", "mem"})
"""Fields of any type: the constructor keeps the list it is given there, and copies it elsewhere, as pydantic does."""

Make = Callable[[str, dict[str, Any]], Any]
"""Makes an object of a class from its fields."""


def new_fields(model: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a new object; keywords that name no field are ignored."""
    fields = {}
    for name, default in MODELS[model].items():
        value = given[name] if name in given else copy.deepcopy(default)
        fields[name] = list(value) if type(value) is list and name not in _KEPT else value
    return fields


def case_parts(given: Mapping[str, Any], make: Make) -> dict[str, Any]:
    """The keywords of a CaseConfig with dictionaries in its parts made into objects."""

    def part(value: Any) -> Any:
        if type(value) in (list, tuple):
            return [part(item) for item in value]
        return make("InputCaseConfig", value) if type(value) is dict else value

    standard = given.get("standard")
    made = {name: part(given.get(name)) for name in ("inputs", "method_inputs", "tensor_input")}
    if standard is None or type(standard) is dict:
        standard = make("StandardConfig", standard or {})
    return {**given, **made, "standard": standard}


def design_parts(value: Mapping[str, Any], make: Make) -> dict[str, Any]:
    """The keywords of a DesignConfig from the YAML value of a spec, its parts made into objects."""
    inputs = value.get("inputs")
    method_inputs = value.get("method_inputs")
    return {
        **{name: value[name] for name in DESIGN if name in value},
        "standard": make("StandardConfig", _mapping(value.get("standard"))),
        "inputs": [_input(item, make) for item in inputs] if isinstance(inputs, list) else [],
        "method_inputs": [_input(item, make) for item in method_inputs] if isinstance(method_inputs, list) else None,
        "tensor_input": _input(value["tensor_input"], make) if value.get("tensor_input") else None,
    }


def _input(value: Any, make: Make) -> Any:
    fields = _mapping(value)
    ranges, shapes = _mapping(fields.get("ranges")), _mapping(fields.get("shapes"))

    def choices(written: Any) -> Any:
        return None if written is None else make("RandomConfig", _mapping(written))

    axes = shapes.get("dim_values")
    parts = {name: choices(ranges.get(name)) for name in ("valid", "invalid")}
    lengths = {
        "dim_numbers": choices(shapes.get("dim_numbers")),
        "dim_values": [choices(axis) for axis in axes] if isinstance(axes, list) else choices(axes),
    }
    made = {
        "dtypes": choices(fields.get("dtypes")),
        "ranges": make("RangeConfig", {**ranges, **parts}),
        "shapes": make("InputsShape", {**shapes, **lengths}),
        "tuple_numbers": choices(fields.get("tuple_numbers")),
        "boundary": make("BoundaryConfig", _mapping(fields.get("boundary"))),
    }
    return make("InputDesignConfig", {**fields, **made})


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


# -- what the methods tell --------------------------------------------------------------------------------------------


def is_range_null(fields: Mapping[str, Any]) -> bool:
    """Whether an input is drawn as an empty tensor."""
    values = fields["range_values"]
    return "null" in values if isinstance(values, list) else values == "null"


def numel(fields: Mapping[str, Any]) -> int:
    shape = fields["shape"]
    if not shape:
        return 1
    return 0 if is_range_null(fields) else math.prod(shape)


def flatten_list(items: Iterable[Any]) -> list[Any]:
    return [leaf for item in items for leaf in (flatten_list(item) if type(item) in (list, tuple) else [item])]


def find_input(inputs: Iterable[Any], read: Callable[[Any, str], Any], index: Any, name: Any) -> Any:
    """The input of that name, else the one in that place among the inputs without a name; None where neither is."""
    firsts = [item[0] if type(item) in (list, tuple) else item for item in inputs]
    if name is not None:
        return next((item for item in firsts if read(item, "name") == name), None)
    unnamed = [item for item in firsts if not read(item, "name")]
    return unnamed[index] if index is not None and 0 <= index < len(unnamed) else None


def is_backward(inputs: Iterable[Any], read: Callable[[Any, str], Any]) -> bool:
    return any(read(item[0] if type(item) in (list, tuple) else item, "backward") for item in inputs)
