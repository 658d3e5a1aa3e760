"""Who needs to see the findings, and how: pure functions from frozen values to text.

Each format has a module of its own, imported when it is asked for, so that a hook that prints one line pays for one
line. Every text ends with exactly one line end; write it as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from opscan.interface import ANSWER_FORMATS, FORMATS
from opscan.model import Audit, Case, Classification, Confirmation
from opscan.reporting.look import Look

if TYPE_CHECKING:
    from opscan.judging.devices import Device
    from opscan.numerics.names import Origin


def render(audit: Audit, format: str, *, color: bool = False, width: int = 100, per_case: bool = False) -> str:
    """The audit in one of `FORMATS`; the same audit gives the same text.

    `color` and `width` (in columns) matter to the console formats only. `per_case` lists every place of a finding on
    its own. Raises ValueError for an unknown format.
    """
    _require(format, FORMATS)
    if per_case:
        from opscan.reporting.order import spread

        audit = replace(audit, findings=spread(audit.findings))
    module = import_module(f"opscan.reporting.{format}_format")
    writer: Callable[[Audit, Look], str] = module.write
    return writer(audit, Look(color, max(width, 40), per_case))


def render_explanation(
    classification: Classification,
    operator: str,
    format: str,
    *,
    color: bool = False,
    width: int = 100,
    origin: Origin | None = None,
    device: Device | None = None,
) -> str:
    """How the bits of every compared tensor of one case come about, in one of `ANSWER_FORMATS`.

    `origin`: the catalog's entry that the answer was taken from; `device`: whose documents are asked. Raises ValueError
    for an unknown format.
    """
    _require(format, ANSWER_FORMATS)
    from opscan.reporting import explanation

    return explanation.write(classification, operator, format, Look(color, max(width, 40)), origin, device)


def render_patterns(
    answers: Sequence[tuple[Case, Classification]], operator: str, format: str, *, color: bool = False, width: int = 100
) -> str:
    """How the classes of one operator change over broadcast patterns, in one of `ANSWER_FORMATS`.

    Raises ValueError for an unknown format.
    """
    _require(format, ANSWER_FORMATS)
    from opscan.reporting import patterns

    return patterns.write(answers, operator, format, Look(color, max(width, 40)))


def render_confirmations(
    confirmations: Sequence[Confirmation], format: str, device: str, *, color: bool = False, width: int = 100
) -> str:
    """What two devices said of each class, in one of `ANSWER_FORMATS`. `device` names the second device.

    Raises ValueError for an unknown format.
    """
    _require(format, ANSWER_FORMATS)
    from opscan.reporting import confirmations as module

    return module.write(tuple(confirmations), format, device, Look(color, max(width, 40)))


def _require(format: str, known: tuple[str, ...]) -> None:
    if format not in known:
        raise ValueError(f"unknown format {format!r}: choose one of {', '.join(known)}")
