"""Drawings for the HTML report: the path of a tensor through the autograd graph, and shares as a stacked bar.

The markup carries class names (`k-accumulated`, `hot`); the page's style sheet gives them colours for light, dark and
print. No drawing uses ids, so any number of them can stand in one page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from opscan.model import Step
from opscan.reporting.palette import sign
from opscan.reporting.text import columns, one_word, shorten
from opscan.reporting.words import digits, plural

_CHARACTER = 7.3
"""Width of a monospace character at the drawing's 12 px, rounded up so that no common font overflows."""
_LONGEST = 30
_HEIGHT = 44
_GAP = 34
_ROW = 30
_LANE = 22
_MARGIN = 18


@dataclass(frozen=True, slots=True)
class _Box:
    """One station of the path: a title, what is said below it, a style class, and the full text."""

    title: str
    below: str
    style: str
    full: str

    @property
    def width(self) -> float:
        return round(max(columns(self.title), columns(self.below) * 0.94, 5) * _CHARACTER + 24)


@dataclass(frozen=True, slots=True)
class _Placed:
    box: _Box
    x: float
    y: float


_Row = list[tuple[_Box, float]]


def path_drawing(steps: Sequence[Step], target: str = "", width: int = 760) -> str:
    """The path as an SVG of at most `width` px: the forward row runs right, the backward row runs back left.

    `target` names the compared tensor that the path ends in. A step that adds up is drawn with its extent. Long paths
    wrap. Without steps there is nothing to draw: an empty text.
    """
    if not steps:
        return ""
    lanes = _lanes(steps, target)
    rows = {phase: _rows(boxes, width - 2 * _MARGIN) for phase, boxes in lanes.items()}
    used = max(x + box.width for lane in rows.values() for row in lane for box, x in row) + 2 * _MARGIN
    parts: list[str] = []
    placed: dict[str, list[_Placed]] = {}
    y = 0.0
    for phase, lane in rows.items():
        # The backward pass runs against the forward pass, so it is drawn running back.
        mirrored = phase == "backward" and len(rows) > 1
        anchor = ' text-anchor="end"' if mirrored else ""
        label_x = used - _MARGIN if mirrored else _MARGIN
        parts.append(f'<text x="{label_x:g}" y="{y + 13:g}" class="lane"{anchor}>{escape(phase)}</text>')
        placed[phase] = _place(lane, y + _LANE, used, mirrored)
        parts += _arrows(placed[phase], mirrored)
        y = placed[phase][-1].y + _HEIGHT + _ROW
    if len(placed) > 1:
        forward, backward = placed.values()
        parts.append(_turn(forward[-1], backward[0], used))
    parts += [_drawn(spot) for lane_spots in placed.values() for spot in lane_spots]
    height = y - _ROW + 4
    title = escape(f"{f'Path of {one_word(target)}: ' if target else ''}{_steps_text(steps)}")
    size = f'width="{used:g}" height="{height:g}" viewBox="0 0 {used:g} {height:g}"'
    return f'<svg class="path" role="img" {size}><title>{title}</title>{"".join(parts)}</svg>'


def _steps_text(steps: Sequence[Step]) -> str:
    texts = []
    for step in steps:
        over = f" over {plural(step.extent, 'addend')}" if step.extent > 1 else ""
        texts.append(f"{step.phase} {one_word(step.op)}, {step.numeric_class.value}{over}")
    return "; ".join(texts)


def _lanes(steps: Sequence[Step], target: str) -> dict[str, list[_Box]]:
    forward = [_step_box(step) for step in steps if step.phase != "backward"]
    backward = [_step_box(step) for step in steps if step.phase == "backward"]
    lanes: dict[str, list[_Box]] = {}
    if forward:
        lanes["forward"] = [_Box("inputs", "", "end", "the operator's inputs"), *forward]
    if backward:
        lanes["backward"] = [_Box("upstream gradient", "", "end", "the gradient of the output"), *backward]
    if target:
        kind = steps[-1].numeric_class.value
        name = one_word(target)
        lanes[next(reversed(lanes))].append(_Box(shorten(name, _LONGEST), "", f"end k-{kind}", name))
    return lanes


def _step_box(step: Step) -> _Box:
    kind = step.numeric_class.value
    name = one_word(step.op)
    title = shorten(name.removeprefix("aten.").removesuffix(".default"), _LONGEST)
    if step.extent > 1:
        return _Box(title, f"Σ {plural(step.extent, 'addend')}", f"k-{kind} hot", f"{name}: {kind}")
    return _Box(title, f"{sign(kind)} {kind}", f"k-{kind}", f"{name}: {kind}")


def _rows(boxes: Sequence[_Box], room: float) -> list[_Row]:
    rows: list[_Row] = [[]]
    x = 0.0
    for box in boxes:
        if rows[-1] and x + box.width > room:
            rows.append([])
            x = 0.0
        rows[-1].append((box, x))
        x += box.width + _GAP
    return rows


def _place(rows: Sequence[_Row], top: float, used: float, mirrored: bool) -> list[_Placed]:
    spots = []
    for number, row in enumerate(rows):
        y = top + number * (_HEIGHT + _ROW)
        for box, x in row:
            spots.append(_Placed(box, used - _MARGIN - x - box.width if mirrored else _MARGIN + x, y))
    return spots


def _arrows(spots: Sequence[_Placed], mirrored: bool) -> list[str]:
    arrows = []
    for start, end in pairwise(spots):
        middle = start.y + _HEIGHT / 2
        if start.y != end.y:
            arrows.append(_step_down(start, end))
        elif mirrored:
            tip = end.x + end.box.width + 3
            arrows.append(f'<path d="M{start.x:g} {middle:g}H{tip:g}m5 -4l-5 4 5 4"/>')
        else:
            arrows.append(f'<path d="M{start.x + start.box.width:g} {middle:g}H{end.x - 3:g}m-5 -4l5 4-5 4"/>')
    return arrows


def _step_down(start: _Placed, end: _Placed) -> str:
    """From the end of one row to the start of the next, through the space between them."""
    x1, x2 = start.x + start.box.width / 2, end.x + end.box.width / 2
    y = start.y + _HEIGHT
    return f'<path d="M{x1:g} {y:g}v{_ROW / 2:g}H{x2:g}V{end.y - 3:g}m-4 -5l4 5 4-5"/>'


def _turn(last: _Placed, first: _Placed, used: float) -> str:
    """From the forward result around the right margin to the upstream gradient."""
    edge = used - 4
    start = last.x + last.box.width
    down = f"V{first.y + _HEIGHT / 2 - 8:g}q0 8-8 8"
    tip = first.x + first.box.width + 3
    middle = last.y + _HEIGHT / 2
    return f'<path class="turn" d="M{start:g} {middle:g}H{edge - 8:g}q8 0 8 8{down}H{tip:g}m5 -4l-5 4 5 4"/>'


def _drawn(spot: _Placed) -> str:
    box, x, y = spot.box, spot.x, spot.y
    center = x + box.width / 2
    corner = _HEIGHT / 2 if box.style.startswith("end") else 7
    rect = f'<rect x="{x:g}" y="{y:g}" width="{box.width:g}" height="{_HEIGHT}" rx="{corner:g}"/>'
    title_y = y + (19 if box.below else 26)
    text = f'<text x="{center:g}" y="{title_y:g}">{escape(box.title)}</text>'
    below = f'<text x="{center:g}" y="{y + 35:g}" class="b">{escape(box.below)}</text>' if box.below else ""
    return f'<g class="{box.style}"><title>{escape(box.full)}</title>{rect}{text}{below}</g>'


def shares_bar(shares: Mapping[str, int], width: int = 160, height: int = 10) -> str:
    """Counts by class or status as one stacked bar of `width` x `height` px; nothing to share gives an empty text."""
    counts = {name: count for name, count in shares.items() if count > 0}
    total = sum(counts.values())
    if not total:
        return ""
    title = escape(", ".join(f"{digits(count)} of {digits(total)} {name}" for name, count in counts.items()))
    rects = []
    x = 0.0
    for name, count in counts.items():
        part = width * count / total
        rects.append(f'<rect class="k-{escape(name)}" x="{x:.1f}" width="{part:.1f}" height="{height}"/>')
        x += part
    # Stretched to whatever room the page gives it.
    size = f'viewBox="0 0 {width} {height}" preserveAspectRatio="none" width="{width}" height="{height}"'
    return f'<svg class="shares" role="img" {size}><title>{title}</title>{"".join(rects)}</svg>'
