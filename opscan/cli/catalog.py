"""`opscan catalog`: list, show and check the declared steps of operators."""

from __future__ import annotations

import click

from opscan.numerics.declared.entries import MalformedEntry, Place, index, parse, text_of
from opscan.numerics.declared.operators import spelt
from opscan.numerics.kinds import kind_of, reason_of


@click.group()
def catalog() -> None:
    """List, show and check the declared steps, by which audits need no torch."""


@catalog.command("list")
@click.argument("part", default="")
def catalog_list(part: str) -> int:
    """The operators that have declared steps, or those whose name contains PART."""
    click.echo(_names(part), nl=False)
    return 0


@catalog.command("show")
@click.argument("name")
def catalog_show(name: str) -> int:
    """The steps of one operator as they are declared."""
    click.echo(_entry(name), nl=False)
    return 0


@catalog.command("sources")
@click.option("--accept", is_flag=True, help="Take the texts of the installed torch as read.")
def catalog_sources(accept: bool) -> int:
    """The entries whose PyTorch formula is not the one any more that they were written from; needs torch."""
    return _sources(accept=accept)


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


def _names(part: str) -> str:
    """One line for each entry whose name contains `part`: where it stands, and what it is."""
    found = [(name, place) for name, place in sorted(index().items()) if part in name]
    lines = [f"{name:44} {place.path.name}:{place.line:<5} {_summary(place)}" for name, place in found]
    return "\n".join([*lines, f"{len(found)} entries"]) + "\n"


def _summary(place: Place) -> str:
    content = parse(place)
    if isinstance(content, str):
        return f"as {content}"
    return "formula" if "formula" in content else kind_of(place.key) or "no kind"


def _sources(*, accept: bool) -> int:
    """Which entries to read again beside the installed torch; `accept`: they have been read. 1 where there are some."""
    from importlib.metadata import version

    from opscan.data import data_path
    from opscan.numerics.declared.sources import NoSources, current_texts, renewed, to_read_again, written_from

    try:
        texts = current_texts()
    except NoSources as problem:
        raise click.UsageError(str(problem)) from None
    if accept:
        path = data_path("catalog", "steps", "sources.txt")
        path.write_text(renewed(texts, version("torch")), encoding="utf-8")
    lines = to_read_again(texts, written_from())
    click.echo("\n".join([*lines, f"{len(lines)} entries to read again beside torch {version('torch')}"]))
    return int(bool(lines))


def _entry(name: str) -> str:
    """The entry of one operator as it is written, and what its kind means. Raises UsageError where none stands."""
    key = name if name in index() else spelt(name).key
    if key is None:
        raise click.UsageError(f"no steps are declared for `{name}`: it is traced when it is asked for")
    place = index()[key]
    try:
        content = parse(place)
    except MalformedEntry as problem:
        raise click.ClickException(str(problem)) from None
    text = text_of(place)
    lines = [f"catalog/steps/{place.path.name}:{place.line}", text.split("\n\n")[0].rstrip()]
    if isinstance(content, str):
        return "\n".join([*lines, "", _entry(content)])
    if kind := kind_of(key):
        lines.append(f"kind {kind}: {reason_of(kind)}")
    return "\n".join(lines) + "\n"
