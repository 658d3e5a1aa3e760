"""Tables and modules that a plugin reads from near it: as data, of bounded size, and nothing from elsewhere."""

from __future__ import annotations

import ast
import os
import random
from pathlib import Path

import pytest
from shapes_builders import make_spec, tensor

from opscan.model import Plugin, Source
from opscan.shapes.draw import count_cases, draw_cases
from opscan.shapes.generator import Followed, Refusal, follow

HEAD = """import csv, json, os, sys, yaml
from pathlib import Path
from atk.case_generator.generator.base_generator import CaseGenerator
from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY
"""
CLASS = """
@GENERATOR_REGISTRY.register("g")
class G(CaseGenerator):
    def after_case_config(self, c):
        c.inputs[1].shape = list(SHAPE)
        return c
"""
FOUND = {
    "json by with": 'with open(os.path.join(os.path.dirname(__file__), "t.json"), encoding="utf-8") as f:\n'
    '    SHAPE = json.load(f)["shape"]\n',
    "json by path": 'SHAPE = json.loads((Path(__file__).resolve().parent / "t.json").read_text())["shape"]\n',
    "yaml": 'SHAPE = yaml.safe_load(Path(__file__).with_name("t.yaml").open())["shape"]\n',
    "csv": 'with open(Path(__file__).parent / "t.csv") as f:\n'
    '    SHAPE = [int(row["n"]) for row in csv.DictReader(f)]\n',
    "module in a folder that is added": 'sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))\n'
    "from shared_tables import SHAPE\n",
    "module of a package above": "from kit.inner.tables import SHAPE\n",
}
REFUSED = {
    "relative to where ATK runs": ('SHAPE = json.load(open("t.json"))\n', "relative to the folder in which ATK runs"),
    "not near": ('SHAPE = json.load(open("/etc/hostname"))\n', "does not lie near the plugin"),
    "a link to elsewhere": ('SHAPE = json.load(open(Path(__file__).parent / "link.json"))\n', "does not lie near"),
    "a pipe": ('SHAPE = json.load(open(Path(__file__).parent / "pipe.json"))\n', "no regular file"),
    "too large": ('SHAPE = json.load(open(Path(__file__).parent / "large.json"))\n', "no regular file of at most"),
    "written": ('SHAPE = open(Path(__file__).parent / "new.json", "w")\n', "anything but reading"),
    "environment": ('SHAPE = [2] if os.environ.get("WIDE") else [3]\n', "os.environ"),
}


def follow_in(folder: Path, text: str) -> Followed | Refusal:
    spec = make_spec(tensor("x"), tensor("y"), generate="g")
    drawn = draw_cases(spec, 4, random.Random(1))
    source = HEAD + text + CLASS
    plugin = Plugin(Source(folder / "gen.py", source), ("g",), (), ast.parse(source))
    return follow(plugin, spec, drawn, count_cases(spec), 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "a" / "b" / "root" / "atk" / "op"
    place.mkdir(parents=True)
    (place / "t.json").write_text('{"shape": [3, 5]}')
    (place / "t.yaml").write_text("shape: [3, 5]\n")
    (place / "t.csv").write_text("n,m\n3,x\n5,y\n")
    (place / "large.json").write_text(" " * (1 << 20) + "[1]")
    (place / "link.json").symlink_to("/etc/hostname")
    os.mkfifo(place / "pipe.json")
    for module in (place.parent / "common" / "shared_tables.py", place.parents[1] / "kit" / "inner" / "tables.py"):
        module.parent.mkdir(parents=True)
        module.write_text("SHAPE = (3, 5)\n")
    return place


@pytest.mark.parametrize("title", FOUND)
def test_read(folder: Path, title: str) -> None:
    followed = follow_in(folder, FOUND[title])
    assert isinstance(followed, Followed), followed
    assert {case.inputs[1].shape for case in followed.cases} == {(3, 5)}


@pytest.mark.parametrize("title", REFUSED)
def test_refused(folder: Path, title: str) -> None:
    before = sorted(folder.iterdir())
    text, reason = REFUSED[title]
    followed = follow_in(folder, text)
    assert isinstance(followed, Refusal), followed
    assert reason in followed.reason
    assert sorted(folder.iterdir()) == before


def test_a_module_in_two_folders_above_is_not_chosen(folder: Path) -> None:
    again = folder.parent / "kit" / "inner" / "tables.py"
    again.parent.mkdir(parents=True)
    again.write_text("SHAPE = (9, 9)\n")
    followed = follow_in(folder, FOUND["module of a package above"])
    assert isinstance(followed, Refusal)
    assert "lies in 2 of the folders above" in followed.reason


def test_what_such_a_golden_computes_is_not_kept_for_the_next_run() -> None:
    """The key of a kept answer holds the texts that imports name, not the tables that code opens."""
    from opscan.pyread.neighbours import READS_FILES

    for title, text in FOUND.items():
        assert bool(READS_FILES.search(HEAD + text)) == (title not in ("module of a package above",)), title
