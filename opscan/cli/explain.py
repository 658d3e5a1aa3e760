"""`opscan explain`: the classes of one call, and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opscan.cli.options import device as device_option
from opscan.cli.options import output as output_options
from opscan.cli.options import settings_of
from opscan.cli.run import put, require_device, rulebook_of, terminal_width
from opscan.interface import ANSWER_FORMATS
from opscan.model import Case, Classification

if TYPE_CHECKING:
    from opscan.config import Settings
    from opscan.judging.devices import Device
    from opscan.numerics import Limits
    from opscan.numerics.names import Origin


@click.command()
@click.argument("operator")
@click.option("--input", "inputs", multiple=True, metavar="NAME=VALUE", help="other=fp32[1,8], dim=1, mode=reflect ...")
@click.option("--values", multiple=True, metavar="NAME=unique|duplicate", help="What is known of index values.")
@click.option("--forward-only", is_flag=True, help="Leave the gradients out.")
@click.option("--broadcast", is_flag=True, help="Show how the classes change over broadcast patterns.")
@device_option
@output_options(*ANSWER_FORMATS)
def explain(
    operator: str,
    inputs: tuple[str, ...],
    values: tuple[str, ...],
    forward_only: bool,
    broadcast: bool,
    device: str | None,
    form: str | None,
    output: Path | None,
) -> int:
    """Show the class of every compared tensor of one OPERATOR at given shapes, and why."""
    from opscan.explaining import BadInput, broadcast_patterns, case_of

    try:
        case = case_of(operator, inputs, values, backward=not forward_only)
        patterns = broadcast_patterns(case) if broadcast else None
    except BadInput as problem:
        raise click.UsageError(str(problem)) from None
    settings = settings_of((Path(),), device=device).of(Path())
    documented = require_device(device, rulebook_of(settings).folders) if device else None
    return _shown(case, patterns, settings, documented, form, output)


def _shown(
    case: Case,
    patterns: Sequence[Case] | None,
    settings: Settings,
    device: Device | None,
    form: str | None,
    output: Path | None,
) -> int:
    """The classes of one call and why, or its broadcast patterns side by side; 1 if nothing is known of it."""
    from opscan.numerics import Classifier, Limits, Question
    from opscan.reporting import render_explanation, render_patterns

    limits = Limits(1, settings.trace_seconds, settings.trace_mebibytes)
    terminal = output is None and sys.stdout.isatty()
    width = terminal_width()
    name, chosen = case.name or "", form or "full"
    if patterns:
        known = Classifier(limits=limits).classify_many([Question(one) for one in patterns])
        answers = list(zip(patterns, known, strict=True))
        put(render_patterns(answers, name, chosen, color=terminal, width=width), output)
        return int(not known[0].tensors)
    answer = _answer(case, limits)
    origin = _origin(answer, name)
    put(render_explanation(answer, name, chosen, color=terminal, width=width, origin=origin, device=device), output)
    return int(not answer.tensors)


def _answer(case: Case, limits: Limits) -> Classification:
    """The classes of the call as it is written, else as its operator takes it; what was given up is the reason."""
    from opscan.explaining import other_readings
    from opscan.numerics import Classifier

    classifier = Classifier(limits=limits)
    answer = classifier.classify(case)
    if answer.tensors or not answer.mismatch:
        return answer
    for reading, given_up in other_readings(case):
        other = classifier.classify(reading)
        if other.tensors:
            return replace(other, reason=f"{given_up}: {answer.reason}")
    return answer


def _origin(known: Classification, name: str) -> Origin | None:
    """The catalog's entry that an answer was taken from; None where PyTorch's own operator was asked."""
    from opscan.numerics.names import is_npu_name, origin_of

    return origin_of(name) if known.basis == "name" and is_npu_name(name) else None
