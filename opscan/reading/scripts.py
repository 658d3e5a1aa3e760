"""Run scripts: the `atk case` and `atk task` lines of a shell script, which tie specs, plugins and nodes together.

Of the shell only that is followed which decides which files a command names: constants, loops over constants, `cd`.
What is not known stands as `**` in a name: any text, slashes included.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from opscan.model import ANYTHING, Command, RunScript, Source

_HERE = re.compile(
    r"\$\(\s*dirname\s+(?:--\s+)?\"?\$\{?(?:0|BASH_SOURCE(?:\[0\])?)\}?\"?\s*\)|\$\{(?:0|BASH_SOURCE(?:\[0\])?)%/\*\}"
)
"""The folder of the script itself."""
_GONE_TO = re.compile(r"\$\(\s*cd\s+\"?(\.[\w./-]{0,200})\"?\s*(?:&&|;)\s*pwd(?:\s+-P)?\s*\)")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})|\$\{[^}]{0,200}\}|\$\([^)]{0,200}\)|`[^`]{0,200}`|\$")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_OPERATORS = frozenset(";&|()")
_BEFORE = frozenset(
    ("do", "then", "else", "elif", "if", "while", "until", "time", "!", "{", "export", "local", "declare")
)
_DEEPER = frozenset(("if", "for", "while", "until", "case", "{"))
_OUT = frozenset(("fi", "done", "esac", "}"))
_FILES = {"case": ("-f", "--file"), "task": ("-c", "--case")}
_PLUGINS = ("-p", "--plugin")
_NODES = ("-n", "--node")
_MOST_COMBINATIONS = 512
_LONGEST_LINE = 1 << 16


def read_script(source: Source) -> RunScript | None:
    """The ATK commands of a script, in order; None where it has none."""
    if "atk" not in source.text:
        return None
    shell = _Shell()
    for number, line in _logical_lines(source.text):
        for words in _simple_commands(line):
            shell.take(words, number)
    return RunScript(source, tuple(shell.commands)) if shell.commands else None


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with those that continue them, numbered by where they begin; what is longer than any script is left out."""
    number = 1
    for line in re.split(r"(?<!\\)\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        if len(line) <= _LONGEST_LINE:
            yield number, _GONE_TO.sub(r"\1", _HERE.sub(".", line.replace("\\\n", " ")))
        number += 1 + line.count("\n")


def _simple_commands(line: str) -> list[list[str]]:
    """The words of each command on one logical line, split at shell operators; comments are dropped."""
    if not line.strip():
        return []
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
        if word != "()" and _OPERATORS.issuperset(word):
            commands.append([])
        else:
            commands[-1].append(word)
    return [command for command in commands if command]


class _Shell:
    """What a script has said so far: the values its variables can have (None: any), and where it has gone to."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self._values: dict[str, tuple[str, ...] | None] = {}
        self._folder: str | None = ""
        self._depth = 0

    def take(self, words: list[str], line: int) -> None:
        """Follow one simple command."""
        while words and (words[0] in _BEFORE or words[0] == "function" or words[1:2] == ["()"]):
            self._depth += words[0] in _DEEPER
            words = words[1 if words[0] in _BEFORE else 2 :]
        if not words:
            return
        self._depth = max(0, self._depth + (words[0] in _DEEPER) - (words[0] in _OUT))
        if words[0] == "for" and len(words) > 2 and words[2] == "in":
            self._values[words[1]] = self._constants(words[3:])
        elif words[0] in ("cd", "pushd"):
            self._go(words[1:])
        elif all(_ASSIGNMENT.fullmatch(word) for word in words):
            for word in words:
                self._assign(word)
        else:
            self.commands += self._atk(words, line)

    def _constants(self, words: Sequence[str]) -> tuple[str, ...] | None:
        found = [text for word in words for text in self._expanded(word)]
        return None if any("*" in text or "?" in text for text in found) else tuple(found)

    def _assign(self, word: str) -> None:
        name, _, value = word.partition("=")
        new = self._constants([value])
        if self._depth and name in self._values:  # either may have run
            old = self._values[name]
            new = None if old is None or new is None else (*old, *new)
        self._values[name] = new

    def _go(self, words: Sequence[str]) -> None:
        found = self._expanded(words[0]) if words else []
        where = found[0] if len(found) == 1 else ANYTHING
        if self._depth or ANYTHING in where or where.startswith(("~", "-")) or self._folder is None:
            self._folder = None
        else:
            self._folder = where if where.startswith("/") or not self._folder else f"{self._folder}/{where}"

    def _expanded(self, word: str) -> list[str]:
        """All that a word can be."""
        return [_with(word, values) for values in self._settings([word])]

    def _settings(self, words: Sequence[str]) -> list[Mapping[str, str]]:
        """Every way in which the variables of the words can be set together."""
        used = dict.fromkeys(m[1] or m[2] for word in words for m in _VARIABLE.finditer(word) if m[1] or m[2])
        known = {name: values for name in used if (values := self._values.get(name)) is not None}
        count = 1
        for values in known.values():
            count *= len(values)
        if count > _MOST_COMBINATIONS:
            return [{}]
        return [dict(zip(known, chosen, strict=True)) for chosen in product(*known.values())]

    def _atk(self, words: list[str], line: int) -> Iterator[Command]:
        for place in range(len(words) - 1):
            if words[place].rsplit("/", 1)[-1] == "atk" and words[place + 1] in _FILES:
                break
        else:
            return
        memcheck = _runs_memcheck(words[:place])
        verb, rest = words[place + 1], words[place + 2 :]
        for values in self._settings(rest):
            told = [_with(word, values) for word in rest]
            tasks = _values(told, ("--task",))
            yield Command(
                verb=verb,
                files=_values(told, _FILES[verb]),
                node_files=_values(told, _NODES) if verb == "task" else (),
                plugins=_values(told, _PLUGINS),
                task=tasks[0] if tasks else None,
                memcheck=memcheck or "--mssanitizer" in told,
                line=line,
                folder=self._folder,
            )


def _with(word: str, values: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda m: values.get(m[1] or m[2] or "", ANYTHING), word)


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
