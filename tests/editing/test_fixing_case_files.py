"""Fixing case files in every style of writing; bad input is told with its place."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from opscan.cli import cli
from opscan.data import data_path

WHERE = data_path("catalog", "1000", "result", "torch.where_backward", "json", "all_torch.where_backward.json")
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

STYLES = {
    "as-is": lambda text: text,
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "cr": lambda text: text.replace("\n", "\r"),
    "no-final-line-end": lambda text: text.rstrip("\n"),
    "bom": lambda text: "\ufeff" + text,
    "one-line": lambda text: json.dumps(json.loads(text)),
    "compact": lambda text: json.dumps(json.loads(text), separators=(",", ":")),
    "not-ascii": lambda text: text.replace('"id"', '"备注": "逐位一致 😀", "id"'),
    "tabs": lambda text: json.dumps(json.loads(text), indent="\t"),
    "duplicate-keys": lambda text: text.replace('"standard"', '"standard": {"acc": "x"}, "standard"', 30),
    "escaped": lambda text: text.replace('"standard"', '"st\\u0061ndard"', 20),
}


def run(*arguments: object) -> Any:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], standalone_mode=False)


def text_of(style: str) -> bytes:
    text = WHERE.read_bytes().decode("utf-8").replace("\r\n", "\n")
    return bytes(STYLES[style](text).encode("utf-8"))


@needs_git
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", ["x.json", "用例 one.json"])
def test_the_diff_is_what_write_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, style: str, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    path.write_bytes(text_of(style))
    shown = run("fix", "--unsafe", name)
    assert shown.return_value == 1, shown.output
    command = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(command, input=shown.stdout_bytes, check=True, capture_output=True, timeout=20)
    applied = path.read_bytes()
    path.write_bytes(text_of(style))
    assert run("fix", "--unsafe", name, "--write").return_value == int(style == "duplicate-keys")
    assert path.read_bytes() == applied != text_of(style)
    assert run("fix", "--unsafe", name, "--write").return_value == int(style == "duplicate-keys")
    assert path.read_bytes() == applied
    assert os.listdir(tmp_path) == [name]
    if style not in ("duplicate-keys", "escaped"):
        before, after = json.loads(text_of(style).decode("utf-8-sig")), json.loads(applied.decode("utf-8-sig"))
        changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
        assert changed
        assert all({**old, "standard": new["standard"]} == new for old, new in changed)


BROKEN = {
    "cut in a case": lambda text: text[:5000],
    "cut in a text": lambda text: text[: text.index('"fp32"', 6000) + 3],
    "cut behind a comma": lambda text: text[: text.index("},\n", 9000) + 2],
    "a comma too many": lambda text: text.rstrip()[:-1].rstrip() + ",]",
    "no comma": lambda text: text.replace("},\n  {", "}\n  {"),
    "more behind the end": lambda text: text + "[]",
    "nested too deeply": lambda text: text.rstrip()[:-1] + "," + "[" * 100_000,
    "a number too long": lambda text: text.replace('"id": 7', '"id": 7' + "7" * 5000),
    "not UTF-8": lambda text: text,
    "numbers of no kind": lambda text: text.replace("-5", "NaN", 3).replace(" 5", " -Infinity", 3),
    "wrong types": lambda text: text.replace('"shape": [', '"shape": [null, ', 5).replace(
        '"backward": true', '"backward": 1', 9
    ),
    "the same id": lambda text: text.replace('"id": 1', '"id": 0'),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_bad_input_is_told(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.json"
    data = BROKEN[kind](json.dumps(json.loads(WHERE.read_bytes()), indent=2) + "\n").encode("utf-8")
    path.write_bytes(data[:7000] + b"\xff" + data[7000:] if kind == "not UTF-8" else data)
    done = run("audit", path, "--format", "json")
    assert done.exception is None, done.output
    found = json.loads(done.stdout)["findings"]
    told = [finding for finding in found if finding["rule"].startswith("OPS0")]
    if kind != "numbers of no kind":
        assert told
        assert all(finding["line"] > 1 or finding["column"] >= 1 for finding in told)
        assert len(told) <= 3  # findings of one kind are one


@pytest.mark.parametrize("kind", ["cut in a case", "more behind the end", "no comma"])
def test_what_is_no_json_is_never_edited(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.json"
    text = BROKEN[kind](json.dumps(json.loads(WHERE.read_bytes()) * 60, indent=2) + "\n")
    path.write_text(text, encoding="utf-8")
    done = run("fix", "--unsafe", "--write", path)
    assert "0 edits in 0 files made" in done.output
    assert path.read_text(encoding="utf-8") == text
