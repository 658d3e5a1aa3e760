"""ATK's configuration objects as a plugin sees them, and the way from and to the frozen cases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from opscan.model import Case, CaseInput, Choices, Spec, SpecInput, two_numbers
from opscan.pyread import atk_models
from opscan.pyread.operations import describe
from opscan.pyread.stops import CannotFollow, PluginRaise
from opscan.pyread.values import ExceptionValue, HostFunction, NumpyInt, Record, RecordType, Silent, deep_copy

_UNREAD = (
    *("triton_name", "kernel_name", "version", "expected_error_msg", "aclnn_api_type", "triton_api_type"),
    *("fusion_api_type", "dist_api_type", "kernel_api_type"),
)
"""Keys of a spec that are not read, so that nothing may depend on them."""


def make_record(model: str, given: Mapping[str, Any]) -> Record:
    """An object of one of ATK's classes, as its constructor makes it."""
    if model == "CaseConfig":
        given = atk_models.case_parts(given, make_record)
    return Record(model, atk_models.new_fields(model, given))


def _construct(model: str, **given: Any) -> Record:
    return make_record(model, given)


RECORD_TYPES = {name: RecordType(name, partial(_construct, name)) for name in atk_models.MODELS}


# -- methods of the records --------------------------------------------------------------------------------------------


def _read(value: Any, name: str) -> Any:
    if not isinstance(value, Record):
        raise CannotFollow("an input that is no InputCaseConfig")
    return value.fields[name]


def _model_copy(_: Any, record: Record, *, update: Any = None, deep: Any = False) -> Record:
    copied: Record = deep_copy(record) if deep else Record(record.kind, dict(record.fields))
    copied.fields.update(update or {})
    return copied


def _dumped(value: Any) -> Any:
    if isinstance(value, Record):
        return {name: _dumped(item) for name, item in value.fields.items()}
    return [_dumped(item) for item in value] if type(value) is list else value


def _get_values(ev: Any, record: Record, k: int = 1, clc_interval: bool = True) -> Any:
    """`k` values, by weight; a pair of whole numbers is an interval."""
    ev.drew = True
    ev.budget.charge(k)
    drawn = []
    for value in ev.rng.choices(record.fields["values"], record.fields["weights"], k=k):
        pair = type(value) is list and len(value) == 2 and all(type(end) is int for end in value)
        drawn.append(ev.rng.randint(*value) if pair and clc_interval else value)
    return drawn[0] if k == 1 else drawn


_METHODS: dict[str, dict[str, Any]] = {
    "": {
        "model_copy": _model_copy,
        "copy": _model_copy,
        "model_dump": lambda _, record, **__: _dumped(record),
        "dict": lambda _, record, **__: _dumped(record),
    },
    "InputCaseConfig": {
        "is_range_null": lambda _, record: atk_models.is_range_null(record.fields),
        "numel": lambda _, record: atk_models.numel(record.fields),
    },
    "CaseConfig": {
        "flatten_list": lambda _, __, items: atk_models.flatten_list(items),
        "is_backward": lambda _, record: atk_models.is_backward(record.fields["inputs"] or (), _read),
        "get_input_data_config": lambda _, record, index=None, name=None: atk_models.find_input(
            record.fields["inputs"] or (), _read, index, name
        ),
    },
    "RandomConfig": {"get_values": _get_values},
}
"""Methods by class; those under no name are those of every class."""


def record_method(record: Record, name: str) -> HostFunction | None:
    """A method of ATK's configuration objects, None where it is not known."""
    if record.kind not in atk_models.MODELS:
        return None
    method = _METHODS.get(record.kind, {}).get(name) or _METHODS[""].get(name)
    if method is None:
        return None
    return HostFunction(name, lambda ev, *args, **named: method(ev, record, *args, **named))


def record_attribute(record: Record, name: str) -> Any:
    """`record.name`. Raises PluginRaise where the class has no such attribute, CannotFollow where that is not known."""
    if name in record.fields:
        return record.fields[name]
    if name == "__dict__":
        return record.fields
    if name == "opp_perf" and record.kind == "CaseConfig":
        return record_attribute(record.fields["standard"], "perf")
    method = record_method(record, name)
    if method is not None:
        return method
    if record.kind not in atk_models.MODELS or name.startswith(("model_", "__")) or name in ("json", "get_id"):
        raise CannotFollow(f"`.{name}` of the {record.kind}")
    message = f"{record.kind!r} object has no attribute {name!r}"
    raise PluginRaise(ExceptionValue(AttributeError, (message,)))


def set_record_attribute(record: Record, name: str, value: Any) -> None:
    """`record.name = value`; a field that ATK's class does not have is refused there."""
    fields = atk_models.MODELS.get(record.kind)
    if fields is not None and name not in fields:
        raise PluginRaise(ExceptionValue(ValueError, (f'"{record.kind}" object has no field "{name}"',)))
    record.fields[name] = value


def type_attribute(kind: RecordType, name: str) -> Any:
    """An attribute of one of ATK's classes itself."""
    if name == "__name__":
        return kind.kind
    if name == "flatten_list" and kind.kind == "CaseConfig":
        return HostFunction(name, atk_models.flatten_list, pure=True)
    if name == "model_fields":
        return dict(atk_models.MODELS[kind.kind])
    raise CannotFollow(f"`{kind.kind}.{name}`")


# -- from and to the frozen values -------------------------------------------------------------------------------------


def design_record(spec: Spec) -> Record:
    """`self.config` of a generator: what the spec says."""
    record = make_record("DesignConfig", atk_models.design_parts(_design_value(spec), make_record))
    record.fields.update((name, Silent(f"`{name}` of the spec", there=False)) for name in _UNREAD)
    record.fields["standard"] = _standard_record(spec.acc)
    return record


def _design_value(spec: Spec) -> dict[str, Any]:
    """The YAML value of a spec, from what was read of it."""
    known: dict[str, Any] = {
        "name": spec.name,
        "aclnn_name": spec.aclnn_name,
        "api": spec.api,
        "api_type": spec.api_type,
        "generate": spec.generate,
        "backward": spec.backward,
        "outputs": spec.outputs,
        "dtype_numbers": spec.dtype_numbers,
        "extra_numbers": spec.extra_numbers,
        "inputs": [_input_value(given) for given in spec.inputs],
        "method_inputs": [_input_value(given) for given in spec.method_inputs] or None,
        "tensor_input": _input_value(spec.tensor_input) if spec.tensor_input else None,
    }
    if spec.shape_distributions is not None:
        known["shape_distributions"] = [list(pair) for pair in spec.shape_distributions]
    return known


def _input_value(given: SpecInput) -> dict[str, Any]:
    axes = [_choices_value(choices) for choices in given.dim_values]
    value: dict[str, Any] = {
        "name": given.name,
        "type": given.kind,
        "required": given.required,
        "backward": given.backward,
        "align_32B": given.align_32b,
        "outlier_values": list(given.outlier_values) if given.outlier_values else None,
        "dtypes": _choices_value(given.dtypes),
        "ranges": {
            "valid": _choices_value(given.ranges),
            "invalid": None if given.invalid is None else _choices_value(given.invalid) or {"values": []},
            "valid_weights": given.valid_weights,
        },
        "shapes": {
            "dim_numbers": _choices_value(given.dim_numbers),
            "dim_values": axes[0] if len(axes) == 1 else axes or None,
        },
        "tuple_numbers": _choices_value(given.tuple_numbers),
        "boundary": dict(given.boundary),
    }
    if given.max_length is not None:
        value["shapes"]["max_length"] = given.max_length
    return value


def _choices_value(choices: Choices) -> dict[str, Any] | None:
    if not choices.values:
        return None
    return {"values": _written(list(choices.values)), "weights": list(choices.weights) or None}


def _standard_record(acc: Any) -> Record:
    acc = "default" if acc is None else _written(acc)
    other = {name: Silent(f"`{name}` of the spec", there=False) for name in ("perf", "mem")}
    return Record("StandardConfig", {"acc": acc, **other})


def case_record(case: Case) -> Record:
    """A drawn case as the hooks receive it (`id` is 0 in there, whatever the case)."""
    record = Record(
        "CaseConfig",
        {
            **atk_models.CASE,
            "name": case.name,
            "aclnn_name": case.aclnn_name,
            "api": case.api,
            "api_type": case.api_type,
            "backward": case.backward,
            "outputs": case.outputs,
            "standard": _standard_record(case.acc),
            "inputs": [input_value(i) for i in case.inputs],
            "method_inputs": [input_value(i) for i in case.method_inputs] or None,
            "tensor_input": input_value(case.tensor_input) if case.tensor_input else None,
            "is_boundary": case.is_boundary,
        },
    )
    record.fields.update(_UNREAD_VALUES)
    return record


_UNREAD_VALUES = {name: Silent(f"`{name}` of the spec", there=False) for name in _UNREAD}


def _written(value: Any) -> Any:
    """A value as YAML gives it, with lists and dictionaries of its own."""
    if isinstance(value, list | tuple):
        return [_written(item) for item in value]
    return {key: _written(item) for key, item in value.items()} if isinstance(value, dict) else value


def input_value(given: CaseInput) -> Any:
    """A record, or a list of records for a plural input."""
    if given.members is not None:
        return [input_value(m) for m in given.members]
    return Record(
        "InputCaseConfig",
        {
            **atk_models.INPUT,
            "name": given.name,
            "type": given.kind,
            "required": given.required,
            "dtype": given.dtype,
            "shape": None if given.shape is None else list(given.shape),
            "range_values": _written(given.values),
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
        acc=drawn.acc if untouched else _plain(acc, "a standard"),
        aclnn_name=_text(fields["aclnn_name"]),
        api=_text(fields["api"]) or "pytorch",
        api_type=_text(fields["api_type"]) or "function",
        backward=bool(fields["backward"]),
        outputs=fields["outputs"] if type(fields["outputs"]) is int else None,
        tensor_input=frozen_input(fields["tensor_input"]) if fields["tensor_input"] else None,
        method_inputs=tuple(frozen_input(i) for i in fields["method_inputs"] or ()),
        is_boundary=bool(fields["is_boundary"]),
    )


def frozen_input(value: Any) -> CaseInput:
    """A record, or a list of them, as a case input."""
    if type(value) in {list, tuple}:
        members = tuple(frozen_input(m) for m in value)
        first = members[0] if members else CaseInput(None, "attrs")
        return CaseInput(
            first.name, first.kind, first.dtype, backward=first.backward, required=first.required, members=members
        )
    if not isinstance(value, Record) or value.kind != "InputCaseConfig":
        raise CannotFollow("an input that is no InputCaseConfig")
    fields = value.fields
    return CaseInput(
        _text(fields["name"]),
        _text(fields["type"]) or "attr",
        _text(fields["dtype"]),
        _shape(fields["shape"]),
        _plain(fields["range_values"], "range_values"),
        backward=bool(fields["backward"]),
        required=bool(fields["required"]),
        outliers=two_numbers(fields.get("outlier_values")),
    )


def _plain(value: Any, what: str) -> Any:
    """A value as a case file holds it, which nothing the plugin does later changes. Raises CannotFollow for others."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is list or kind is tuple:
        return [_plain(item, what) for item in value]
    if kind is dict and all(type(key) is str for key in value):
        return {key: _plain(item, what) for key, item in value.items()}
    if kind is NumpyInt:
        return int(value)
    raise CannotFollow(f"{what} that is {describe(value)}")


_SCALARS = frozenset({str, int, float, bool, type(None)})


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
