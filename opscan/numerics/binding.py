"""Bind the inputs of a case to an operator as ATK does, with tensors described but not made.

A null name is passed by position, a string by keyword; a `tensor_input` is the receiver of a method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from opscan.data import data_path
from opscan.dataclass import dataclass
from opscan.model import Case, CaseInput
from opscan.numerics.dtypes import TORCH_DTYPES

NOT_A_PARAMETER = "non_param"
"""The dtype of an attribute that tells the executor something and is no parameter of the operator."""
KNOWN_INDICES = {"unique": True, "duplicate": False}
"""What may be said of an index tensor instead of a range of values: whether its elements differ."""
_TENSOR_KINDS = frozenset({"tensor", "tensors", "tensor_tuple"})
_DIFFERENTIABLE = ("float", "bfloat", "complex")


class Unbindable(Exception):
    """The case cannot be turned into a call; the message says which input and why."""


@dataclass(frozen=True, slots=True)
class TensorArgument:
    """A tensor to be made. `label` names it in reports; `position` is the input's place in the spec."""

    dtype: str
    shape: tuple[int, ...]
    requires_grad: bool
    label: str
    position: int
    values: Any = None


@dataclass(frozen=True, slots=True)
class Dtype:
    """An attribute that names a dtype, by torch's name. It becomes torch's own where the call is made."""

    name: str


@dataclass(frozen=True, slots=True)
class Binding:
    """Arguments in which every tensor is a TensorArgument. `named`: how many were passed by keyword."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def tensors(self) -> Iterator[TensorArgument]:
        for value in (*self.args, *self.kwargs.values()):
            yield from members(value, TensorArgument)

    def fill(
        self, make: Callable[[TensorArgument], Any], dtype: Callable[[str], Any] | None = None
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with `make(tensor)` in place of every described tensor, and `dtype(name)` (torch's own)."""
        dtype = dtype or _of_torch
        args = [_filled(value, make, dtype) for value in self.args]
        return args, {name: _filled(value, make, dtype) for name, value in self.kwargs.items()}


def members(value: Any, kind: type) -> Iterator[Any]:
    """What is of this kind in a value and the lists in it."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from members(item, kind)


def _filled(value: Any, make: Callable[[TensorArgument], Any], dtype: Callable[[str], Any]) -> Any:
    if isinstance(value, TensorArgument):
        return make(value)
    if isinstance(value, Dtype):
        return dtype(value.name)
    if isinstance(value, (list, tuple)):
        return type(value)(_filled(item, make, dtype) for item in value)
    return value


def _of_torch(name: str) -> Any:
    import torch

    return getattr(torch, name)


def bind(case: Case, parameters: tuple[str, ...], *, executor: bool = False) -> Binding:
    """Arguments of `case` as ATK passes them to an operator, or to an `executor`, which is given what no operator takes
    as well. Raises Unbindable."""
    inputs = list(case.inputs)
    offset = 0
    if case.tensor_input is not None:
        inputs = [case.tensor_input, *(case.method_inputs or case.inputs)]
        offset = -1
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for order, given in enumerate(inputs):
        if given.dtype == NOT_A_PARAMETER and not executor:
            continue
        receiver = offset == -1 and order == 0
        position = order if offset == 0 else order - 1
        label = given.name or (parameters[len(args)] if len(args) < len(parameters) else f"#{order}")
        value = _argument(given, case.backward, label, max(position, 0))
        if given.name and not receiver:
            kwargs[given.name] = value
        else:
            args.append(value)
    return Binding(tuple(args), kwargs)


def readings(case: Case, parameters: tuple[str, ...], basis: str) -> list[Binding]:
    """The ways in which a case may call the operator that its name means, the likeliest first. Raises Unbindable.

    With basis `golden` ATK makes the call itself; with basis `name` an executor does that is not at hand.
    """
    binding = bind(case, parameters)
    if basis == "golden":
        drawn = _with_drawn_numbers(case)
        return [binding] if drawn == case else [binding, bind(drawn, parameters)]
    marker = placed_marker(binding, [None] * len(binding.args), parameters)
    if marker is not None:
        raise Unbindable(f"only its place says what tensor #{marker.position} is to {case.name}")
    return [binding, *_arrangements(case.name or "", parameters, binding)]


def _with_drawn_numbers(case: Case) -> Case:
    """The case with a number in place of every pair that an integer attribute may have been meant to be drawn from."""

    def drawn(given: CaseInput) -> CaseInput:
        pair = given.kind == "attr" and (given.dtype or "").startswith("int") and isinstance(given.values, list)
        if not pair or len(given.values) != 2 or not all(type(end) is int for end in given.values):
            return given
        return replace(given, values=between(*given.values, whole=True))

    return replace(case, inputs=tuple(map(drawn, case.inputs)))


def _arrangements(name: str, parameters: tuple[str, ...], binding: Binding) -> Iterator[Binding]:
    """Other ways to pass the same arguments, for inputs that are named for a plugin's own signature.

    First with the usual renamings (`self` for `input`), then in the order that `catalog/operators/` gives, then by
    position, but for markers: see `placed_marker`.
    """
    order = _signatures().get(name, ())
    named = {
        _RENAMES.get(key, key) if _RENAMES.get(key, key) in parameters else key: value
        for key, value in binding.kwargs.items()
    }
    if named != binding.kwargs:
        yield Binding(binding.args, named)
    if order and set(order) <= set(binding.kwargs):
        yield Binding((*binding.args, *(binding.kwargs[key] for key in order)), {})
    by_position = Binding((*binding.args, *binding.kwargs.values()), {})
    names = (None,) * len(binding.args) + tuple(binding.kwargs)
    if placed_marker(by_position, names, parameters) is None:
        yield by_position


def placed_marker(binding: Binding, names: Sequence[str | None], parameters: Sequence[str]) -> TensorArgument | None:
    """A positional tensor that is no number of the arithmetic, among others that are, and that only its place names.

    An executor may pass masks, indices and lengths along that its operator knows nothing of. `names`: those of the
    inputs that stand at the positions.
    """
    if not any(tensor.dtype.startswith(_DIFFERENTIABLE) for tensor in binding.tensors()):
        return None
    for place, (value, name) in enumerate(zip(binding.args, names, strict=False)):
        meant = name is not None and place < len(parameters) and _RENAMES.get(name, name) == parameters[place]
        tensors: Iterator[TensorArgument] = members(value, TensorArgument)
        marker = next((tensor for tensor in tensors if not tensor.dtype.startswith(_DIFFERENTIABLE)), None)
        if marker is not None and not meant:
            return marker
    return None


_RENAMES = {"self": "input", "x": "input", "x1": "input", "x2": "other", "axis": "dim", "tensor": "input"}


@lru_cache(maxsize=1)
def _signatures() -> dict[str, tuple[str, ...]]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = data_path("catalog", "operators", "orders.yaml").read_text(encoding="utf-8")
    return {name: tuple(order) for name, order in yaml.load(text, Loader=loader).items()}


def _argument(given: CaseInput, backward: bool, label: str, position: int) -> Any:
    if given.kind in _TENSOR_KINDS:
        return tensor_argument(given, backward, label, position)
    if given.members is not None:
        values = [_argument(member, backward, f"{label}[{i}]", position) for i, member in enumerate(given.members)]
        return tuple(values) if given.kind.endswith("_tuple") else values
    return _plain_value(given, label)


def tensor_argument(given: CaseInput, backward: bool, label: str, position: int) -> Any:
    if given.members is not None:
        members = [tensor_argument(m, backward, f"{label}[{i}]", position) for i, m in enumerate(given.members)]
        return tuple(members) if given.kind == "tensor_tuple" else members
    if given.shape is None:
        if not given.required or given.values in (None, "null", "default"):
            return None
        raise Unbindable(f"input {label} is a tensor without a shape")
    dtype = TORCH_DTYPES.get(given.dtype or "")
    if dtype is None:
        raise Unbindable(f"input {label} has the dtype {given.dtype!r}, which torch does not know")
    differentiable = backward and given.backward and dtype.startswith(_DIFFERENTIABLE)
    return TensorArgument(dtype, given.shape, differentiable, label, position, _frozen(given.values))


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return tuple(sorted((key, _frozen(item)) for key, item in value.items()))
    return value


def _plain_value(given: CaseInput, label: str) -> Any:
    value = given.values
    if isinstance(value, str) and value in ("null", "default"):
        return None
    if given.dtype in ("string", NOT_A_PARAMETER):
        return value
    if given.dtype == "torch_dtype":
        return _torch_dtype(value, label)
    if isinstance(value, list):
        return _from_list(value, given)
    if isinstance(value, dict):
        return 1.5
    return _number(value, given.dtype)


def _from_list(value: list[Any], given: CaseInput) -> Any:
    """A scalar's pair is a range to draw from; an attribute's list is the value itself."""
    whole = (given.dtype or "").startswith(("int", "uint"))
    if given.kind.startswith("scalar") and len(value) == 2 and all(isinstance(end, (int, float)) for end in value):
        return between(value[0], value[1], whole=whole)
    if given.kind.startswith("scalar") and value == ["-inf", "inf"]:
        return 3 if whole else 1.5
    return [_number(item, given.dtype) for item in value]


def between(low: float, high: float, *, whole: bool) -> float:
    """A number of the range that is no special case: not 0, 1 or a power of two where it can be helped."""
    if whole:
        candidates = [n for n in (3, 5, 7, -3) if low <= n <= high]
        return candidates[0] if candidates else int(high)
    value = low + 0.6180339887 * (high - low)
    return value if value else high


def _number(value: Any, dtype: str | None) -> Any:
    if value in ("inf", "-inf", "nan"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if dtype in ("bool", "attr_bool"):
        return bool(value)
    if dtype in ("float", "double", "fp32", "fp64", "fp16", "bf16", "float32"):
        return float(value)
    if isinstance(value, float) and value.is_integer() and (dtype or "").startswith(("int", "uint")):
        return int(value)
    return value


def _torch_dtype(value: Any, label: str) -> Dtype:
    name = str(value).removeprefix("torch.")
    if (dtype := dtype_named(name)) is None:
        raise Unbindable(f"attribute {label}: torch has no dtype {value!r}")
    return dtype


def dtype_named(name: str) -> Dtype | None:
    """The dtype that ATK or torch calls `name`."""
    name = TORCH_DTYPES.get(name, name)
    return Dtype(name) if name in _TORCH_NAMES else None


_TORCH_NAMES = frozenset(TORCH_DTYPES.values()) | {"quint8", "qint8", "qint32", "float8_e4m3fnuz", "float8_e5m2fnuz"}
