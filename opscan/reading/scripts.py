"""Run scripts: the `atk case` and `atk task` lines of a shell script, which tie specs, plugins and nodes together."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from opscan.model import Command, RunScript, Source

_CONTINUATION = re.compile(r"\\(?:\r\n|\n|\r)")
_MENTIONS_ATK = re.compile(r"\batk\s+(?:\\\s+)?(?:case|task)\b")
_OPERATORS = frozenset((";", "&&", "||", "|", "&", "(", ")", ";;"))
_FILES = {"case": ("-f", "--file"), "task": ("-c", "--case")}
_PLUGINS = ("-p", "--plugin")
_NODES = ("-n", "--node")


def read_script(source: Source) -> RunScript | None:
    """The ATK commands of a script, in order; None where it has none."""
    if _MENTIONS_ATK.search(source.text) is None:
        return None
    commands = []
    for line in re.split(r"\r\n|\n|\r", _CONTINUATION.sub(" ", source.text)):
        if "atk" not in line:
            continue
        for words in _simple_commands(line):
            command = _command(words)
            if command is not None:
                commands.append(command)
    return RunScript(source, tuple(commands)) if commands else None


def _simple_commands(line: str) -> list[list[str]]:
    """The words of each command on one logical line, split at shell operators; comments are dropped."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters = "#"
    lexer.wordchars += "${}:@%+,^!="
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        words = line.split("#", 1)[0].split()
    commands: list[list[str]] = [[]]
    for word in words:
        if word in _OPERATORS:
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def _command(words: Sequence[str]) -> Command | None:
    for place in range(len(words) - 1):
        if words[place].rsplit("/", 1)[-1] == "atk" and words[place + 1] in _FILES:
            break
    else:
        return None
    before, verb, rest = words[:place], words[place + 1], words[place + 2 :]
    tasks = _values(rest, ("--task",))
    return Command(
        verb=verb,
        files=_values(rest, _FILES[verb]),
        node_files=_values(rest, _NODES) if verb == "task" else (),
        plugins=_values(rest, _PLUGINS),
        task=tasks[0] if tasks else None,
        memcheck=_runs_memcheck(before) or "--mssanitizer" in rest,
    )


def _values(words: Sequence[str], options: Sequence[str]) -> tuple[str, ...]:
    """All values of an option: `-p a.py b.py`, `-p a.py -p b.py`, `--task=run`."""
    found: list[str] = []
    taking = False
    for word in words:
        name, equals, value = word.partition("=")
        if word.startswith("-"):
            taking = name in options
            if taking and equals:
                found.append(value)
        elif taking:
            found.append(word)
    return tuple(found)


def _runs_memcheck(before: Sequence[str]) -> bool:
    """mssanitizer checks memory unless another tool is asked for."""
    for place, word in enumerate(before):
        if word.rsplit("/", 1)[-1] != "mssanitizer":
            continue
        tools = _values(before[place + 1 :], ("--tool", "-t"))
        return not tools or "memcheck" in tools
    return False
