"""The command line: `opscan audit`, `fix`, `explain`, `validate`, `cases`, `catalog`, `rules`, `rule`.

Only what every command needs is imported here; torch, Jinja2 and the rest come in where they are used.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from opscan import __version__
from opscan.interface import ANSWER_FORMATS, CLEAN, FAIL_ON, FORMATS, UNUSABLE

_Command = TypeVar("_Command", bound=Callable[..., Any])


def main() -> None:
    """Run the command line; an internal error ends with exit code 2 and one line, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", "") == "strict":  # a character that the terminal lacks is no error
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        gc.set_threshold(50_000, 20, 100)  # a run makes many lasting values and few cycles
        code = cli.main(standalone_mode=False)
    except click.ClickException as problem:
        problem.show()
        code = UNUSABLE
    except click.exceptions.Abort:
        click.echo("interrupted; every file is as it was or as it should be", err=True)
        code = UNUSABLE
    except BrokenPipeError:
        sys.stderr.close()
        code = CLEAN
    except Exception as problem:
        if os.environ.get("OPSCAN_TRACEBACK"):
            raise
        name = type(problem).__name__
        click.echo(f"internal error: {name}: {problem} (OPSCAN_TRACEBACK=1 shows where; please report it)", err=True)
        code = UNUSABLE
    gc.freeze()  # all goes with the process: no last search for cycles
    sys.exit(code if isinstance(code, int) else CLEAN)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="opscan")
def cli() -> None:
    """Find out which precision standard an operator test spec needs, and correct the one it names."""


def _common(command: _Command) -> _Command:
    """The options that every auditing command has."""
    options = [
        click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path)),
        click.option("--fail-on", type=click.Choice(FAIL_ON), help="Lowest severity that fails."),
        click.option("--atk-version", metavar="X.Y.Z", help="ATK version whose rules are in effect."),
        click.option("--select", multiple=True, metavar="RULE", help="Only these rules (OPS101, OPS1, or a name)."),
        click.option("--ignore", multiple=True, metavar="RULE", help="Not these rules."),
        click.option("--profile", metavar="NAME", help="strict, recommended, lenient, or one of your own."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _output(*choices: str) -> Callable[[_Command], _Command]:
    def add(command: _Command) -> _Command:
        form = click.option("--format", "form", type=click.Choice(choices), help="How to report.")
        target = click.option("--output", type=click.Path(path_type=Path), help="Write the report to a file.")
        return form(target(command))

    return add


_confirm = click.option(
    "--confirm", is_flag=True, help="Emulate the cases whose tolerance is called inadequate first (needs torch)."
)
_device = click.option(
    "--device", metavar="NAME", help="Judge for this device: A2, A3, 950, cuda, cpu or one of your own; else for any."
)
_standard = click.option(
    "--standard",
    type=click.Choice(["auto", "named", "derived"]),
    help="Recommend named standards, thresholds derived for the cases, or (auto) those where no named one fits.",
)


@cli.command()
@_common
@_standard
@_confirm
@_device
@_output(*FORMATS)
@click.option("--per-case", is_flag=True, help="List every place of a finding.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Report only what this file does not hold.")
@click.option("--write-baseline", is_flag=True, help="Make today's findings the baseline.")
@click.option("--export", type=click.Choice(("ttk", "atb", "msprobe")), help="What fits, under another tool's names.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes that trace operators at once.")
@click.option("--run-generators", is_flag=True, help="Run the code of generator plugins, each shut in by itself.")
def audit(
    paths: tuple[Path, ...],
    fail_on: str | None,
    atk_version: str | None,
    standard: str | None,
    confirm: bool,
    device: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    profile: str | None,
    form: str | None,
    output: Path | None,
    per_case: bool,
    baseline: Path | None,
    write_baseline: bool,
    export: str | None,
    jobs: int | None,
    run_generators: bool,
) -> int:
    """Say what is wrong with the standards in these specs and cases."""
    from opscan.commands import run_audit

    if write_baseline and baseline is None:
        raise click.UsageError("--write-baseline needs --baseline FILE")
    if export is not None and form is not None:
        raise click.UsageError("--export writes JSON of its own; it does not go with --format")
    common = {"fail_on": fail_on, "atk_version": atk_version, "select": select, "ignore": ignore, "profile": profile}
    settings = _settings(
        paths,
        **common,
        standard=standard,
        confirm=confirm or None,
        device=device,
        jobs=jobs,
        run_generators=run_generators or None,
    )
    return run_audit(
        paths,
        settings,
        form,
        output,
        per_case=per_case,
        export=export,
        baseline=baseline,
        write_baseline=write_baseline,
    )


@cli.command()
@_common
@_standard
@_confirm
@_device
@click.option("--write", is_flag=True, help="Apply the edits instead of showing them.")
@click.option("--unsafe", is_flag=True, help="Also edits whose evidence is not certain.")
@click.option("--split", is_flag=True, help="Give specs that need two standards a twin without broadcasts.")
@click.option(
    "--split-as", type=click.Choice(("twin", "plugin")), help="As --split; plugin: the generator chooses per case."
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes that trace operators at once.")
@click.option("--run-generators", is_flag=True, help="Run the code of generator plugins, each shut in by itself.")
def fix(
    paths: tuple[Path, ...],
    fail_on: str | None,
    atk_version: str | None,
    standard: str | None,
    confirm: bool,
    device: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    profile: str | None,
    write: bool,
    unsafe: bool,
    split: bool,
    split_as: str | None,
    jobs: int | None,
    run_generators: bool,
) -> int:
    """Show the edits as a diff that `git apply` accepts; --write applies them."""
    from opscan.commands import run_fix

    common = {"fail_on": fail_on, "atk_version": atk_version, "select": select, "ignore": ignore, "profile": profile}
    settings = _settings(
        paths,
        **common,
        standard=standard,
        confirm=confirm or None,
        device=device,
        jobs=jobs,
        run_generators=run_generators or None,
    )
    how = split_as or ("twin" if split else None)
    return run_fix(paths, settings, write=write, unsafe=unsafe, split=how)


@cli.command()
@click.argument("operator")
@click.option("--input", "inputs", multiple=True, metavar="NAME=VALUE", help="other=fp32[1,8], dim=1, mode=reflect ...")
@click.option("--values", multiple=True, metavar="NAME=unique|duplicate", help="What is known of index values.")
@click.option("--forward-only", is_flag=True, help="Leave the gradients out.")
@click.option("--broadcast", is_flag=True, help="Show how the classes change over broadcast patterns.")
@_device
@_output(*ANSWER_FORMATS)
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
    from opscan.commands import run_explain
    from opscan.explaining import BadInput, broadcast_patterns, case_of

    try:
        case = case_of(operator, inputs, values, backward=not forward_only)
        patterns = broadcast_patterns(case) if broadcast else None
    except BadInput as problem:
        raise click.UsageError(str(problem)) from None
    return run_explain(case, patterns, _settings((Path(),), device=device).of(Path()), form, output)


@cli.command()
@_common
@_output(*ANSWER_FORMATS)
@click.option("--device", default="simulated", show_default=True, metavar="npu:N|cuda:N|simulated[:NAME]")
@click.option("--runs", default=3, show_default=True, type=click.IntRange(min=1), help="Seeds per case.")
@click.option("--max-cases", default=8, show_default=True, type=click.IntRange(min=1), help="Cases per spec.")
def validate(
    paths: tuple[Path, ...],
    fail_on: str | None,
    atk_version: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    profile: str | None,
    form: str | None,
    output: Path | None,
    device: str,
    runs: int,
    max_cases: int,
) -> int:
    """Run forward and backward on the CPU and on a second device; confirm or refute each class."""
    from opscan.commands import run_validate

    common = {"fail_on": fail_on, "atk_version": atk_version, "select": select, "ignore": ignore, "profile": profile}
    settings = _settings(paths, **common)
    return run_validate(paths, settings, form, output, device=device, runs=runs, max_cases=max_cases)


@cli.group()
def catalog() -> None:
    """List, show and check the declared steps, by which audits need no torch."""


@catalog.command("list")
@click.argument("part", default="")
def catalog_list(part: str) -> int:
    """The operators that have declared steps, or those whose name contains PART."""
    from opscan.cataloguing import list_names

    click.echo(list_names(part), nl=False)
    return 0


@catalog.command("show")
@click.argument("name")
def catalog_show(name: str) -> int:
    """The steps of one operator as they are declared."""
    from opscan.cataloguing import show

    click.echo(show(name), nl=False)
    return 0


@catalog.command("sources")
@click.option("--accept", is_flag=True, help="Take the texts of the installed torch as read.")
def catalog_sources(accept: bool) -> int:
    """The entries whose PyTorch formula is not the one any more that they were written from; needs torch."""
    from opscan.cataloguing import sources

    return sources(accept=accept)


@catalog.command("check")
@click.argument("names", nargs=-1)
@click.option("--calls", default=20_000, show_default=True, type=click.IntRange(min=1), help="Calls to draw in all.")
@click.option("--seed", type=int, metavar="S", help="Draw these calls again; without it a new seed, which is printed.")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(min=1), help="Processes at once.")
@click.option("--seconds", default=5.0, show_default=True, help="For one call.")
@click.option("--oracles", is_flag=True, help="Ask the oracles about every call instead of one in four.")
def catalog_check(
    names: tuple[str, ...], calls: int, seed: int | None, jobs: int, seconds: float, oracles: bool
) -> int:
    """Draw calls of every operator, or of those whose name contains one of NAMES, and hold what is said of them
    against a trace and against oracles that know none of opscan's rules; 1 where something is wrong. Needs torch."""
    from opscan.checking.command import check

    return check(names, calls=calls, seed=seed, jobs=jobs, seconds=seconds, share=1.0 if oracles else 0.25)


@cli.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--count", type=click.IntRange(min=1), metavar="N", help="Regular cases; as many as ATK makes by default."
)
@click.option("--seed", type=int, metavar="S", help="What the cases are drawn by.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the cases to a file.")
@click.option("--run-generators", is_flag=True, help="Run the code of the spec's generator plugin, shut in by itself.")
def cases(spec: Path, count: int | None, seed: int | None, output: Path | None, run_generators: bool) -> int:
    """Draw the cases of one SPEC as `atk case` would, and write them as a case file."""
    from opscan.commands import run_cases

    return run_cases(spec, _settings((spec,), seed=seed, run_generators=run_generators or None).of(spec), count, output)


@cli.command()
def rules() -> int:
    """List the rules."""
    from opscan.commands import list_rules

    click.echo(list_rules(_settings((Path(),)).of(Path())), nl=False)
    return 0


@cli.command()
@click.argument("name")
def rule(name: str) -> int:
    """Explain one rule, by id or name."""
    from opscan.commands import explain_rule

    click.echo(explain_rule(name, _settings((Path(),)).of(Path())), nl=False)
    return 0


def _settings(paths: tuple[Path, ...], **overrides: Any) -> Any:
    """The settings of each file; a fault in those of the paths themselves is told at once."""
    from opscan.config import ConfigError, folder_settings

    settings = folder_settings(**overrides)
    try:
        for path in paths:
            settings.of(path)
    except ConfigError as problem:
        raise click.UsageError(str(problem)) from None
    return settings
