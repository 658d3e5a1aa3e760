"""ATK's configuration objects as a plugin sees them, and the way from and to the frozen cases."""

from __future__ import annotations

import copy
from typing import Any

from opscan.model import Case, CaseInput, Spec
from opscan.shapes.stops import CannotFollow, PluginRaise
from opscan.shapes.values import ClassValue, ExceptionValue, HostFunction, Instance, Record, RecordType

_INPUT = {
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
_CASE = {
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
    "backward": False,
    "standard": None,
    "outputs": None,
    "inputs": None,
    "method_inputs": None,
    "tensor_input": None,
    "save_name": None,
    "is_boundary": False,
    "strategy": None,
    "compute_times": None,
}
_STANDARD = {"acc": "default", "perf": "not_key", "mem": None}


def _input_record(**fields: Any) -> Record:
    return Record("input", {**_INPUT, **_listed(fields)})


def _standard_record(**fields: Any) -> Record:
    return Record("standard", {**_STANDARD, **fields})


def _case_record(**fields: Any) -> Record:
    record = Record("case", {**_CASE, **_listed(fields)})
    inputs = record.fields["inputs"] or []
    record.fields["inputs"] = [[_as_input(m) for m in i] if type(i) is list else _as_input(i) for i in inputs]
    standard = record.fields["standard"]
    if not isinstance(standard, Record):
        record.fields["standard"] = _standard_record(**(standard or {}))
    return record


def _as_input(value: Any) -> Any:
    return _input_record(**value) if type(value) is dict else value


def _listed(fields: dict[str, Any]) -> dict[str, Any]:
    """Building a record copies the lists it is given, as pydantic does; assigning to a field does not."""
    return {k: list(v) if type(v) is list else v for k, v in fields.items()}


RECORD_TYPES = {
    "InputCaseConfig": RecordType("input", _input_record),
    "CaseConfig": RecordType("case", _case_record),
    "StandardConfig": RecordType("standard", _standard_record),
}


# -- methods of the records, and of the generator base class -----------------------------------------------------------


def _is_range_null(record: Record) -> bool:
    values = record.fields["range_values"]
    return "null" in values if type(values) is list else values == "null"


def _numel(record: Record) -> int:
    total = 1
    for n in record.fields["shape"] or ():
        total *= n
    return 0 if record.fields["shape"] and _is_range_null(record) else total


def record_method(record: Record, name: str) -> HostFunction | None:
    """A method of ATK's configuration objects, None where it is not known."""
    if record.kind == "input" and name == "is_range_null":
        return HostFunction(name, lambda: _is_range_null(record), pure=True)
    if record.kind == "input" and name == "numel":
        return HostFunction(name, lambda: _numel(record), pure=True)
    return None


def _base_init(generator: Instance, config: Any = None, *_: Any, **__: Any) -> None:
    generator.attributes.setdefault("index", 0)
    generator.attributes["config"] = config


BASE_GENERATOR = ClassValue(
    "CaseGenerator",
    attributes={
        "__init__": HostFunction("__init__", _base_init, pure=True, method=True),
        "after_input_config": HostFunction("after_input_config", lambda _, __, given: given, pure=True, method=True),
        "after_case_config": HostFunction("after_case_config", lambda _, case: case, pure=True, method=True),
    },
)


# -- from and to the frozen values -------------------------------------------------------------------------------------


def design_record(spec: Spec) -> Record:
    """`self.config` of a generator: what the spec says at its top level."""
    fields = {
        "name": spec.name,
        "aclnn_name": spec.aclnn_name,
        "api": spec.api,
        "api_type": spec.api_type,
        "generate": spec.generate,
        "backward": spec.backward,
        "outputs": spec.outputs,
        "dtype_numbers": spec.dtype_numbers,
        "extra_numbers": spec.extra_numbers,
        "standard": _standard_record(acc=_written(spec.acc)),
    }
    return Record("design", fields)


def case_record(case: Case) -> Record:
    """A drawn case as the hooks receive it (`id` is 0 in there, whatever the case)."""
    return Record(
        "case",
        {
            **_CASE,
            "name": case.name,
            "aclnn_name": case.aclnn_name,
            "api": case.api,
            "api_type": case.api_type,
            "backward": case.backward,
            "outputs": case.outputs,
            "standard": _standard_record(acc=_written(case.acc)),
            "inputs": [input_value(i) for i in case.inputs],
            "method_inputs": [input_value(i) for i in case.method_inputs] or None,
            "tensor_input": input_value(case.tensor_input) if case.tensor_input else None,
        },
    )


def _written(acc: Any) -> Any:
    return "default" if acc is None else copy.deepcopy(acc)


def input_value(given: CaseInput) -> Any:
    """A record, or a list of records for a plural input."""
    if given.members is not None:
        return [input_value(m) for m in given.members]
    return Record(
        "input",
        {
            **_INPUT,
            "name": given.name,
            "type": given.kind,
            "required": given.required,
            "dtype": given.dtype,
            "shape": None if given.shape is None else list(given.shape),
            "range_values": copy.deepcopy(given.values),
            "backward": given.backward,
        },
    )


def frozen_case(record: Record, drawn: Case) -> Case:
    """What the hooks made of `drawn`. Raises PluginRaise where ATK could not run it (a negative axis), CannotFollow
    where a field holds an unexpected kind of value."""
    fields = record.fields
    standard = fields["standard"]
    acc = standard.fields["acc"] if isinstance(standard, Record) else (standard or {}).get("acc")
    untouched = drawn.acc is None and acc == "default"
    return Case(
        index=drawn.index,
        id=fields["id"] or drawn.id,
        name=_text(fields["name"]),
        inputs=tuple(frozen_input(i) for i in fields["inputs"]),
        acc=drawn.acc if untouched else acc,
        aclnn_name=_text(fields["aclnn_name"]),
        api=_text(fields["api"]) or "pytorch",
        api_type=_text(fields["api_type"]) or "function",
        backward=bool(fields["backward"]),
        outputs=fields["outputs"] if type(fields["outputs"]) is int else None,
        tensor_input=frozen_input(fields["tensor_input"]) if fields["tensor_input"] else None,
        method_inputs=tuple(frozen_input(i) for i in fields["method_inputs"] or ()),
    )


def frozen_input(value: Any) -> CaseInput:
    """A record, or a list of them, as a case input."""
    if type(value) in {list, tuple}:
        members = tuple(frozen_input(m) for m in value)
        first = members[0] if members else CaseInput(None, "attrs")
        return CaseInput(
            first.name, first.kind, first.dtype, backward=first.backward, required=first.required, members=members
        )
    if not isinstance(value, Record) or value.kind != "input":
        raise CannotFollow("an input that is no InputCaseConfig")
    fields = value.fields
    return CaseInput(
        _text(fields["name"]),
        _text(fields["type"]) or "attr",
        _text(fields["dtype"]),
        _shape(fields["shape"]),
        fields["range_values"],
        backward=bool(fields["backward"]),
        required=bool(fields["required"]),
    )


def _shape(shape: Any) -> tuple[int, ...] | None:
    if shape is None:
        return None
    if type(shape) not in {list, tuple}:
        raise CannotFollow("a shape that is neither a list nor a tuple")
    if any(type(n) is not int or n < 0 for n in shape):
        raise PluginRaise(ExceptionValue(ValueError, ("a shape holds something else than lengths",)))
    return tuple(shape)


def _text(value: Any) -> str | None:
    if value is not None and type(value) is not str:
        raise CannotFollow("a name or dtype that is no text")
    return value
