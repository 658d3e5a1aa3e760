"""YAML 1.1 and numbers: texts that only look like numbers, and numbers that are not what they look like."""

from __future__ import annotations

import re
from typing import Any

_DECIMAL = re.compile(r"[-+]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?")
_FORMULA = re.compile(r"[-+]?[\d.]+\s*(?:\*\*|\*|/|\^)\s*[-+]?[\d.]+(?:[eE][-+]?\d+)?")
_OCTAL = re.compile(r"[-+]?0[0-7_]+")
_FLOAT_1_1 = re.compile(r"[-+]?\d[\d_]*\.[\d_]*(?:[eE][-+]\d+)?|\.\d[\d_]*(?:[eE][-+]\d+)?")
_PARTS = re.compile(r"([-+]?)([\d_]*)\.?([\d_]*)(?:[eE]([-+]?)(\d+))?")
_WORDS = {"inf": ".inf", "+inf": ".inf", "-inf": "-.inf", "nan": ".nan", "infinity": ".inf"}


def looks_numeric(text: str) -> bool:
    """Whether a reader would take the text for a number although PyYAML made it a string."""
    return _DECIMAL.fullmatch(text) is not None or _FORMULA.fullmatch(text) is not None


def as_yaml_number(text: str, integer: bool = False) -> tuple[str, int | float] | None:
    """How to write a number-like text so that YAML 1.1 reads a number, with its value; None for a formula.

    >>> as_yaml_number("1e-4")
    ('1.0e-4', 0.0001)
    """
    if text.lower() in _WORDS and not integer:
        word = _WORDS[text.lower()]
        return word, float(word.replace(".", ""))
    if _DECIMAL.fullmatch(text) is None:
        return None
    try:
        value = float(text.replace("_", ""))
    except ValueError:
        return None
    if value in (float("inf"), float("-inf")):
        return None
    if integer or re.fullmatch(r"[-+]?[\d_]+", text):
        return (str(int(value)), int(value)) if value.is_integer() and abs(value) < 1e18 else None
    sign, whole, fraction, exponent_sign, exponent = _PARTS.fullmatch(text).groups()  # type: ignore[union-attr]
    written = f"{sign}{whole or '0'}.{fraction or '0'}"
    if exponent is not None:
        written += f"e{exponent_sign or '+'}{exponent}"
    return (written, value) if _FLOAT_1_1.fullmatch(written) else None


def trap_of(text: str, value: Any) -> str | None:
    """Why a plain scalar's value is not what its text seems to say, or None."""
    if isinstance(value, bool):
        if text.lower() in ("true", "false"):
            return None
        return f"YAML 1.1 reads {text} as {str(value).lower()}"
    if isinstance(value, (int, float)):
        if ":" in text:
            return f"YAML 1.1 reads {text} in base 60, as {value}"
        if _OCTAL.fullmatch(text) and value != 0:
            return f"YAML 1.1 reads {text} as an octal number, {value}"
        return None
    if value is not None and not isinstance(value, (str, bytes)):
        return f"YAML 1.1 reads {text} as a date"
    return None
