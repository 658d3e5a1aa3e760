"""What commands share between the options and the stages: refuse what is wrong, audit, write, choose the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, TextIO

import click

from opscan.config import ConfigError, FolderSettings, Settings
from opscan.interface import CLEAN, FOUND, UNUSABLE, reaches

if TYPE_CHECKING:
    from opscan.audit import Audited
    from opscan.judging.devices import Device
    from opscan.judging.rulebook import Rulebook


class Failure(click.ClickException):
    """What keeps a command from doing anything; one line, exit code 2."""

    exit_code = UNUSABLE


def audits_of(paths: Sequence[Path], settings: FolderSettings) -> list[Audited]:
    """The audits of all files, one for those that lie under the same settings; faulty settings and rules come first."""
    from opscan.audit import audit_catalog
    from opscan.opening import open_catalog, path_of

    catalog = open_catalog(paths)
    try:
        chosen = {settings.of(place): None for place in (*paths, *map(path_of, catalog.asked))}
    except ConfigError as problem:
        raise click.UsageError(str(problem)) from None
    for one in chosen:
        rules = rulebook_of(one)
        require_rules([*one.select, *one.ignore], rules)
        require_version(one.atk_version)
        require_device(one.device, rules.folders)
    return audit_catalog(catalog, settings.of, paths)


def rulebook_of(settings: Settings) -> Rulebook:
    """The rules in force, all of them checked: what is wrong with one must not turn up in an audit."""
    from opscan.judging.rulebook import open_rulebook
    from opscan.judging.standards_file import StandardsError

    try:
        return open_rulebook(settings.rules, settings.profile)
    except StandardsError as problem:
        raise click.UsageError(str(problem)) from None


def require_version(version: str) -> None:
    from opscan.judging.standards import load_standards

    try:
        load_standards().profile(version)
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None


def require_device(name: str, own: tuple[Path, ...]) -> Device | None:
    """The device named, None for no name; a wrong name is a usage error that says which there are."""
    if not name:
        return None
    from opscan.judging.devices import find_device
    from opscan.judging.standards_file import StandardsError

    try:
        return find_device(name, own)
    except (StandardsError, ValueError) as problem:
        raise click.UsageError(str(problem)) from None


def require_rules(patterns: Sequence[str], rules: Rulebook) -> None:
    """A misspelt rule would silence a run, or select nothing and look clean."""
    from opscan.judging.rules import rule_id, rule_names

    names = rule_names(rules.folders)
    for pattern in patterns:
        if pattern not in names and not any(rule_id(name, rules.folders).startswith(pattern) for name in names):
            raise click.UsageError(f"there is no rule {pattern!r}; `opscan rules` lists them")


def exit_code(audits: Sequence[Audited]) -> int:
    """2 where a path does not exist, for that is a usage error; else 1 if a finding is at or above its `fail_on`."""
    if has_missing(audits):
        return UNUSABLE
    failing = any(reaches(f.severity, one.settings.fail_on) for one in audits for f in one.audit.findings)
    return FOUND if failing else CLEAN


def has_missing(audits: Sequence[Audited]) -> bool:
    return any(finding.name == "missing-path" for one in audits for finding in one.audit.findings)


def terminal_width() -> int:
    """The columns of the terminal, else 100; as `shutil.get_terminal_size`, whose module takes long to import."""
    try:
        chosen = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        chosen = 0
    if chosen > 0:
        return chosen
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 100  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return 100


def put(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8", newline="")
    except OSError as problem:
        raise click.UsageError(f"cannot write {output}: {problem.strerror}") from None


def progress(stream: TextIO) -> Callable[[int, int], None]:
    """Writes on a terminal how much of a long run is done, from a second on."""
    start, shown = monotonic(), stream.isatty()

    def show(done: int, of: int) -> None:
        if shown and monotonic() - start > 1:
            stream.write(f"\r{done} of {of} cases" if done < of else "\r\033[K")
            stream.flush()

    return show
