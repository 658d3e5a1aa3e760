"""What a Python file means, told by its statements, and whether an edited file has just the intended ones more."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from opscan.model import Edit


class UnreadablePythonError(Exception):
    """A text that Python refuses, or that does not mean what its edits intend; the message says why."""


def read_statements(text: str) -> ast.Module:
    """The syntax tree of a file. Raises UnreadablePythonError."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise UnreadablePythonError(f"line {error.lineno}: Python cannot parse the file: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise UnreadablePythonError("Python cannot parse the file") from None


def check_inserted(before: str, after: str, edits: Sequence[Edit]) -> None:
    """Raise UnreadablePythonError unless `after` is `before` with the statements of the edits at their places.

    `where` of an edit leads through fields and indices to the place in a body (`("body", 2, "body", 0)`), and `value`
    is the text of what is put in there.
    """
    intended = read_statements(before)
    # From the last place to the first, so that earlier insertions move no later ones.
    for edit in sorted(edits, key=lambda edit: [part for part in edit.where if isinstance(part, int)], reverse=True):
        _insert(intended, edit)
    try:
        same = ast.dump(intended) == ast.dump(read_statements(after))
    except RecursionError:
        raise UnreadablePythonError("the file is nested too deeply") from None
    if not same:
        raise UnreadablePythonError("the file would not mean what the edit intends, or something else would change")


def _insert(tree: ast.Module, edit: Edit) -> None:
    node: object = tree
    for part in edit.where[:-1]:
        if isinstance(part, str):
            node = getattr(node, part, None)
        else:
            node = node[part] if isinstance(node, list) and part < len(node) else None
    place = edit.where[-1] if edit.where else None
    if not isinstance(node, list) or not isinstance(place, int) or not 0 <= place <= len(node):
        raise UnreadablePythonError(f"there is no place {edit.where}")
    node[place:place] = read_statements(str(edit.value)).body
