"""The edit of a generator plugin that has it choose the standard per case.

libcst writes the new statements in the file's own indentation and line ends, and leaves every other character alone.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

from opscan.editing.generators import GeneratorClass, NotEditableError, class_index, inserted
from opscan.model import Edit, Source

_ONE_LINE = 88


def choose_per_case(source: Source, generator: str, otherwise: Any, tensors: str = "") -> Edit | str:
    """The edit after which `after_case_config` sets `equal` where all tensors have one shape, and else `otherwise`.

    `tensors`: a list of them as Python text, with `{case}` for the case; else the inputs of type tensor.

    Afterwards the module's statements are the same but for `value`, as Python text, at the index `where` of the hook.
    """
    try:
        place = GeneratorClass(source, generator)
        hook, position, parameter = place.hook()
        text = _choice_text(parameter, otherwise, tensors)
        where = ("body", place.index, "body", place.node.body.index(hook), "body", position)
        return inserted(source, place.with_statement_in_hook(text), where, text)
    except NotEditableError as error:
        return str(error)


def sets_standard(tree: ast.Module, generator: str) -> bool:
    """Whether the class of a generator gives single cases a standard of their own."""
    try:
        node = tree.body[class_index(tree, generator)]
    except NotEditableError:
        return False
    return any(isinstance(part, ast.Attribute) and part.attr == "standard" for part in ast.walk(node))


# -- what is written ---------------------------------------------------------------------------------------------------


def _choice_text(case: str, otherwise: Any, tensors: str) -> str:
    given = tensors.format(case=case) if tensors else f'{case}.inputs if given.type == "tensor"'
    shapes = f"{{tuple(given.shape) for given in {given}}}"
    return (
        f"if len({shapes}) == 1:\n"
        f'    {case}.standard.acc = "equal"\n'
        "else:\n"
        f"    {case}.standard.acc = {_literal(otherwise, 4)}\n"
    )


def _literal(value: Any, indent: int) -> str:
    """A value as Python text; mappings that do not fit on a line take one line per key."""
    if not isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
    items = [f"{_literal(key, 0)}: {_literal(item, indent + 4)}" for key, item in value.items()]
    line = "{" + ", ".join(items) + "}"
    if len(line) + indent <= _ONE_LINE and "\n" not in line:
        return line
    inner = "".join(f"{' ' * (indent + 4)}{item},\n" for item in items)
    return "{\n" + inner + " " * indent + "}"
