"""`opscan rule`: what one rule says, and why."""

from __future__ import annotations

from pathlib import Path

import click

from opscan.cli.options import settings_of
from opscan.cli.run import rulebook_of
from opscan.config import Settings


@click.command()
@click.argument("name")
def rule(name: str) -> int:
    """Explain one rule, by id or name."""
    click.echo(_text(name, settings_of((Path(),)).of(Path())), nl=False)
    return 0


def _text(name: str, settings: Settings) -> str:
    """The text of one rule with its examples. Raises a usage error for an unknown one."""
    import textwrap

    from opscan.judging.rules import load_rule

    own = rulebook_of(settings).folders
    try:
        rule = load_rule(name, own)
    except KeyError:
        raise click.UsageError(f"there is no rule {name!r}; `opscan rules` lists them") from None
    lines = [f"{rule.id} {rule.name} ({rule.severity}{', fixable' if rule.fixes else ''})", "", rule.summary + ".", ""]
    lines += [textwrap.fill(rule.why, 100), "", *_in_profiles(rule.name, own)]
    for title, files in (("Bad", rule.bad), ("Good", rule.good)):
        for file, text in files:
            shown = text if isinstance(text, str) else "(see the rule's file)"
            lines += [f"{title}: {file}", "", textwrap.indent(shown.rstrip("\n"), "    "), ""]
    return "\n".join(lines)


def _in_profiles(name: str, own: tuple[Path, ...]) -> list[str]:
    """What the profiles make of a rule, where they do not leave it as it is."""
    from opscan.judging.profiles import load_profiles

    changed = [f"{p.name}: {p.severities[name]}" for p in load_profiles(own).values() if name in p.severities]
    return [f"In profile {', '.join(changed)}.", ""] if changed else []
