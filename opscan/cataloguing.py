"""What `opscan catalog` does: list, show, build and check the gradient paths that ship."""

from __future__ import annotations

from collections.abc import Sequence

import click

from opscan.numerics.paths.shipping import find, index, load
from opscan.numerics.paths.wording import describe_paths


def list_names(part: str) -> str:
    """One line for each name that has paths and contains `part`, and what they cover."""
    names = [name for name, entry in sorted(index()["names"].items()) if "file" in entry and part in name]
    lines = []
    for name in names:
        known = find(name)
        forms = load(known.file) if known is not None and known.file is not None else {}
        same = "" if known is None or known.file == name else f"  as {known.file}"
        lines.append(f"{name:48} {len(forms):3} forms{same}")
    lines.append(f"{len(names)} names, derived with torch {index()['torch']}")
    return "\n".join(lines) + "\n"


def show(name: str) -> str:
    """The paths of one operator in words. Raises UsageError where none ship."""
    known = find(name)
    if known is None or known.file is None:
        raise click.UsageError(f"no paths ship for `{name}`: it is traced when it is asked for")
    lines = [f"{name}({', '.join(known.parameters)})", ""]
    for paths in load(known.file).values():
        lines += [*describe_paths(paths), ""]
    return "\n".join(lines)


def check(only: Sequence[str], *, calls: int, seed: int | None, jobs: int, seconds: float, share: float) -> int:
    """Draw calls afresh and hold every answer against a trace and the oracles; returns 1 where something is wrong."""
    from random import SystemRandom

    from opscan.checking.crew import examine_all
    from opscan.checking.report import Tally
    from opscan.checking.tasks import tasks_of

    seed = SystemRandom().randrange(1 << 32) if seed is None else seed
    click.echo(f"seed {seed}")
    tasks = tasks_of(only, calls=calls, seed=seed, share=share, seconds=seconds)
    if not tasks:
        raise click.UsageError(f"no operator has {' or '.join(only)} in its name")
    tally = Tally()
    done = 0
    with _Bar("checking") as bar:
        for result in examine_all(tasks, jobs):
            tally.add(result)
            done += 1
            bar.step(done, sum(task.stop - task.start for task in tasks), result[0].base)
    for line in tally.lines(most=40):
        click.echo(line)
    return int(tally.failed)


class _Bar:
    """A progress bar whose length is known at the first step."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: click._termui_impl.ProgressBar[int] | None = None

    def __enter__(self) -> _Bar:
        return self

    def step(self, done: int, total: int, name: str) -> None:
        if self._bar is None:
            self._bar = click.progressbar(length=total, label=self._title, show_pos=True, item_show_func=lambda _: name)
            self._bar.__enter__()
            self._bar.update(done - 1)
        self._bar.item_show_func = lambda _: name
        self._bar.update(1)

    def __exit__(self, *details: object) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
