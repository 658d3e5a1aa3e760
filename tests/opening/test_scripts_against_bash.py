"""What is read of a run script is held against bash: every command that it runs is among those that were read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from opscan.model import HERE, Command, Source
from opscan.reading.scripts import read_script

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")

STUB = "atk() { local IFS=$'\\t'; printf '%s\\t%s\\n' \"$PWD\" \"$*\" >&9; }\n"
NAMES = st.sampled_from(["s", "op", "task", "out"])
WORDS = st.sampled_from(["torch.add", "x", "accuracy", "accuracy_dc", "res", "n.yaml"])
USES = st.sampled_from(
    ["$s", "${op}", "$task", "${out}", "$s/$op", "all_$s.json", "${s%x}", "$(echo x)", "$1", "$2/$1", "*.yaml"]
)


def quoted(word: str) -> st.SearchStrategy[str]:
    return st.sampled_from([f'"{word}"', f"'{word}'"] if " " in word else [word, f'"{word}"', f"'{word}'"])


VALUE = st.one_of(WORDS.flatmap(quoted), USES.map(lambda use: f'"{use}"'), USES.filter(lambda use: "*" not in use))
ASSIGNMENT = st.tuples(NAMES, VALUE).map("=".join)
CASE = st.tuples(VALUE, VALUE).map(lambda two: f"atk case -f {two[0]} -p {two[1]}")
TASK = st.tuples(VALUE, VALUE, VALUE).map(
    lambda three: f"atk task -c {three[0]} \\\n    -n {three[1]} --task {three[2]}"
)
FOLDER = st.sampled_from(
    [
        "cd one",
        "cd ..",
        'cd "$(dirname "$0")"',
        "cd one/two",
        'cd "$(dirname "$0")/one"',
        "cd $out",
        'root="$(cd "$(dirname "$0")/one" && pwd)"',
        'cd "$root"',
    ]
)
SIMPLE = st.one_of(ASSIGNMENT, CASE, TASK, FOLDER, st.just("# atk case -f old.yaml"), st.just("set -e; true"))


def blocks(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    loop = st.tuples(NAMES, st.lists(WORDS.flatmap(quoted), min_size=1, max_size=3), inner).map(
        lambda three: [f"for {three[0]} in {' '.join(three[1])}; do", *three[2], "done"]
    )
    branch = inner.map(lambda body: ['if [ -n "$s" ]; then', *body, "fi"])
    function = st.tuples(inner, VALUE).map(lambda two: ["work() {", *two[0], "}", f"work {two[1]}"])
    later = inner.map(lambda body: ["later()", "{", *body, "}", "s=y", "later one two"])
    return st.one_of(st.lists(SIMPLE, min_size=1, max_size=3), loop, branch, function, later)


SCRIPTS = st.lists(
    st.recursive(st.lists(SIMPLE, min_size=1, max_size=3), blocks, max_leaves=4), min_size=1, max_size=4
).map(lambda parts: "\n".join(line for part in parts for line in part) + "\n")


def ran(text: str, folder: Path) -> list[tuple[str, list[str]]]:
    """Where bash was and what it was told, for every call of atk."""
    (folder / "one" / "two").mkdir(parents=True, exist_ok=True)
    script, told = folder / "run.sh", folder / "told"
    script.write_text("#!/bin/bash\nset -e\n" + STUB + text)
    with told.open("wb") as stream:
        handle = stream.fileno()
        subprocess.run(
            ["bash", "-c", f'exec 9>&{handle}; exec bash "$0"', str(script)], cwd=folder, pass_fds=[handle],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20, check=False,
        )  # fmt: skip
    lines = [line.split("\t") for line in told.read_text().splitlines()]
    return [(os.path.relpath(where, folder), words) for where, *words in lines if len(words) > 1]


def option(words: Sequence[str], names: Sequence[str]) -> list[str]:
    taken, taking = [], False
    for word in words:
        if word.startswith("-"):
            taking = word in names
        elif taking:
            taken.append(word)
    return taken


def fits(written: Sequence[str], actual: Sequence[str]) -> bool:
    """Whether what was read stands for what was told: `**` for any text, and for none at all."""
    pattern = " ".join(".*".join(map(re.escape, word.split("**"))) for word in written)
    if any("**" in word for word in written):
        return re.fullmatch(f"{pattern}( .*)?".replace(" ", " ?"), " ".join(actual)) is not None
    return list(written) == list(actual)


def settled(command: Command, folder: Path) -> Command:
    """The command with the script's folder for what stands for it."""

    def put(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(text.replace(HERE, str(folder)) for text in texts)

    gone = (
        None if command.folder is None else os.path.relpath(folder / command.folder.replace(HERE, str(folder)), folder)
    )
    return replace(
        command, folder=gone, files=put(command.files), node_files=put(command.node_files), plugins=put(command.plugins)
    )


def covers(command: Command, where: str, words: Sequence[str]) -> bool:
    files = option(words, ("-f",) if words[0] == "case" else ("-c",))
    return (
        command.verb == words[0]
        and (command.folder is None or command.folder == where)
        and fits(command.files, files)
        and fits(command.node_files, option(words, ("-n",)) if words[0] == "task" else [])
        and fits(command.plugins, option(words, ("-p",)))
        and fits([command.task] if command.task else [], option(words, ("--task",))[:1])
    )


@settings(max_examples=60, deadline=None)
@given(SCRIPTS)
@example('for s in a b; do\nop="x_$s"\natk case -f "$op" -p p\ndone\natk case -f $s -p p\n')
@example("s=x\nwork() {\ns=$1\n}\nwork y\natk case -f $s -p p\n")
@example('cd one\nif [ -n "" ]; then\ncd two\nfi\natk case -f x -p p\n')
@example('if [ -n "" ]; then\ns=x\nfi\natk case -f "a$s" -p p\n')
def test_every_command_that_bash_runs_is_read(text: str) -> None:
    read = read_script(Source(Path("run.sh"), "#!/bin/bash\n" + text))
    commands = read.commands if read else ()
    with tempfile.TemporaryDirectory() as made:
        for where, words in ran(text, Path(made)):
            found = [settled(command, Path(made)) for command in commands]
            assert any(covers(command, where, words) for command in found), (where, words, found)


ODD = [
    "atk ",
    "case ",
    "-f",
    "$",
    "{",
    "}",
    "(",
    ")",
    '"',
    "'",
    "\\\n",
    "\n",
    ";",
    "for ",
    "in ",
    "done",
    "`",
    "#",
    "x=",
    " ",
]


@given(st.lists(st.sampled_from(ODD), max_size=60).map("".join))
def test_no_text_is_too_odd(text: str) -> None:
    read_script(Source(Path("run.sh"), text))
