"""Devices as they are documented: `rules/devices.yaml`, with a user's devices beside those that ship."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from opscan.dataclass import dataclass
from opscan.judging.folders import files_named
from opscan.judging.orders import WAYS, Order
from opscan.judging.standards_file import Document, Place, read_document

if TYPE_CHECKING:
    from pathlib import Path

FORMS = ("fp32", "fp16", "bf16")
FUNCTIONS = (
    *("div", "reciprocal", "sqrt", "rsqrt", "cbrt", "hypot", "pow", "exp", "exp2", "expm1", "log", "log2", "log10"),
    *("log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("sigmoid", "erf", "erfc", "erfinv", "lgamma", "digamma"),
)
"""By ATen's names; all else is rounded once or computed from these."""
_IEEE = 0.5
_KEYS = ("title", "source", "functions", "flushes", "hf32", "fma", "steps", "order")


@dataclass(frozen=True, slots=True)
class Device:
    """What is documented of a device; a value that is not stands as None, or is left out of `ulps`.

    `ulps`: (function, format, largest error in units in the last place); `flushed`: functions that take subnormal
    operands and results for zero; `hf32`: mantissa bits of HF32 factors; `steps`: short formats in which kernels may
    compute step by step; `order`: how its vector unit adds up a reduction.
    """

    name: str
    title: str
    ulps: tuple[tuple[str, str, float], ...]
    flushed: tuple[str, ...]
    hf32: int | None
    fma: bool
    steps: tuple[str, ...]
    order: Order | None

    def ulp(self, function: str, form: str, widest: float) -> float:
        """The bound of a function in a format; `widest` where none is documented."""
        return _bounds(self).get((function, form), widest)


@lru_cache(maxsize=16)
def _bounds(device: Device) -> dict[tuple[str, str], float]:
    return {(function, form): bound for function, form, bound in device.ulps}


def find_device(name: str, own: tuple[Path, ...] = ()) -> Device:
    """The device called `name`, in any case of its letters. Raises ValueError that names what there is, and
    StandardsError for a file that does not say what it should."""
    known = load_devices(own)
    found = next((device for each, device in known.items() if each.lower() == name.lower()), None)
    if found is not None:
        return found
    from difflib import get_close_matches

    by_letters = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), by_letters, n=1, cutoff=0.6)
    hint = f"; did you mean {by_letters[near[0]]}?" if near else ""
    raise ValueError(f"there is no device {name!r}{hint}; known: {', '.join(known)}")


@lru_cache(maxsize=8)
def load_devices(own: tuple[Path, ...] = ()) -> dict[str, Device]:
    """Every device by its name, a user's in the place of one that ships. Raises StandardsError."""
    found: dict[str, Device] = {}
    for path in files_named("devices.yaml", own):
        document = read_document(path)
        document.only(document.value, (), ("schema", "devices"), ("devices",))
        for key, body in document.mapping(document.value["devices"], ("devices",)).items():
            found[str(key)] = _read(document, str(key), body)
    return found


def _read(document: Document, name: str, value: Any) -> Device:
    where: Place = ("devices", name)
    body = document.mapping(value, where)
    document.only(body, where, _KEYS, ("title", "source", "functions", "flushes", "fma", "order"))
    document.text(body["source"], (*where, "source"))
    return Device(
        name=name,
        title=document.text(body["title"], (*where, "title")),
        ulps=_functions(document, (*where, "functions"), body["functions"]),
        flushed=_words(document, (*where, "flushes"), body["flushes"], FUNCTIONS),
        hf32=_bits(document, (*where, "hf32"), body.get("hf32")),
        fma=document.flag(body["fma"], (*where, "fma")),
        steps=_words(document, (*where, "steps"), body.get("steps", []), ("fp16", "bf16")),
        order=_order(document, (*where, "order"), body["order"]),
    )


def _functions(document: Document, where: Place, value: Any) -> tuple[tuple[str, str, float], ...]:
    found = []
    rows = document.mapping(value, where)
    document.only(rows, where, FUNCTIONS)
    for name, row in rows.items():
        here: Place = (*where, name)
        body = document.mapping(row, here)
        document.only(body, here, ("ulp", "source"), ("ulp", "source"))
        document.text(body["source"], (*here, "source"))
        given, at = body["ulp"], (*here, "ulp")
        if not isinstance(given, dict):
            given = dict.fromkeys(FORMS, given)
        document.only(given, at, FORMS)
        for form, bound in given.items():
            place = (*at, form)
            found.append((name, form, _at_least(document, place, document.number(bound, place), _IEEE)))
    return tuple(found)


def _at_least(document: Document, where: Place, number: float, least: float) -> float:
    if number < least:
        raise document.error(where, f"{'.'.join(map(str, where))} must be at least {least:g}, the IEEE result")
    return number


def _bits(document: Document, where: Place, value: Any) -> int | None:
    if value is None:
        return None
    bits = document.number(value, where)
    if bits != int(bits) or not 1 <= bits <= 23:
        raise document.error(where, f"{'.'.join(where)} must be a whole number from 1 to 23, the bits of fp32")
    return int(bits)


def _words(document: Document, where: Place, value: Any, allowed: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(document.one_of(word, (*where, n), allowed) for n, word in enumerate(document.texts(value, where)))


def _order(document: Document, where: Place, value: Any) -> Order | None:
    if value is None:
        return None
    body = document.mapping(value, where)
    document.only(body, where, ("repeat", "ways", "cores"), ("repeat", "ways", "cores"))
    ways = _words(document, (*where, "ways"), body["ways"], WAYS)
    cores = body["cores"]
    if not ways or not isinstance(cores, list) or not cores:
        raise document.error(where, f"{'.'.join(where)} needs at least one of `ways` and one number of `cores`")
    counts = [_count(document, (*where, "cores", n), count) for n, count in enumerate(cores)]
    return Order(_count(document, (*where, "repeat"), body["repeat"]), ways, tuple(counts))


def _count(document: Document, where: Place, value: Any) -> int:
    count = document.number(value, where)
    if count != int(count) or count < 1:
        raise document.error(where, f"{'.'.join(map(str, where))} must be a whole number from 1 on")
    return int(count)
