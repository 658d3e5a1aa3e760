"""Cases as ATK writes them: dictionaries with the keys of its case files."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from opscan.model import Case, CaseInput, Spec, SpecInput
from opscan.running.loading import Failed
from opscan.running.messages import Trouble

_TAKEN_OVER = (
    *("triton_name", "kernel_name", "version", "expected_error_msg", "aclnn_api_type", "triton_api_type"),
    *("fusion_api_type", "dist_api_type", "kernel_api_type"),
)
"""Keys that a case has from its spec as they are."""
_API_TYPES = ("aclnn", "triton", "fusion", "dist", "kernel")
_DEEPEST = 40


def case_fields(case: Case, spec: Spec, design: Mapping[str, Any]) -> dict[str, Any]:
    """A drawn case with all the keys of a case file. `design`: the YAML value of its spec."""
    standard = design.get("standard")
    standard = standard if isinstance(standard, Mapping) else {}
    taken = {name: copy.deepcopy(design[name]) for name in _TAKEN_OVER if design.get(name) is not None}
    named = f"{design.get('version')}" if isinstance(design.get("version"), (int, float)) else design.get("version")
    return {
        "id": 0,
        "default_seed": None,
        "name": case.name,
        "aclnn_name": case.aclnn_name,
        "triton_name": None,
        "kernel_name": None,
        "expected_error_msg": None,
        "api": case.api,
        "api_type": case.api_type,
        **{f"{kind}_api_type": f"{kind}_function" for kind in _API_TYPES},
        **taken,
        "version": named,
        "backward": case.backward,
        "standard": {
            "acc": copy.deepcopy(case.acc) if case.acc is not None else "default",
            "perf": copy.deepcopy(standard.get("perf", "not_key")),
            "mem": copy.deepcopy(standard.get("mem")),
        },
        "outputs": case.outputs,
        "inputs": [_input(drawn, given) for drawn, given in zip(case.inputs, spec.inputs, strict=True)],
        "method_inputs": [_input(d, g) for d, g in zip(case.method_inputs, spec.method_inputs, strict=True)] or None,
        "tensor_input": _input(case.tensor_input, spec.tensor_input) if case.tensor_input else None,
        "save_name": None,
        "uuid": None,
        "is_boundary": case.is_boundary,
        "strategy": None,
    }


def _input(drawn: CaseInput, given: SpecInput | None) -> Any:
    if drawn.members is not None:
        return [_input(member, given) for member in drawn.members]
    outliers = given.outlier_values if given else None
    return {
        "name": drawn.name,
        "type": drawn.kind,
        "required": drawn.required,
        "dtype": drawn.dtype,
        "shape": None if drawn.shape is None else list(drawn.shape),
        "range_values": copy.deepcopy(drawn.values),
        "backward": drawn.backward,
        "align_32B": given.align_32b if given else None,
        "outlier_values": list(outliers) if outliers else None,
    }


def plain(case: Any, number: int) -> dict[str, Any]:
    """What a generator made of a case, as values of JSON, with its place as its id, as ATK numbers them.

    Raises Failed where it holds something that no case file can hold.
    """
    dump = getattr(case, "model_dump", None)
    if dump is None:
        raise Failed(Trouble("plugin-run-failed", f"makes a case that is a {type(case).__name__}, no CaseConfig"))
    try:
        fields = _plain(dump(), "case", _DEEPEST)
    except RecursionError:
        raise Failed(Trouble("plugin-run-failed", "makes a case that is nested too deeply")) from None
    return {**fields, "id": number}


def _plain(value: Any, where: str, depth: int) -> Any:
    if depth < 0:
        raise Failed(Trouble("plugin-run-failed", "makes a case that is nested too deeply"))
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item, where, depth - 1) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, key, depth - 1) for key, item in value.items()}
    if hasattr(value, "model_dump"):
        return _plain(value.model_dump(), where, depth - 1)
    item = getattr(value, "item", None)  # numbers of numpy and torch
    if callable(item):
        number = item()
        if type(number) in (bool, int, float):
            return number
    raise Failed(Trouble("plugin-run-failed", f"makes a case whose `{where}` is a {type(value).__name__}"))
