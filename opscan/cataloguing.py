"""What `opscan catalog` does: list and show the declared steps of operators."""

from __future__ import annotations

import click

from opscan.numerics.declared.entries import MalformedEntry, Place, index, parse, text_of
from opscan.numerics.declared.operators import spelt
from opscan.numerics.kinds import kind_of, reason_of


def list_names(part: str) -> str:
    """One line for each entry whose name contains `part`: where it stands, and what it is."""
    found = [(name, place) for name, place in sorted(index().items()) if part in name]
    lines = [f"{name:44} {place.path.name}:{place.line:<5} {_summary(place)}" for name, place in found]
    return "\n".join([*lines, f"{len(found)} entries"]) + "\n"


def _summary(place: Place) -> str:
    content = parse(place)
    if isinstance(content, str):
        return f"as {content}"
    return "formula" if "formula" in content else kind_of(place.key) or "no kind"


def sources(*, accept: bool) -> int:
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


def show(name: str) -> str:
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
        return "\n".join([*lines, "", show(content)])
    if kind := kind_of(key):
        lines.append(f"kind {kind}: {reason_of(kind)}")
    return "\n".join(lines) + "\n"
