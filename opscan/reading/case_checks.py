"""Slips of the pen in a case: a key or a dtype that is nearly one that counts, a number that is text.

Exports add keys and dtypes of their own, so only what nearly hits something that ATK reads is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from opscan.dataclass import dataclass
from opscan.reading.numbers import looks_numeric
from opscan.reading.schema import DTYPE_HINTS, DTYPES, TEXT_DTYPES

_CASE_KEYS = (
    *("name", "aclnn_name", "api", "api_type", "backward", "standard"),
    *("inputs", "tensor_input", "method_inputs"),
)
_INPUT_KEYS = ("name", "type", "required", "dtype", "shape", "range_values", "backward", "outlier_values")
_STANDARD_KEYS = ("acc", "perf", "mem")
_FOREIGN = frozenset({"case_name", "triton_name", "kernel_name", "aclnn_api_type", "format", "formate"})
"""Keys of exports that look like others."""
_NEARLY = 0.85


@dataclass(frozen=True, slots=True)
class Slip:
    """`rule` is a rule's name; `written`: the text by which its place is found in the case; `severity`: see `Fault`."""

    rule: str
    message: str
    written: str
    severity: str | None = None


def slips(entry: Any) -> Iterator[Slip]:
    """The slips of one entry of a case file's list."""
    if not isinstance(entry, dict):
        return
    yield from _keys(tuple(entry), _CASE_KEYS, "a case")
    standard = entry.get("standard")
    if isinstance(standard, dict):
        yield from _keys(tuple(standard), _STANDARD_KEYS, "`standard`")
    for key in ("inputs", "method_inputs"):
        yield from _of_inputs(entry.get(key), key)
    if "tensor_input" in entry:
        yield from _of_input(entry["tensor_input"], "tensor_input")


def _of_inputs(value: Any, where: str) -> Iterator[Slip]:
    for number, one in enumerate(value if isinstance(value, list) else ()):
        if isinstance(one, list):
            yield from _of_inputs(one, f"{where}[{number}]")
        else:
            yield from _of_input(one, f"{where}[{number}]")


def _of_input(value: Any, where: str) -> Iterator[Slip]:
    if not isinstance(value, dict):
        return
    yield from _keys(tuple(value), _INPUT_KEYS, "an input")
    dtype, kind = value.get("dtype"), value.get("type")
    if isinstance(dtype, str) and dtype not in DTYPES and (meant := _dtype_meant(dtype)):
        yield Slip("unknown-dtype", f"{where}.dtype: ATK has no dtype {dtype!r}, did you mean {meant!r}?", dtype)
    if isinstance(kind, str) and kind.startswith(("tensor", "scalar")) and dtype not in TEXT_DTYPES:
        yield from _texts(value.get("range_values"), f"{where}.range_values")


def _texts(values: Any, where: str) -> Iterator[Slip]:
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from _texts(value, f"{where}.{key}")
    elif isinstance(values, list):
        for number, value in enumerate(values):
            if isinstance(value, (list, dict)):
                yield from _texts(value, f"{where}[{number}]")
            elif isinstance(value, str) and looks_numeric(value):
                message = f"{where}[{number}]: {value!r} is text, not a number; write it without quotes"
                yield Slip("number-as-text", message, value)


@lru_cache(maxsize=4096)
def _keys(present: tuple[str, ...], known: tuple[str, ...], of: str) -> tuple[Slip, ...]:
    """A key that is nearly one of those that count."""
    found = []
    for key in present:
        if key in known or key in _FOREIGN:
            continue
        meant = next((one for one in known if _is_near(key, one)), None)
        if meant is not None:
            found.append(Slip("unknown-key", f"{key!r} is not a key of {of}, did you mean {meant!r}?", key, "warning"))
    return tuple(found)


def _is_near(key: str, meant: str) -> bool:
    if abs(len(key) - len(meant)) > 1 or len(meant) < 5:
        return False
    from difflib import SequenceMatcher

    return SequenceMatcher(None, key, meant).ratio() >= _NEARLY


@lru_cache(maxsize=256)
def _dtype_meant(dtype: str) -> str | None:
    from difflib import get_close_matches

    return DTYPE_HINTS.get(dtype) or next(iter(get_close_matches(dtype, DTYPES, n=1, cutoff=0.7)), None)
