"""Calls to start from, as text: `--from` takes lists of these beside folders."""

from __future__ import annotations

import math
from pathlib import Path

import click
import pytest

from opscan.cataloguing import starts


def test_a_list_gives_calls_and_everything_else_stays_a_folder(tmp_path: Path) -> None:
    listed = tmp_path / "calls.txt"
    listed.write_text("# a remark\n\naclnnMuls | self=fp32[4,6] other=2.0 | select-only\naclnnRelu | self=fp16[3]\n")
    folders, cases = starts([tmp_path, listed])
    assert folders == [tmp_path]
    assert [(case.name, [given.name for given in case.inputs]) for case in cases] == [
        ("aclnnMuls", ["self", "other"]),
        ("aclnnRelu", ["self"]),
    ]


def test_a_line_that_is_no_call_is_named(tmp_path: Path) -> None:
    listed = tmp_path / "calls.txt"
    listed.write_text("aclnnRelu | self=fp16[3]\naclnnRelu | self=fp99[3]\n")
    with pytest.raises(click.UsageError, match=r"calls\.txt:2: .*fp99"):
        starts([listed])


def test_a_list_that_is_no_text_is_refused(tmp_path: Path) -> None:
    listed = tmp_path / "calls.txt"
    listed.write_bytes(b"aclnnRelu | self=fp16[3]\n\xff\xfe")
    with pytest.raises(click.UsageError, match=r"calls\.txt: "):
        starts([listed])


def test_numbers_of_another_kind_are_started_from_too() -> None:
    pytest.importorskip("torch")
    from opscan.numerics.binding import Binding
    from opscan.numerics.paths.seeds import of_other_kinds

    call = Binding((2,), {"p": math.inf, "eps": 0.25, "flag": True})
    assert [(other.args, dict(other.kwargs)) for other in of_other_kinds(call)] == [
        ((2.75,), {"p": math.inf, "eps": 0.25, "flag": True}),
        ((2,), {"p": math.inf, "eps": 0, "flag": True}),
    ]
