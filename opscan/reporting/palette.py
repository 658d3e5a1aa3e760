"""One colour language for the console and the HTML report.

A colour never stands alone: each class and status also has a sign, and its name is always written beside it.
"""

from __future__ import annotations

from collections.abc import Mapping

import click

# Numbers are places in the xterm palette: the 16 basic colours have no amber, orange or purple.
_COLOURS: Mapping[str, str | int] = {
    "select-only": "green",
    "arithmetic": "blue",
    "broadcast-reduced": 214,
    "accumulated": 208,
    "random": 135,
    "unknown": "bright_black",
    "too-strict": "red",
    "too-loose": "magenta",
    "ambiguous": "yellow",
    "shared": "cyan",
    "invalid": "bright_red",
    "ok": "green",
    "not-applicable": "bright_black",
    "error": "red",
    "warning": "yellow",
    "info": "cyan",
    "safe": "green",
    "unsafe": "yellow",
    "manual": "cyan",
    "confirmed": "green",
    "refuted": "red",
    "not-shown": "yellow",
    "skipped": "bright_black",
}

_SIGNS: Mapping[str, str] = {
    "select-only": "=",
    "arithmetic": "±",
    "broadcast-reduced": "⊕",
    "accumulated": "Σ",
    "random": "~",
    "unknown": "?",
    "too-strict": "▲",
    "too-loose": "▼",
    "ambiguous": "◆",
    "shared": "↔",
    "invalid": "✕",
    "ok": "✓",
    "not-applicable": "–",
    "error": "✕",
    "warning": "!",
    "info": "i",
    "safe": "✓",
    "unsafe": "!",
    "manual": "✎",
    "none": "–",
}


def sign(word: str) -> str:
    """The sign that stands beside a class, status, severity or safety; empty where it has none."""
    return _SIGNS.get(word, "")


def paint(text: str, word: str, color: bool, *, bold: bool = False) -> str:
    """The text in the colour of a class, status, severity, safety or verdict; as it is where `color` is off."""
    if not color or not text:
        return text
    return click.style(text, fg=_COLOURS.get(word), bold=bold or None)


def faint(text: str, color: bool) -> str:
    return click.style(text, dim=True) if color and text else text


def strong(text: str, color: bool) -> str:
    return click.style(text, bold=True) if color and text else text
