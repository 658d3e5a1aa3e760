"""`opscan fix`: the edits as a diff, or made."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opscan.cli.options import common, judging, settings_of
from opscan.cli.run import audits_of, exit_code, has_missing
from opscan.interface import CLEAN, FOUND, UNUSABLE

if TYPE_CHECKING:
    from opscan.audit import Audited
    from opscan.fixing import Plan


@click.command()
@common
@judging
@click.option("--write", is_flag=True, help="Apply the edits instead of showing them.")
@click.option("--unsafe", is_flag=True, help="Also edits whose evidence is not certain.")
@click.option("--split", is_flag=True, help="Give specs that need two standards a twin without broadcasts.")
@click.option(
    "--split-as", type=click.Choice(("twin", "plugin")), help="As --split; plugin: the generator chooses per case."
)
def fix(paths: tuple[Path, ...], write: bool, unsafe: bool, split: bool, split_as: str | None, **chosen: Any) -> int:
    """Show the edits as a diff that `git apply` accepts; --write applies them.

    Exits with 1 if edits would be made; with --write, if some finding remains.
    """
    from opscan.fixing import merged, write_fixes

    settings = settings_of(paths, **chosen)
    how = split_as or ("twin" if split else None)
    audits = audits_of(paths, settings)
    plan = merged([_planned(one, unsafe=unsafe, split=how) for one in audits])
    for reason in plan.unsplit:
        click.echo(f"not split: {reason}", err=True)
    for refusal in plan.refusals:
        click.echo(f"not edited: {refusal}", err=True)
    if not write:
        _put_diff(plan.diff)
        if plan.changes and plan.diff_folder != Path.cwd().resolve():
            click.echo(f"the paths of the diff begin at {plan.diff_folder}: apply it there", err=True)
        for note in plan.notes:
            click.echo(note, err=True)
        click.echo(plan.summary(), err=True)
        return UNUSABLE if has_missing(audits) else FOUND if plan.changes else CLEAN
    written = write_fixes(plan)
    for problem in written.problems:
        click.echo(f"not written: {problem}", err=True)
    for note in plan.notes:
        click.echo(note, err=True)
    click.echo(plan.summary(written), err=True)
    return exit_code(audits_of(paths, settings))


def _planned(audited: Audited, *, unsafe: bool, split: str | None) -> Plan:
    from opscan.fixing import plan_fixes

    plan = plan_fixes(audited, unsafe=unsafe)
    if split is None:
        return plan
    from opscan.splitting import with_splits

    return with_splits(plan, audited, audited.settings, how=split, unsafe=unsafe)


def _put_diff(diff: str) -> None:
    """A diff goes out in the bytes that the files have: no other encoding, no other line ends, also of their names."""
    click.echo(diff if sys.stdout.isatty() else diff.encode("utf-8", "surrogateescape"), nl=False)
