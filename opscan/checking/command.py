"""What `opscan catalog check` does: draw, examine, tell."""

from __future__ import annotations

from collections.abc import Sequence
from random import SystemRandom

import click

from opscan.checking.crew import NotStarted, examine_all
from opscan.checking.report import Tally
from opscan.checking.tasks import tasks_of

_SHOWN = 40
"""Operators shown of each kind of remark."""


def check(only: Sequence[str], *, calls: int, seed: int | None, jobs: int, seconds: float, share: float) -> int:
    """Examine `calls` calls of the operators whose name contains one of `only`, of all where there is none.

    Returns 1 where an answer is wrong. `share`: of the calls, how many the oracles look at. Raises UsageError.
    """
    seed = SystemRandom().randrange(1 << 32) if seed is None else seed
    click.echo(f"seed {seed}")
    tasks = tasks_of(only, calls=calls, seed=seed, share=share, seconds=seconds)
    if not tasks:
        raise click.UsageError(f"no operator has {' or '.join(only)} in its name")
    tally = Tally()
    total = sum(task.stop - task.start for task in tasks)
    with click.progressbar(length=total, label="checking", show_pos=True) as bar:
        try:
            for result in examine_all(tasks, jobs):
                tally.add(result)
                bar.update(1)
        except NotStarted as problem:
            raise click.UsageError(str(problem)) from None
        except KeyboardInterrupt:
            click.echo("\ninterrupted")  # what was found until now is worth telling
    for line in tally.lines(_SHOWN):
        click.echo(line)
    return int(tally.failed)
