"""`opscan rules`: one line per rule."""

from __future__ import annotations

from pathlib import Path

import click

from opscan.cli.options import settings_of
from opscan.cli.run import rulebook_of
from opscan.config import Settings


@click.command()
def rules() -> int:
    """List the rules."""
    click.echo(_list(settings_of((Path(),)).of(Path())), nl=False)
    return 0


def _list(settings: Settings) -> str:
    """One line per rule under the profile: id, name, severity, summary."""
    from opscan.judging.profiles import load_profile
    from opscan.judging.rules import load_rule, rule_names

    own = rulebook_of(settings).folders
    severities = load_profile(settings.profile, own).severities
    rules = [load_rule(name, own) for name in rule_names(own)]
    wide, long = max(len(rule.name) for rule in rules), max(len(rule.id) for rule in rules)
    return "".join(
        f"{rule.id:<{long}}  {rule.name:<{wide}}  {severities.get(rule.name, rule.severity):<7}  {rule.summary}\n"
        for rule in rules
    )
