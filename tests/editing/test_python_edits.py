"""Edits of Python files hold only where the statements that they name, and nothing else, are added."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opscan.editing import apply_edits
from opscan.model import Edit, Source

TEXT = "import a\n\n\nclass A:\n    def f(self):\n        x = 1\n        return x  # one\n\n\ny = 2\n"
IN_F = TEXT.index("        return")
INTO_F = ("body", 1, "body", 0, "body", 1)


def applied(*edits: Edit) -> tuple[str, list[str]]:
    edited = apply_edits(Source(Path("x.py"), TEXT), edits)
    return edited.text, [refusal.reason for refusal in edited.refused]


def test_what_is_named_is_added() -> None:
    into = Edit(IN_F, IN_F, "        x += 1\n", INTO_F, "x += 1")
    behind = Edit(len(TEXT), len(TEXT), "z = (3)\n", ("body", 3), "z = 3")
    first = Edit(0, 0, '"""What it is."""\n', ("body", 0), '"""What it is."""')
    text, reasons = applied(first, into, behind)
    assert reasons == []
    assert text == f'"""What it is."""\n{TEXT[:IN_F]}        x += 1\n{TEXT[IN_F:]}z = (3)\n'


INTENDED = "the file would not mean what the edit intends, or something else would change"
WRONG = [
    ("another value", Edit(IN_F, IN_F, "        x += 2\n", INTO_F, "x += 1"), INTENDED),
    ("another place", Edit(IN_F, IN_F, "        x += 1\n", (*INTO_F[:-1], 0), "x += 1"), INTENDED),
    ("something goes", Edit(IN_F, len(TEXT), "        x += 1\n", INTO_F, "x += 1"), INTENDED),
    ("it is more", Edit(IN_F, IN_F, "        x += 1; x += 1\n", INTO_F, "x += 1"), INTENDED),
    ("it is a comment", Edit(IN_F, IN_F, "        # x += 1\n", INTO_F, "x += 1"), INTENDED),
    ("no Python", Edit(IN_F, IN_F, "        x +=\n", INTO_F, "x += 1"), "line 7: Python cannot parse the file"),
    ("a value that is none", Edit(IN_F, IN_F, "        x += 1\n", INTO_F, "x +="), "Python cannot parse the file"),
    ("no such index", Edit(0, 0, "b = 1\n", ("body", 7), "b = 1"), "there is no place ('body', 7)"),
    ("no such body", Edit(0, 0, "b = 1\n", ("body", 0, "body", 0), "b = 1"), "there is no place"),
    ("no place", Edit(0, 0, "b = 1\n", (), "b = 1"), "there is no place ()"),
    ("a null byte", Edit(0, 0, "\0", ("body", 0), "b = 1"), "Python cannot parse the file"),
]


@pytest.mark.parametrize(("edit", "reason"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_anything_else_is_refused(edit: Edit, reason: str) -> None:
    text, reasons = applied(edit)
    assert text == TEXT
    assert [reason in told for told in reasons] == [True], reasons


@settings(max_examples=60)
@given(st.integers(0, len(TEXT)), st.text("x =1\n#\"':", max_size=8), st.integers(0, 3))
def test_no_edit_changes_what_it_does_not_name(start: int, text: str, index: int) -> None:
    """Whatever is put anywhere: it is refused, or the module has just that statement more."""
    import ast

    after, reasons = applied(Edit(start, start, text, ("body", index), "x = 1"))
    if after != TEXT:
        assert reasons == []
        body = ast.parse(after).body
        assert ast.dump(body.pop(index)) == ast.dump(ast.parse("x = 1").body[0])
        assert [ast.dump(part) for part in body] == [ast.dump(part) for part in ast.parse(TEXT).body]
