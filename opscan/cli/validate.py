"""`opscan validate`: each class, confirmed or refuted on a second device."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from opscan.cli.options import common, settings_of
from opscan.cli.options import output as output_options
from opscan.cli.run import Failure, progress, put, require_device, rulebook_of, terminal_width
from opscan.interface import ANSWER_FORMATS


@click.command()
@common
@output_options(*ANSWER_FORMATS)
@click.option("--device", default="simulated", show_default=True, metavar="npu:N|cuda:N|simulated[:NAME]")
@click.option("--runs", default=3, show_default=True, type=click.IntRange(min=1), help="Seeds per case.")
@click.option("--max-cases", default=8, show_default=True, type=click.IntRange(min=1), help="Cases per spec.")
@click.option("--seconds", default=120.0, show_default=True, type=click.FloatRange(min=0.1), help="For one case.")
@click.option("--resume", is_flag=True, help="Go on with a run that was cut off.")
def validate(
    paths: tuple[Path, ...],
    form: str | None,
    output: Path | None,
    device: str,
    runs: int,
    max_cases: int,
    seconds: float,
    resume: bool,
    **chosen: Any,
) -> int:
    """Run forward and backward on the CPU and on a second device; confirm or refute each class.

    Exits with 1 if a class was refuted, with 2 if the device is not there.
    """
    from opscan.reporting import render_confirmations
    from opscan.validating import DeviceMissing, validate_paths

    settings = settings_of(paths, **chosen)
    for path in paths:
        if not path.exists():
            raise Failure(f"no such file or folder: {path}")
    if device.startswith("simulated:"):
        first = settings.of(paths[0])
        require_device(device.partition(":")[2], rulebook_of(first).folders)
    try:
        confirmations = validate_paths(
            paths,
            settings,
            device,
            runs=runs,
            max_cases=max_cases,
            seconds=seconds,
            resume=resume,
            progress=progress(sys.stderr),
        )
    except DeviceMissing as problem:
        raise Failure(str(problem)) from None
    terminal = output is None and sys.stdout.isatty()
    width = terminal_width()
    put(render_confirmations(confirmations, form or "full", device, color=terminal, width=width), output)
    return int(any(confirmation.verdict == "refuted" for confirmation in confirmations))
