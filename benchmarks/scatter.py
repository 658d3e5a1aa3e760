"""A scatter of measured pairs as an SVG picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape


def log_scatter(
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    low: float,
    high: float,
    factor: float,
    across: str,
    upwards: str,
    size: int = 520,
) -> str:
    """Points on two logarithmic axes from `low` to `high`, with the diagonal and the band of a `factor` around it.

    A picture of its own, with its colours in it, for it stands in a page without a style sheet. Values outside the axes
    are drawn on their edge.
    """
    span, left = math.log10(high / low), 64

    def place(value: float) -> float:
        return left + (size - left - 16) * math.log10(min(max(value, low), high) / low) / span

    def up(value: float) -> float:
        return size - place(value)

    parts = [f'<rect width="{size}" height="{size}" fill="#fff"/>']
    corners = [(low, low), (low, low * factor), (high / factor, high), (high, high), (high, high / factor)]
    band = " ".join(f"{place(x):.1f},{up(y):.1f}" for x, y in (*corners, (low * factor, low)))
    parts.append(f'<polygon points="{band}" fill="#e8eef7"/>')
    power = math.ceil(math.log10(low) - 1e-9)
    while 10.0**power <= high * 1.0001:
        at, label = 10.0**power, f"{100 * 10.0**power:g} %"
        parts.append(f'<path d="M{place(at):.1f} {up(low):.1f}V{up(high):.1f}M{place(low):.1f} {up(at):.1f}'
                     f'H{place(high):.1f}" stroke="#ccd3dd" fill="none"/>')  # fmt: skip
        parts.append(f'<text x="{place(at):.1f}" y="{up(low) + 16:.1f}" text-anchor="middle">{label}</text>')
        parts.append(f'<text x="{left - 6}" y="{up(at) + 4:.1f}" text-anchor="end">{label}</text>')
        power += 1
    for number, (name, points) in enumerate(series.items()):
        color = _SERIES[number % len(_SERIES)]
        dots = "".join(f"M{place(x):.1f} {up(y):.1f}h0" for x, y in points)
        parts.append(f'<path d="{dots}" stroke="{color}" stroke-width="3" stroke-linecap="round" opacity="0.45"/>')
        parts.append(f'<text x="{left + 12}" y="{36 + 16 * number}" fill="{color}">{escape(name)}, '
                     f'{len(points)} cells</text>')  # fmt: skip
    middle = (left + size - 16) / 2
    parts.append(f'<text x="{middle:.0f}" y="{size - 14}" text-anchor="middle">{escape(across)}</text>')
    turned = f'transform="rotate(-90 16 {size - middle:.0f})"'
    parts.append(f'<text x="16" y="{size - middle:.0f}" text-anchor="middle" {turned}>{escape(upwards)}</text>')
    title = f"{upwards} against {across}; the band is a factor of {factor:g}"
    box = f'viewBox="0 0 {size} {size}" width="{size}" height="{size}" font-family="sans-serif" font-size="12"'
    body = f"<title>{escape(title)}</title>{''.join(parts)}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img">{body}</svg>'


_SERIES = ("#1f5fa8", "#b4531b", "#2f7d4f", "#7a4aa3")
