"""A case-design tree to a `Spec`. What is wrong becomes a fault; everything that can be read is read all the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opscan.model import Choices, KeyPath, Source, Spec, SpecInput
from opscan.reading.checks import Checking
from opscan.reading.schema import check_design
from opscan.reading.values import Tree

_DISTINCT_KEYS = frozenset(
    ("aclnn_name", "api_type", "aclnn_api_type", "standard", "dtype_numbers", "extra_numbers", "shape_distributions")
)
_TRUE_WORDS = frozenset(("true", "t", "yes", "y", "on", "1"))


def is_design(value: Any) -> bool:
    """Whether a YAML document is meant as a case design: it lists inputs, or has keys that only designs have."""
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("inputs"), list) or any(isinstance(key, str) and key in _DISTINCT_KEYS for key in value)


def read_spec(source: Source, tree: Tree) -> Spec:
    """The spec that a design's tree describes, with all its faults."""
    value: Mapping[Any, Any] = tree.value
    checking = Checking(tree)
    check_design(checking, value)
    standard = _mapping(value.get("standard"))
    receiver = value.get("tensor_input")
    return Spec(
        source=source,
        name=_text(value.get("name")),
        inputs=_inputs(tree, ("inputs",), value.get("inputs")),
        acc=standard.get("acc"),
        aclnn_name=_text(value.get("aclnn_name")),
        api=_text(value.get("api")) or "pytorch",
        api_type=_text(value.get("api_type")) or "function",
        generate=_text(value.get("generate")) or "default",
        backward=_flag(value.get("backward"), False),
        outputs=_whole(value.get("outputs")),
        tensor_input=_input(tree, ("tensor_input",), receiver) if isinstance(receiver, dict) else None,
        method_inputs=_inputs(tree, ("method_inputs",), value.get("method_inputs")),
        dtype_numbers=_count(value.get("dtype_numbers"), 700),
        extra_numbers="all" if value.get("extra_numbers") == "all" else _count(value.get("extra_numbers"), 0),
        shape_distributions=_quotas(value.get("shape_distributions")),
        spans=tree.spans,
        key_spans=tree.key_spans,
        faults=tree.faults + tuple(checking.faults),
    )


def _inputs(tree: Tree, path: KeyPath, value: Any) -> tuple[SpecInput, ...]:
    entries = value if isinstance(value, list) else []
    return tuple(_input(tree, (*path, index), item) for index, item in enumerate(entries) if isinstance(item, dict))


def _input(tree: Tree, path: KeyPath, value: Mapping[Any, Any]) -> SpecInput:
    shapes, ranges = _mapping(value.get("shapes")), _mapping(value.get("ranges"))
    boundary = _mapping(value.get("boundary"))
    dim_values = shapes.get("dim_values")
    axes = dim_values if isinstance(dim_values, list) else [] if dim_values is None else [dim_values]
    align, outliers = value.get("align_32B"), value.get("outlier_values")
    return SpecInput(
        name=_text(value.get("name")),
        kind=_text(value.get("type")) or "unknown",
        required=_flag(value.get("required"), True),
        backward=_flag(value.get("backward"), True),
        dtypes=_choices(value.get("dtypes")),
        ranges=_ranges(ranges.get("valid")),
        dim_numbers=_choices(shapes.get("dim_numbers")),
        dim_values=tuple(_choices(axis) for axis in axes),
        max_length=_whole(shapes.get("max_length")),
        boundary={key: on for key, on in boundary.items() if isinstance(key, str) and isinstance(on, bool)},
        tuple_numbers=_choices(value.get("tuple_numbers")),
        align_32b=align if isinstance(align, bool) else None,
        outlier_values=_pair(outliers),
        span=tree.spans.get(path),
        invalid=None if ranges.get("invalid") is None else _choices(ranges["invalid"]),
        valid_weights=_share(ranges.get("valid_weights"), 0.95),
    )


def _choices(value: Any) -> Choices:
    """A RandomConfig; a bare list, which ATK refuses, is read as its values."""
    if isinstance(value, list):
        return Choices(tuple(value))
    config = _mapping(value)
    values, weights = config.get("values"), config.get("weights")
    if not isinstance(values, list):
        return Choices()
    usable = isinstance(weights, list) and len(weights) == len(values) and all(_is_number(w) for w in weights)
    return Choices(tuple(values), tuple(float(weight) for weight in weights) if usable and weights else ())


def _ranges(value: Any) -> Choices:
    """`ranges.valid`: a value for which `random_types` names a normal distribution is replaced by that."""
    choices = _choices(value)
    kinds = _mapping(value).get("random_types")
    if not isinstance(kinds, list) or len(kinds) != len(choices.values):
        return choices
    drawn = zip(choices.values, map(_mapping, kinds), strict=True)
    return replace(choices, values=tuple(_normal(kind) if kind.get("name") == "nd" else v for v, kind in drawn))


def _normal(kind: Mapping[Any, Any]) -> dict[str, Any]:
    """ATK's normal distribution, with its defaults for what is left out."""
    return {"name": "nd", "mean": kind.get("mean") or [-100, 100], "std": kind.get("std") or [1, 25]}


def _quotas(value: Any) -> tuple[tuple[float, float], ...] | None:
    pairs = [_pair(item) for item in value] if isinstance(value, list) else [None]
    return None if None in pairs else tuple(pair for pair in pairs if pair is not None)


def _share(value: Any, default: float) -> float:
    return float(value) if _is_number(value) and 0 <= value <= 1 else default


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return None if isinstance(value, (dict, list)) else str(value)


def _flag(value: Any, default: bool) -> bool:
    """ATK's models also take words for a flag; anything else leaves the default."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.lower() in _TRUE_WORDS
    return bool(value) if value in (0, 1) else default


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value


def _count(value: Any, default: int) -> int:
    whole = _whole(value)
    return default if whole is None else whole


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _pair(value: Any) -> tuple[float, float] | None:
    if isinstance(value, list) and len(value) == 2 and all(_is_number(item) for item in value):
        return float(value[0]), float(value[1])
    return None
