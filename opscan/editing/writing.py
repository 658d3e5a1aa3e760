"""How to write a value so that a YAML 1.1 reader reads it back exactly."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import yaml

# Words of letters with single blanks between them; everything else is quoted.
_PLAIN = re.compile(r"[^\W\d_][\w.+/-]*(?: [^\W_][\w.+/-]*)*")
_LOOKS_LIKE_NUMBER = re.compile(r"(?i)(?:inf|nan|infinity)|y|n")
_NEVER_RAW = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
_SCIENTIFIC_BELOW = 1e-3
_SCIENTIFIC_FROM = 1e16


def yaml_scalar(value: Any, quote: str = "") -> str:
    """A scalar as YAML 1.1 text, safe in block and flow context; `quote` keeps the quotes a text had.

    >>> yaml_scalar(1e-4), yaml_scalar("equal"), yaml_scalar("1e-4"), yaml_scalar(None)
    ('1.0e-4', 'equal', '"1e-4"', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        raise TypeError(f"no YAML scalar for a {type(value).__name__}")
    if quote == "'" and _fits_single_quotes(value):
        return "'" + value.replace("'", "''") + "'"
    return value if not quote and _is_plain(value) else _double_quoted(value)


def yaml_flow(value: Any) -> str:
    """A value in flow style on one line: `{mixed_tolerance_bm: {fp32_rtol: 1.0e-4}}`."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{yaml_scalar(key)}: {yaml_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(yaml_flow(item) for item in value) + "]"
    return yaml_scalar(value)


def yaml_block(value: Mapping[Any, Any], indent: int, newline: str, step: int = 2) -> str:
    """A mapping as an indented block, one key a line, without a final line end; lists inside are in flow style."""
    lines = []
    for key, item in value.items():
        line = " " * indent + yaml_scalar(key) + ":"
        if isinstance(item, Mapping) and item:
            lines.append(line + newline + yaml_block(item, indent + step, newline, step))
        else:
            lines.append(f"{line} {yaml_flow(item)}")
    return newline.join(lines)


def resolves_to_text(text: str) -> bool:
    """Whether PyYAML reads this plain scalar as a string."""
    resolvers = yaml.SafeLoader.yaml_implicit_resolvers
    candidates = resolvers.get(text[:1], []) + resolvers.get(None, [])
    return not any(pattern.match(text) for _, pattern in candidates)


def _is_plain(text: str) -> bool:
    if _PLAIN.fullmatch(text) is None or _LOOKS_LIKE_NUMBER.fullmatch(text):
        return False
    return resolves_to_text(text)


def _fits_single_quotes(text: str) -> bool:
    return text.isprintable() and _NEVER_RAW.search(text) is None


def _double_quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return _NEVER_RAW.sub(lambda match: f"\\u{ord(match.group()):04x}", quoted)


def _float(value: float) -> str:
    """With a dot and a signed exponent: YAML 1.1 reads `1e-4` and `1.0e4` as text."""
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    if value == 0 or _SCIENTIFIC_BELOW <= abs(value) < _SCIENTIFIC_FROM:
        return repr(value)
    from decimal import Decimal

    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    shown = "".join(map(str, digits)).rstrip("0") or "0"
    power = int(exponent) + len(digits) - 1
    return f"{'-' if sign else ''}{shown[0]}.{shown[1:] or '0'}e{'-' if power < 0 else '+'}{abs(power)}"
