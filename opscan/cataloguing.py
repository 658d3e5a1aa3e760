"""What `opscan catalog` does: list, show, build and check the gradient paths that ship."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from opscan.explaining import BadInput, case_of
from opscan.model import Case
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


def build(only: Sequence[str], folders: Sequence[Path], *, jobs: int, seconds: float) -> int:
    """Derive and write the paths; returns 0."""
    from opscan.numerics.paths.building import build as build_paths

    with _Bar("deriving") as bar:
        folders, cases = starts(folders)
        built = build_paths(only, folders, jobs=jobs, seconds=seconds, progress=bar.step, cases=cases)
    click.echo(
        f"{built.with_paths} of {built.subjects} operators have {built.paths} paths, from {built.traces} traces; "
        f"{built.names} names resolve to one"
    )
    for name, failures in sorted(built.failures.items()):
        for form, reason in list(failures.items())[:3]:
            click.echo(f"  without: {name} {form}: {reason}")
    return 0


def check(only: Sequence[str], folders: Sequence[Path], *, jobs: int, calls: int, seed: int, prune: bool) -> int:
    """Compare with fresh traces; returns 1 where a path says something else than the trace."""
    from opscan.numerics.paths.building import check as check_paths
    from opscan.numerics.paths.building import prune as prune_paths

    with _Bar("checking") as bar:
        folders, cases = starts(folders)
        checks = check_paths(only, folders, jobs=jobs, calls=calls, seed=seed, progress=bar.step, cases=cases)
    total = checks.told + checks.silent + sum(map(len, checks.wrong.values()))
    click.echo(
        f"{checks.names} names, {total} fresh calls: {checks.told} told as traced, {checks.silent} left to a trace, "
        f"{sum(map(len, checks.wrong.values()))} wrong; {checks.leaks} of {checks.refused} refused calls answered"
    )
    for name, wrong in sorted(checks.wrong.items()):
        for _, text in wrong[:3]:
            click.echo(f"  wrong: {name}: {text}")
    for name, reason in sorted(checks.failures.items()):
        click.echo(f"  not checked: {name}: {reason}")
    if prune and checks.wrong:
        click.echo(f"{prune_paths(checks)} forms are taken out: their calls are traced from now on")
    return int(bool(checks.wrong))


def starts(paths: Sequence[Path]) -> tuple[list[Path], list[Case]]:
    """The folders and specs among `paths`, and the calls that `.txt` files list.

    A line of these is `NAME | INPUT INPUT ...`, the inputs as `opscan explain` takes them; what follows another bar,
    and lines that start with #, are not read. Raises UsageError naming the line.
    """
    folders, cases = [], []
    for path in paths:
        if path.suffix != ".txt":
            folders.append(path)
            continue
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            raise click.UsageError(f"{path}: it cannot be read as text: {problem}") from problem
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.startswith("#"):
                name, _, rest = line.partition("|")
                try:
                    cases.append(case_of(name.strip(), rest.partition("|")[0].split(), backward=False))
                except BadInput as problem:
                    raise click.UsageError(f"{path}:{number}: {problem}") from problem
    return folders, cases


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
