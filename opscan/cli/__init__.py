"""The command line: a group whose commands are one module each, imported only when they are asked for."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

import click

from opscan import __version__
from opscan.interface import CLEAN, UNUSABLE

COMMANDS = {
    "audit": "Say what is wrong with the standards in these specs and cases.",
    "fix": "Show the edits as a diff that `git apply` accepts; --write applies them.",
    "explain": "Show the class of every compared tensor of one OPERATOR at given shapes, and why.",
    "validate": "Run forward and backward on the CPU and on a second device; confirm or refute each class.",
    "cases": "Draw the cases of one SPEC as `atk case` would, and write them as a case file.",
    "catalog": "List, show and check the declared steps, by which audits need no torch.",
    "rules": "List the rules.",
    "rule": "Explain one rule, by id or name.",
}
"""Each command with its line in `opscan --help`; the module of its name holds it."""


class _Commands(click.Group):
    """Commands by name; a hook must not pay for the options of those it does not run."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"opscan.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="opscan")
def cli() -> None:
    """Find out which precision standard an operator test spec needs, and correct the one it names."""


def main() -> None:
    """Run the command line; an internal error ends with exit code 2 and one line, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", "") == "strict":  # a character that the terminal lacks is no error
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        gc.set_threshold(50_000, 20, 100)  # a run makes many lasting values and few cycles
        code = cli.main(standalone_mode=False)
    except click.ClickException as problem:
        problem.show()
        code = UNUSABLE
    except click.exceptions.Abort:
        click.echo("interrupted; every file is as it was or as it should be", err=True)
        code = UNUSABLE
    except BrokenPipeError:
        sys.stderr.close()
        code = CLEAN
    except Exception as problem:
        if os.environ.get("OPSCAN_TRACEBACK"):
            raise
        name = type(problem).__name__
        click.echo(f"internal error: {name}: {problem} (OPSCAN_TRACEBACK=1 shows where; please report it)", err=True)
        code = UNUSABLE
    gc.freeze()  # all goes with the process: no last search for cycles
    sys.exit(code if isinstance(code, int) else CLEAN)
