"""Run scripts: the `atk case` and `atk task` lines of a shell script, which tie specs, plugins and nodes together.

Of the shell only that is followed which decides which files a command names: constants, loops over constants, `cd`.
What may or may not run (branches, functions) leaves what it sets unknown. An unknown part of a name stands as `**`: any
text, slashes included.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from opscan.model import ANYTHING, HERE, Command, RunScript, Source

_HERE = re.compile(
    r"\$\(\s*dirname\s+(?:--\s+)?\"?\$\{?(?:0|BASH_SOURCE(?:\[0\])?)\}?\"?\s*\)|\$\{(?:0|BASH_SOURCE(?:\[0\])?)%/\*\}"
)
"""The folder of the script itself."""
_GONE_TO = re.compile(r"\$\(\s*cd\s+\"?([." + HERE + r"][\w./-]{0,200})\"?\s*(?:&&|;)\s*pwd(?:\s+-P)?\s*\)")
_SUBSTITUTION = re.compile(r"\$\([^()\n]{0,200}\)|`[^`\n]{0,200}`")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})|\$\{[^}]{0,200}\}|\$[@*#?!-]?")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_OPERATORS = frozenset(";&|()")
_BEFORE = frozenset(
    ("do", "then", "else", "elif", "if", "while", "until", "time", "!", "{", "export", "local", "declare")
)
_LOOPS = frozenset(("for", "while", "until"))
_MAYBE = frozenset(("if", "while", "until", "case", "{"))
"""What begins a part that may run once, often or never."""
_OUT = frozenset(("fi", "esac", "}"))
_FILES = {"case": ("-f", "--file"), "task": ("-c", "--case")}
_PLUGINS = ("-p", "--plugin")
_NODES = ("-n", "--node")
_MOST_STEPS = 20_000
_MOST_CALLS = 8
_POSITIONS = tuple("123456789")
_LONGEST_LINE = 1 << 16


class _Simple(NamedTuple):
    """One simple command: the operator before it, its words, its line."""

    operator: str
    words: list[str]
    line: int


class _Function(NamedTuple):
    """`first`: what stands behind its brace; `start` and `end`: the commands of its body."""

    name: str
    first: list[str]
    line: int
    start: int
    end: int


def read_script(source: Source) -> RunScript | None:
    """The ATK commands of a script, in order; None where it has none."""
    if "atk" not in source.text:
        return None
    shell = _Shell([one for number, line in _logical_lines(source.text) for one in _simple_commands(line, number)])
    shell.run(0, len(shell.script))
    shell.run_uncalled()
    return RunScript(source, tuple(dict.fromkeys(shell.commands))) if shell.commands else None


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with those that continue them, numbered by where they begin; what is longer than any script is left out."""
    number = 1
    for line in re.split(r"(?<!\\)\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        if len(line) <= _LONGEST_LINE:
            replaced = _GONE_TO.sub(r"\1", _HERE.sub(HERE, line.replace("\\\n", " ")))
            yield number, _SUBSTITUTION.sub("${?}", _SUBSTITUTION.sub("${?}", replaced))
        number += 1 + line.count("\n")


def _simple_commands(line: str, number: int) -> list[_Simple]:
    """The commands of one logical line, split at shell operators; comments are dropped."""
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
    commands = [_Simple("", [], number)]
    for word in words:
        if word != "()" and word and _OPERATORS.issuperset(word):
            commands.append(_Simple(word, [], number))
        else:
            commands[-1].words.append(word)
    return [command for command in commands if command.words or "(" in command.operator or ")" in command.operator]


class _Shell:
    """What a script has said so far: the values of its variables (None: nobody knows), and where it has gone to."""

    def __init__(self, script: Sequence[_Simple]) -> None:
        self.commands: list[Command] = []
        self.script = script
        self._values: dict[str, str | None] = {}
        self._folder: str | None = ""
        self._maybe = 0
        self._outside: list[tuple[dict[str, str | None], str | None]] = []
        self._steps = 0
        self._functions: dict[str, _Function] = {}
        self._called: set[str] = set()
        self._calls = 0
        self._settings = Counter(name for one in script for name in _names_set(one.words))

    def run(self, at: int, end: int) -> None:
        """Follow the commands from one place to another."""
        while at < end and self._steps < _MOST_STEPS:
            self._steps += 1
            at = self._step(at, end)

    def _step(self, at: int, end: int) -> int:
        """Follow one command; the place of the next one."""
        operator, words, line = self.script[at]
        for mark in operator:
            if mark == "(":
                self._outside.append((dict(self._values), self._folder))
            elif mark == ")" and self._outside:
                self._values, self._folder = self._outside.pop()
        if (function := _function_at(self.script, at, end)) is not None:
            self._functions[function.name] = function
            return function.end + 1
        unsure = operator == "||"
        self._maybe += unsure
        words = self._opened(words)
        if words[:1] == ["for"] and len(words) > 2 and words[2] == "in":
            done = _end_of_loop(self.script, at, end)
            self._loop(words[1], words[3:], at + 1, done)
            at = done
        elif words:
            self._simple(words, line)
        self._maybe -= unsure
        return at + 1

    def _opened(self, words: list[str]) -> list[str]:
        """The command behind the words that open something."""
        while words and (words[0] in _BEFORE or words[0] == "function" or words[1:2] == ["()"]):
            self._maybe += words[0] in _MAYBE
            words = words[1 if words[0] in _BEFORE else 2 :]
        if words and words[0] in ("case", "select"):
            self._maybe += words[0] == "case"
            return []
        return words

    def _simple(self, words: list[str], line: int) -> None:
        if words[0] in _OUT or words[0] == "done":
            self._maybe = max(0, self._maybe - 1)
        elif words[0] in self._functions:
            self._call(self._functions[words[0]], words[1:])
        elif words[0] in ("cd", "pushd", "popd"):
            self._go(words[1:])
        elif words[0] == "shift":
            self._values.update(dict.fromkeys(_POSITIONS))
        elif words[0] in ("read", "source", ".", "eval", "unset", "getopts", "mapfile"):
            self._values = dict.fromkeys(self._values)
        elif all(_ASSIGNMENT.fullmatch(word) for word in words):
            for word in words:
                name, _, value = word.partition("=")
                self._assign(name.rstrip("+"), _constant(self._with(value)))
        else:
            self.commands += self._atk(words, line)

    def _call(self, function: _Function, words: Sequence[str]) -> None:
        """The body of a function, with what it is given."""
        self._called.add(function.name)
        if self._calls >= _MOST_CALLS:
            self._values = dict.fromkeys(self._values)
            return
        before = {name: self._values.get(name) for name in _POSITIONS}
        given = [_constant(self._with(word)) for word in words]
        self._values.update(dict.fromkeys(_POSITIONS) | dict(zip(_POSITIONS, given, strict=False)))
        self._calls += 1
        self._body(function)
        self._calls -= 1
        self._values.update(before)

    def _body(self, function: _Function) -> None:
        words = self._opened(function.first)
        if words:
            self._simple(words, function.line)
        self.run(function.start, function.end)

    def run_uncalled(self) -> None:
        """The functions that nothing here calls: the command line may name one."""
        self._maybe += 1
        for name in [name for name in self._functions if name not in self._called]:
            self._values.update(dict.fromkeys(_POSITIONS))
            self._body(self._functions[name])
        self._maybe -= 1

    def _loop(self, name: str, words: Sequence[str], at: int, end: int) -> None:
        """The body once for each value; once with an unknown one where the values are not constants."""
        values = [_constant(self._with(word)) for word in words]
        if not values or None in values:
            self._assign(name, None)
            self._maybe += 1
            self.run(at, end)
            self._maybe -= 1
            return
        for value in values:
            self._assign(name, value)
            self.run(at, end)

    def _assign(self, name: str, value: str | None) -> None:
        """Where it may or may not run, a variable has its new value or its old one, and so an unknown one."""
        self._values[name] = None if self._maybe and self._values.get(name) != value else value

    def _go(self, words: Sequence[str]) -> None:
        where = self._with(words[0]) if words else ANYTHING
        if self._maybe or ANYTHING in where or where.startswith(("~", "-")) or self._folder is None:
            self._folder = None
        else:
            anew = where.startswith(("/", HERE)) or not self._folder
            self._folder = where if anew else f"{self._folder}/{where}"

    def _atk(self, words: list[str], line: int) -> Iterator[Command]:
        for place in range(len(words) - 1):
            if words[place].rsplit("/", 1)[-1] == "atk" and words[place + 1] in _FILES:
                break
        else:
            return
        memcheck = _runs_memcheck(words[:place])
        verb, rest = words[place + 1], [self._with(word) for word in words[place + 2 :]]
        tasks = _values(rest, ("--task",))
        yield Command(
            verb=verb,
            files=_values(rest, _FILES[verb]),
            node_files=_values(rest, _NODES) if verb == "task" else (),
            plugins=_values(rest, _PLUGINS),
            task=tasks[0] if tasks else None,
            memcheck=memcheck or "--mssanitizer" in rest,
            line=line,
            folder=self._folder,
        )

    def _with(self, word: str) -> str:
        """A word with the values of its variables."""
        return _VARIABLE.sub(lambda m: self._value(m[1] or m[2] or ""), word)

    def _value(self, name: str) -> str:
        value = self._values.get(name)
        # what a function sees depends on where it is called
        return ANYTHING if value is None or (self._maybe and self._settings[name] > 1) else value


def _function_at(script: Sequence[_Simple], at: int, end: int) -> _Function | None:
    """The function that a command begins to define."""
    words = script[at].words
    if words[:1] == ["function"]:
        words = words[1:]
    elif words[1:2] != ["()"]:
        return None
    name, rest = words[0] if words else "", [word for word in words[1:] if word != "()"]
    start = at + 1
    if not rest and start < end:
        rest, start = script[start].words, start + 1
    if not name or rest[:1] != ["{"]:
        return None
    depth = 1
    for place in range(start, end):
        head = script[place].words
        depth += head.count("{") - (head[:1] == ["}"])
        if depth == 0:
            return _Function(name, rest[1:], script[at].line, start, place)
    return None


def _names_set(words: Sequence[str]) -> Iterator[str]:
    for place, word in enumerate(words):
        if (match := _ASSIGNMENT.fullmatch(word)) is not None:
            yield match[1]
        elif word == "for" and place + 1 < len(words):
            yield words[place + 1]


def _constant(text: str) -> str | None:
    return None if "*" in text or "?" in text else text


def _end_of_loop(script: Sequence[_Simple], at: int, end: int) -> int:
    """The place of the `done` of a loop, or the end where there is none."""
    depth = 0
    for place in range(at, end):
        for word in script[place].words:
            if word not in _BEFORE and word not in _LOOPS and word != "done":
                break
            depth += (word in _LOOPS) - (word == "done")
            if depth == 0:
                return place
            if word == "for":
                break
    return end


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
