"""`opscan audit`: what is wrong, in any format, beside what is known already."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opscan.cli.options import common, judging, settings_of
from opscan.cli.options import output as output_options
from opscan.cli.run import audits_of, exit_code, put, terminal_width
from opscan.interface import FORMATS

if TYPE_CHECKING:
    from opscan.audit import Audited
    from opscan.model import Finding


@click.command()
@common
@judging
@output_options(*FORMATS)
@click.option("--per-case", is_flag=True, help="List every place of a finding.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Report only what this file does not hold.")
@click.option("--write-baseline", is_flag=True, help="Make today's findings the baseline.")
@click.option("--export", type=click.Choice(("ttk", "atb", "msprobe")), help="What fits, under another tool's names.")
def audit(
    paths: tuple[Path, ...],
    form: str | None,
    output: Path | None,
    per_case: bool,
    baseline: Path | None,
    write_baseline: bool,
    export: str | None,
    **chosen: Any,
) -> int:
    """Say what is wrong with the standards in these specs and cases."""
    if write_baseline and baseline is None:
        raise click.UsageError("--write-baseline needs --baseline FILE")
    if export is not None and form is not None:
        raise click.UsageError("--export writes JSON of its own; it does not go with --format")
    from opscan.audit import combined

    audits = audits_of(paths, settings_of(paths, **chosen))
    if baseline is not None:
        audits = _without_known(audits, baseline, write_baseline)
    if export is None:
        _emit(audits, form, output, per_case=per_case)
    else:
        from opscan.reporting.exports import export as write_export

        put(write_export(combined(audits), export, audits[0].judge.rules.folders), output)
    return exit_code(audits)


def _without_known(audits: Sequence[Audited], path: Path, write: bool) -> list[Audited]:
    """The audits without the findings of the baseline; what the baseline does goes to stderr, never unsaid."""
    from opscan.baseline import BaselineError, compare
    from opscan.baseline import write as write_baseline

    findings = [finding for one in audits for finding in one.audit.findings]
    try:
        if write:
            write_baseline(findings, path)
        compared = compare(findings, path)
    except BaselineError as problem:
        raise click.UsageError(str(problem)) from None
    click.echo(f"baseline {path}: {compared.covered} findings are known", err=True)
    for entry in compared.stale:
        click.echo(f"stale baseline entry: {entry}", err=True)
    new = {id(finding) for finding in compared.new}
    return [_with_findings(one, [f for f in one.audit.findings if id(f) in new]) for one in audits]


def _with_findings(audited: Audited, findings: Sequence[Finding]) -> Audited:
    return replace(audited, audit=replace(audited.audit, findings=tuple(findings)))


def _emit(audits: Sequence[Audited], form: str | None, output: Path | None, *, per_case: bool) -> None:
    from opscan.audit import combined
    from opscan.reporting import render

    terminal = output is None and sys.stdout.isatty()
    audit = combined(audits)
    chosen = form or ("full" if terminal and len(audit.files) == 1 else "concise")
    if chosen in ("full", "html", "markdown"):
        from opscan.edits import with_diffs

        audit = combined([replace(one, audit=with_diffs(one)) for one in audits])
    put(render(audit, chosen, color=terminal, width=terminal_width(), per_case=per_case), output)
