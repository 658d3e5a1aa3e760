"""ATK's case-design keys and what may stand under each: top level, inputs, RandomConfig and standard.

ATK's models forbid unknown keys at every level. Dtypes beyond ATK's own list are those that real designs use.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from opscan.model import KeyPath
from opscan.reading import checks
from opscan.reading.checks import Check, Checking, kind_of, label
from opscan.reading.numbers import looks_numeric

INPUT_TYPES = frozenset(
    ("tensor", "tensors", "tensor_tuple", "scalar", "scalars", "scalar_tuple", "attr", "attrs", "attr_tuple")
)
_DTYPE_NAMES = (
    "fp32 bf16 fp16 fp64 hf32 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool complex32 complex64 complex128 "
    "fp8e4m3 fp8e5m2 int float string attr_bool non_param double torch_dtype load_tensor_data float32 int64_t "
    "int32_t int16_t int8_t uint8_t"
)
DTYPES = frozenset(_DTYPE_NAMES.split())
DTYPE_HINTS = {
    "float16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
    "float64": "fp64",
    "long": "int64",
    "str": "string",
    "boolean": "bool",
}
TEXT_DTYPES = frozenset(("string", "torch_dtype", "non_param", "load_tensor_data"))
BOOL_DTYPES = frozenset(("bool", "attr_bool"))


def random_config(checking: Checking, path: KeyPath, value: Any, values: Check = checks.anything) -> None:
    """A RandomConfig mapping whose `values` and `invalid_values` are lists of what `values` checks."""
    if value is None:
        return
    if not isinstance(value, dict):
        checking.wrong_type(path, "a mapping with the key `values`", value)
        return
    items = partial(_list_of, item=values)
    known: dict[str, Check] = {
        "type": checks.text,
        "values": items,
        "weights": checks.numbers,
        "invalid_values": items,
        "random_types": _random_types,
        "custom_dist_ratio": checks.numbers,
    }
    checks.keys(checking, path, value, known, "a RandomConfig")
    _check_weights(checking, path, value)


def _check_weights(checking: Checking, path: KeyPath, value: Mapping[Any, Any]) -> None:
    values, weights = value.get("values"), value.get("weights")
    if weights is None or not isinstance(values, list):
        return
    if not isinstance(weights, list):
        checking.wrong_type((*path, "weights"), "a list of numbers", weights)
    elif weights and len(weights) != len(values):
        message = f"{label(path)} has {len(weights)} weights for {len(values)} values; ATK needs one for each"
        checking.add("weights-length", (*path, "weights"), message)


def _list_of(checking: Checking, path: KeyPath, value: Any, item: Check) -> None:
    if value is None:
        return
    if not isinstance(value, list):
        checking.wrong_type(path, "a list", value)
        return
    for index, element in enumerate(value):
        item(checking, (*path, index), element)


def _random_types(checking: Checking, path: KeyPath, value: Any) -> None:
    known: dict[str, Check] = {"name": checks.text, "mean": checks.numbers, "std": checks.numbers}

    def entry(checking: Checking, below: KeyPath, item: Any) -> None:
        if isinstance(item, dict):
            checks.keys(checking, below, item, known, "a random type")
        elif not isinstance(item, str):
            checking.wrong_type(below, "a mapping with `name`, `mean` and `std`", item)

    _list_of(checking, path, value, entry)


def _dtype(checking: Checking, path: KeyPath, value: Any) -> None:
    if not isinstance(value, str):
        if not checking.trap(path, value):
            checking.wrong_type(path, "the name of a dtype", value)
    elif value not in DTYPES:
        hint = DTYPE_HINTS.get(value)
        meant = f", did you mean {hint!r}?" if hint else checks.suggestion(value, DTYPES)
        checking.add("unknown-dtype", path, f"{label(path)}: ATK has no dtype {value!r}{meant}")


def _input_type(checking: Checking, path: KeyPath, value: Any) -> None:
    if not isinstance(value, str):
        checking.wrong_type(path, "the type of an input (tensor, scalar, attr, ...)", value)
    elif value not in INPUT_TYPES:
        meant = checks.suggestion(value, INPUT_TYPES)
        known = "tensor, scalar or attr, or a plural of these"
        checking.add("unknown-input-type", path, f"{label(path)}: {value!r} is no input type{meant}; ATK knows {known}")


def _range_item(checking: Checking, path: KeyPath, value: Any, dtypes: frozenset[str]) -> None:
    """One value of a range: a number, [low, high], a word such as "inf", or the value of an attribute."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            _range_item(checking, (*path, index), item, dtypes)
    elif isinstance(value, str):
        text = checking.plain_text(path)
        if text is not None and not dtypes & TEXT_DTYPES and looks_numeric(value):
            checking.number_as_text(path, value)
    elif not isinstance(value, bool) or not dtypes or dtypes - BOOL_DTYPES:
        checking.trap(path, value)


def _ranges(checking: Checking, path: KeyPath, value: Any, dtypes: frozenset[str]) -> None:
    if value is None:
        return
    if not isinstance(value, dict):
        checking.wrong_type(path, "a mapping with the keys `valid` and `invalid`", value)
        return
    config = partial(random_config, values=partial(_range_item, dtypes=dtypes))
    known: dict[str, Check] = {"valid": config, "invalid": config, "valid_weights": checks.number}
    checks.keys(checking, path, value, known, "`ranges`")


def _dim_values(checking: Checking, path: KeyPath, value: Any) -> None:
    if not isinstance(value, list):
        random_config(checking, path, value, checks.whole_numbers)
        return
    for index, item in enumerate(value):
        random_config(checking, (*path, index), item, checks.whole_numbers)


_SHAPES: Mapping[str, Check] = {
    "dim_numbers": partial(random_config, values=checks.whole_numbers),
    "dim_values": _dim_values,
    "max_length": checks.optional_whole,
}
_BOUNDARY: Mapping[str, Check] = dict.fromkeys(
    ("has_empty", "has_infnan", "has_scalar", "has_upper_border", "has_lower_border"), checks.flag
)


def _mapping_of(checking: Checking, path: KeyPath, value: Any, known: Mapping[str, Check], of: str) -> None:
    if isinstance(value, dict):
        checks.keys(checking, path, value, known, of)
    elif value is not None:
        checking.wrong_type(path, "a mapping", value)


def _outliers(checking: Checking, path: KeyPath, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, list) and len(value) == 2:
        checks.numbers(checking, path, value)
    else:
        checking.add("wrong-type", path, f"{label(path)} must be a list of exactly two numbers, not {kind_of(value)}")


_INPUT: Mapping[str, Check] = {
    "name": checks.text,
    "aclnn_name": checks.text,
    "type": _input_type,
    "required": checks.flag,
    "backward": checks.optional_flag,
    "align_32B": checks.optional_flag,
    "outlier_values": _outliers,
    "dtypes": partial(random_config, values=_dtype),
    "shapes": partial(_mapping_of, known=_SHAPES, of="`shapes`"),
    "tuple_numbers": partial(random_config, values=checks.whole_numbers),
    "boundary": partial(_mapping_of, known=_BOUNDARY, of="`boundary`"),
    "expected_error_msg": checks.anything,
}


def check_input(checking: Checking, path: KeyPath, value: Any) -> None:
    """One entry of `inputs` or `method_inputs`, or `tensor_input`."""
    if not isinstance(value, dict):
        checking.wrong_type(path, "a mapping that describes one input", value)
        return
    if "type" not in value:
        checking.add("missing-key", path, f"{label(path)} has no `type` (tensor, scalar, attr, ...)")
    dtypes = value.get("dtypes")
    names = dtypes.get("values") if isinstance(dtypes, dict) else None
    names = frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()
    checks.keys(checking, path, value, {**_INPUT, "ranges": partial(_ranges, dtypes=names)}, "an input")


def _inputs(checking: Checking, path: KeyPath, value: Any) -> None:
    if (value is None or value == []) and not checking.tree.value.get("tensor_input"):
        checking.add_at_key("no-inputs", path, "`inputs` is empty; ATK can generate no case from it")
    else:
        optional_inputs(checking, path, value)


def optional_inputs(checking: Checking, path: KeyPath, value: Any) -> None:
    _list_of(checking, path, value, check_input)


def _tensor_input(checking: Checking, path: KeyPath, value: Any) -> None:
    if value is not None:
        check_input(checking, path, value)


def _acc(checking: Checking, path: KeyPath, value: Any) -> None:
    if not isinstance(value, dict):
        checks.text(checking, path, value)
        return
    for comparator, arguments in value.items():
        below = (*path, comparator if isinstance(comparator, (str, int)) else str(comparator))
        if not isinstance(comparator, str):
            checking.add_at_key("wrong-type", below, f"the comparator {comparator!r} is not text")
        if isinstance(arguments, dict):
            for name, argument in arguments.items():
                _threshold(checking, (*below, name if isinstance(name, (str, int)) else str(name)), argument)
        elif arguments is not None:
            checking.wrong_type(below, "a mapping of thresholds", arguments)


def _threshold(checking: Checking, path: KeyPath, value: Any) -> None:
    """A keyword argument of a comparator. Text is allowed (`type: high_performance`), a number in disguise is not."""
    if isinstance(value, (list, dict)):
        for key, item in enumerate(value) if isinstance(value, list) else value.items():
            _threshold(checking, (*path, key if isinstance(key, (str, int)) else str(key)), item)
    elif isinstance(value, str):
        if looks_numeric(value) or (value.lower() in ("inf", "-inf", "nan") and checking.plain_text(path)):
            checking.number_as_text(path, value)
    elif not isinstance(value, bool):
        checking.trap(path, value)


def _perf(checking: Checking, path: KeyPath, value: Any) -> None:
    if isinstance(value, str) and not looks_numeric(value):
        return
    if value is not None:
        checks.numbers(checking, path, value)


_STANDARD: Mapping[str, Check] = {"acc": _acc, "perf": _perf, "mem": _perf}


def _extra_numbers(checking: Checking, path: KeyPath, value: Any) -> None:
    if value != "all":
        checks.whole(checking, path, value)


TOP: Mapping[str, Check] = {
    **dict.fromkeys(
        ("name", "aclnn_name", "triton_name", "kernel_name", "api", "api_type", "aclnn_api_type", "triton_api_type"),
        checks.text,
    ),
    **dict.fromkeys(("fusion_api_type", "dist_api_type", "kernel_api_type", "generate"), checks.text),
    "version": checks.version,
    "standard": partial(_mapping_of, known=_STANDARD, of="`standard`"),
    "backward": checks.flag,
    "outputs": checks.optional_whole,
    "inputs": _inputs,
    "tensor_input": _tensor_input,
    "method_inputs": optional_inputs,
    "shape_distributions": checks.numbers,
    "dtype_numbers": checks.whole,
    "extra_numbers": _extra_numbers,
    "expected_error_msg": checks.anything,
}


def check_design(checking: Checking, value: Mapping[Any, Any]) -> None:
    """Everything about the keys and values of a case design."""
    checks.keys(checking, (), value, TOP, "a case design")
    if "inputs" not in value and not value.get("tensor_input"):
        checking.add("missing-key", (), "the spec has no `inputs`; ATK can generate no case from it")
