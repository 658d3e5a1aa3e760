"""Options that several commands share, and the settings that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from opscan.config import ConfigError, FolderSettings, folder_settings
from opscan.interface import FAIL_ON

_Command = TypeVar("_Command", bound=Callable[..., Any])


def common(command: _Command) -> _Command:
    """The options that every command has that judges files."""
    options = [
        click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path)),
        click.option("--fail-on", type=click.Choice(FAIL_ON), help="Lowest severity that fails."),
        click.option("--atk-version", metavar="X.Y.Z", help="ATK version whose rules are in effect."),
        click.option("--select", multiple=True, metavar="RULE", help="Only these rules (OPS101, OPS1, or a name)."),
        click.option("--ignore", multiple=True, metavar="RULE", help="Not these rules."),
        click.option("--profile", metavar="NAME", help="strict, recommended, lenient, or one of your own."),
    ]
    return _with(command, options)


def judging(command: _Command) -> _Command:
    """The options of `audit` and `fix`: how their standards are chosen, and what may run."""
    options = [
        click.option(
            "--standard",
            type=click.Choice(["auto", "named", "derived"]),
            help="Recommend named standards, thresholds derived for the cases, or (auto) those where no "
            "named one fits.",
        ),
        click.option(
            "--confirm",
            is_flag=True,
            help="Emulate the cases whose tolerance is called inadequate first (needs torch).",
        ),
        device,
        click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes that trace operators at once."),
        click.option(
            "--run-generators",
            is_flag=True,
            help="Run the code of generator plugins, each shut in by itself.",
        ),
    ]
    return _with(command, options)


device = click.option(
    "--device", metavar="NAME", help="Judge for this device: A2, A3, 950, cuda, cpu or one of your own; else for any."
)


def output(*choices: str) -> Callable[[_Command], _Command]:
    """`--format`, one of `choices`, and `--output`."""

    def add(command: _Command) -> _Command:
        form = click.option("--format", "form", type=click.Choice(choices), help="How to report.")
        target = click.option("--output", type=click.Path(path_type=Path), help="Write the report to a file.")
        return form(target(command))

    return add


def settings_of(paths: tuple[Path, ...], **overrides: Any) -> FolderSettings:
    """The settings of each file under the options given; a fault in those of the paths themselves is said at once.

    A flag that is not given says nothing.
    """
    settings = folder_settings(**{name: value for name, value in overrides.items() if value is not False})
    try:
        for path in paths:
            settings.of(path)
    except ConfigError as problem:
        raise click.UsageError(str(problem)) from None
    return settings


def _with(command: _Command, options: Sequence[Callable[[Any], Any]]) -> _Command:
    for option in reversed(options):
        command = option(command)
    return command
