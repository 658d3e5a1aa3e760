"""The value of an attribute as its parameter needs it: a number of a range, a word for a number, a dtype by number."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from opscan.data import data_path
from opscan.model import CaseInput
from opscan.numerics.binding import Dtype, Unbindable, between, dtype_named
from opscan.numerics.signatures import Parameter, plain

_SPECIAL = frozenset({"inf", "-inf", "nan"})
_NO_VALUE = _SPECIAL | {"null", "default", ""}


@lru_cache(maxsize=1)
def parameter_tables() -> Mapping[str, Any]:
    """`catalog/operators/parameters.yaml`: other names of parameters, and what their values mean."""
    import yaml

    text = data_path("catalog", "operators", "parameters.yaml").read_text(encoding="utf-8")
    loaded: Mapping[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return loaded


def number_in(given: CaseInput) -> float:
    """A number that comes as a tensor is drawn: it is taken to be no special one."""
    whole = (given.dtype or "").startswith(("int", "uint", "bool"))
    low, high = (
        (given.values, given.values) if not isinstance(given.values, list) else (given.values[0], given.values[-1])
    )
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)) or low == high:
        low, high = (1, 8) if whole else (0.1, 1.7)
    return between(low, high, whole=whole)


def numbers_of(given: CaseInput) -> list[Any]:
    """What stands in an attribute: one value, the members of a list, or the ends of a range."""
    if given.members is not None:
        return [_first(member.values) for member in given.members]
    if isinstance(given.values, (list, tuple)):
        return list(given.values)
    return [given.values]


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, (list, tuple)) and value else value


def read_value(parameter: Parameter, value: Any, given: CaseInput) -> Any:
    """`value` as the parameter's kind; a range gives a number of it, nonsense the default."""
    if isinstance(value, list) and len({str(item) for item in value}) > 1:
        value = _loosest(parameter, value)
    reader = _READERS.get(parameter.kind)
    found = None if reader is None else reader(parameter, value)
    if parameter.kind in ("scalar", "either") and found is not None and (given.dtype or "").startswith(("int", "uint")):
        found = _whole_scalar(found, drawn=isinstance(value, (list, dict)))
    if found is None and isinstance(value, str) and value not in _NO_VALUE:
        raise Unbindable(f"attribute {given.name or parameter.name}: {value!r} has no meaning here")
    return parameter.absent if found is None and not parameter.many else found


def _loosest(parameter: Parameter, drawn: list[Any]) -> Any:
    """What stands for a choice that is drawn: the value that leaves the most open, where values are choices."""
    known = parameter_tables()["loosest"].get(plain(parameter.name), drawn)
    return known.get(parameter.kind, drawn) if isinstance(known, dict) else known


def _whole_scalar(number: float, *, drawn: bool) -> float:
    """A number of a whole dtype: what is drawn is made whole, a number that stands there with a fraction is kept."""
    if not math.isfinite(number):
        return 3
    return int(number) if drawn or float(number).is_integer() else number


def _bool(_: Parameter, value: Any) -> bool | None:
    value = _first(value)
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return bool(value) if isinstance(value, (int, float)) else None


def _word(parameter: Parameter, value: Any) -> str | None:
    if isinstance(value, list):
        return None if isinstance(parameter.default, str) else str(_first(value))
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    words: Mapping[Any, str] = parameter_tables()["words"].get(plain(parameter.name), {})
    return str(words.get(value, value))


def _int(parameter: Parameter, value: Any) -> int | None:
    if isinstance(value, str) and value not in _SPECIAL:
        codes: Mapping[str, int] = parameter_tables()["codes"].get(plain(parameter.name), {})
        return codes.get(value) if value in codes else (int(value) if re.fullmatch(r"-?\d+", value) else None)
    number = _number(value, whole=True)
    return None if number is None or not math.isfinite(number) else int(number)


def _float(_: Parameter, value: Any) -> float | None:
    return _number(value, whole=False)


def _number(value: Any, *, whole: bool) -> float | None:
    if isinstance(value, str):
        return float(value) if value in _SPECIAL else None
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(end, str) for end in value)):
        return 3 if whole else 1.5
    if isinstance(value, list):
        ends = [end for end in value if isinstance(end, (int, float))]
        if len(ends) == 2 and ends[0] != ends[1]:
            return between(ends[0], ends[1], whole=whole)
        return ends[0] if ends else None
    return value if isinstance(value, (int, float)) else None


def _dtype(_: Parameter, value: Any) -> Dtype | None:
    value = _first(value)
    name = parameter_tables()["dtypes"].get(value) if isinstance(value, int) else str(value).removeprefix("torch.")
    return dtype_named(str(name))


_READERS: Mapping[str, Callable[[Parameter, Any], Any]] = {
    "bool": _bool,
    "str": _word,
    "dtype": _dtype,
    "int": _int,
    "float": _float,
    "scalar": _float,
    "either": _float,
}
