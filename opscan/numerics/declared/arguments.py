"""Arguments of a declared call, bound to the parameters of its signature as torch binds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opscan.numerics.declared.values import NotDeclared, Refused, Tensor
from opscan.numerics.signatures import Parameter

_SPELLINGS = {
    "input": "self",
    "x": "self",
    "A": "self",
    "axis": "dim",
    "keepdims": "keepdim",
    "x1": "self",
    "x2": "other",
}
"""Names that torch takes for others: of its functions, and numpy's."""


MOST_WITH_LISTED = 2
"""Up to so many parameters, the receiver among them, numbers of a last list may stand one by one, as in `x.view(6)`."""


def bind(name: str, parameters: Sequence[Parameter], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Every parameter with its value, defaults filled in. Raises Refused where torch would."""
    bound: dict[str, Any] = {}
    positional = [parameter for parameter in parameters if not parameter.by_name]
    lone = 0 < len(args) == len(positional) <= MOST_WITH_LISTED and type(args[-1]) is int and positional[-1].many
    if len(args) > len(positional) or lone:
        args = _collected(name, positional, args, by_name=len(positional) < len(parameters))
    for parameter, value in zip(positional, args, strict=False):
        bound[parameter.name] = value
    names = {parameter.name: parameter for parameter in parameters}
    for key, value in kwargs.items():
        known = key if key in names else _SPELLINGS.get(key, key)
        if known == "unbiased" and "correction" in names:
            raise NotDeclared(f"{name}(): an older overload, which takes `unbiased`")
        if known not in names or names[known].by_place:
            raise Refused(f"{name}() takes no argument `{key}`")
        if known in bound:
            raise Refused(f"{name}() got `{key}` twice")
        bound[known] = value
    for parameter in parameters:
        if parameter.name not in bound:
            if parameter.required:
                raise Refused(f"{name}() needs `{parameter.name}`")
            bound[parameter.name] = parameter.absent
        else:
            bound[parameter.name] = _checked(name, parameter, bound[parameter.name])
    return bound


def _collected(name: str, positional: Sequence[Parameter], args: Sequence[Any], *, by_name: bool) -> Sequence[Any]:
    """`x.permute(0, 2, 1)`, `block_diag(x, y)`: what a list parameter takes as several arguments."""
    last = len(positional) - 1
    first = next((place for place, parameter in enumerate(positional) if parameter.many), last)
    wanted: type = Tensor if first >= 0 and positional[first].kind == "tensor" else int
    if first < 0 or not positional[first].many or any(type(value) is not wanted for value in args[first:]):
        if by_name:
            raise NotDeclared(f"{name}() takes {len(positional)} arguments by place, of some overloads perhaps more")
        raise Refused(f"{name}() takes {len(positional)} arguments, not {len(args)}")
    return [*args[:first], list(args[first:])]


def _checked(name: str, parameter: Parameter, value: Any) -> Any:
    """The value as the parameter needs it; a single number for a list becomes one."""
    if value is None:
        if parameter.required:
            raise Refused(f"{name}(): `{parameter.name}` cannot be None")
        return None
    if parameter.many:
        if not isinstance(value, (list, tuple)):
            alone = isinstance(value, Tensor) if parameter.kind == "tensor" else parameter.sized
            if not alone and parameter.kind != "other":
                raise Refused(f"{name}(): `{parameter.name}` must be a list")
            value = [value]
        return [_one(name, parameter, item) for item in value]
    return _one(name, parameter, value)


def _one(name: str, parameter: Parameter, value: Any) -> Any:
    kind = parameter.kind
    tensor = isinstance(value, Tensor)
    if kind == "tensor" and not tensor:
        if value is None and parameter.many:
            return None
        raise Refused(f"{name}(): `{parameter.name}` must be a tensor")
    if tensor and kind in ("int", "float", "bool", "str", "scalar"):
        if value.numel() == 1 and kind != "str":
            raise NotDeclared(f"{name}(): `{parameter.name}` is read from a tensor")
        raise Refused(f"{name}(): `{parameter.name}` cannot be a tensor")
    if kind == "int" and isinstance(value, bool) and parameter.many:
        raise NotDeclared(f"{name}(): an overload may take {value} in place of `{parameter.name}`")
    if kind == "int" and (isinstance(value, bool) or not isinstance(value, int)):
        raise Refused(f"{name}(): `{parameter.name}` must be a whole number, not {value!r}")
    if kind == "float" and not isinstance(value, (int, float)):
        raise Refused(f"{name}(): `{parameter.name}` must be a number, not {value!r}")
    if kind == "bool" and not isinstance(value, (bool, int)):
        raise Refused(f"{name}(): `{parameter.name}` must be True or False, not {value!r}")
    if kind == "dtype" and type(value) is int:
        raise NotDeclared(f"{name}(): a number for `{parameter.name}`, which only overloads take")
    if kind == "str" and not isinstance(value, str):
        raise Refused(f"{name}(): `{parameter.name}` must be a word, not {value!r}")
    if kind == "scalar" and not isinstance(value, (bool, int, float, complex)):
        raise Refused(f"{name}(): `{parameter.name}` must be a number, not {value!r}")
    return value
