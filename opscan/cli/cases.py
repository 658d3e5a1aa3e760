"""`opscan cases`: the cases that `atk case` would draw."""

from __future__ import annotations

from pathlib import Path

import click

from opscan.cli.options import settings_of
from opscan.cli.run import Failure, put


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--count", type=click.IntRange(min=1), metavar="N", help="Regular cases; as many as ATK makes by default."
)
@click.option("--seed", type=int, metavar="S", help="What the cases are drawn by.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the cases to a file.")
@click.option("--run-generators", is_flag=True, help="Run the code of the spec's generator plugin, shut in by itself.")
def cases(spec: Path, count: int | None, seed: int | None, output: Path | None, run_generators: bool) -> int:
    """Draw the cases of one SPEC as `atk case` would, and write them as a case file."""
    from opscan.generating import Refused, draw

    settings = settings_of((spec,), seed=seed, run_generators=run_generators).of(spec)
    try:
        drawn = draw(spec, settings, count)
    except Refused as problem:
        raise Failure(str(problem)) from None
    for note in drawn.notes:
        click.echo(f"note: {note}", err=True)
    put(drawn.text(), output)
    if output is not None:
        click.echo(f"{len(drawn.fields)} cases in {output}", err=True)
    return 0
