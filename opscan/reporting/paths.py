"""The path of a tensor through the autograd graph as console lines."""

from __future__ import annotations

from opscan.model import Step
from opscan.reporting.look import Look
from opscan.reporting.palette import paint, strong
from opscan.reporting.text import columns, one_word
from opscan.reporting.words import plural


def path_lines(path: tuple[Step, ...], indent: str, look: Look) -> list[str]:
    """One step per line, arrows between; a backward step says so, an accumulating one says over how many addends."""
    if not path:
        return []
    names = [one_word(step.op) for step in path]
    room = max(map(columns, names))
    lines = []
    phase = ""
    for step, name in zip(path, names, strict=True):
        if step.phase != phase:
            phase = step.phase
            lines.append(f"{indent}{phase}")
        kind = step.numeric_class.value
        line = f"{indent}  → {name}{' ' * (room - columns(name))}  {paint(kind, kind, look.color)}"
        if step.extent > 1:
            line += "  " + strong(f"Σ {plural(step.extent, 'addend')}", look.color)
        lines.append(line)
    return lines
