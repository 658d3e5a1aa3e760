"""The edits of generator plugins: a class that adds no broadcast, and the choice of a standard per case.

libcst writes the new statements in the file's own indentation and line ends, and leaves every other character alone.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opscan.editing.generators import HOOK, GeneratorClass, NotEditableError, class_index, own_parts
from opscan.model import Edit, Source

_ONE_LINE = 88
_PLAIN_NAME = re.compile(r"\w[\w.-]{0,40}")


@dataclass(frozen=True, slots=True)
class FullShapes:
    """A generator that runs as `generator` does and then gives some inputs the shape that all tensors broadcast to.

    `places`: positions of these inputs, `names` what they are called. `only_tensors`: the spec has nothing but tensors.
    """

    generator: str
    name: str
    places: tuple[int, ...]
    names: tuple[str, ...]
    only_tensors: bool


def add_full_shapes(source: Source, wanted: FullShapes) -> Edit | str:
    """The edit that adds the generator after the class it derives from, or the reason why none can be given.

    Afterwards the module's statements are the same, and `value`, as Python text, stands at the index `where`.
    """
    try:
        place = GeneratorClass(source, wanted.generator)
        for name in {wanted.name, _class_name(place, wanted)}:
            if place.taken(name):
                raise NotEditableError(f"the file has something called `{name}` already")
        text = _full_shapes_text(place, wanted)
        return _inserted(source, place.with_class_after(text), ("body", place.index + 1), text)
    except NotEditableError as error:
        return str(error)


def has_full_shapes(source: Source, wanted: FullShapes) -> bool:
    """Whether the generator is there already, but for what its comments and its docstring say."""
    try:
        place = GeneratorClass(source, wanted.generator)
        written = place.tree.body[class_index(place.tree, wanted.name)]
        meant = ast.parse(_full_shapes_text(place, wanted)).body[0]
    except NotEditableError:
        return False
    return _without_docstring(written) == _without_docstring(meant)


def choose_per_case(source: Source, generator: str, otherwise: Any) -> Edit | str:
    """The edit after which `after_case_config` sets `equal` where all tensors have one shape, and else `otherwise`.

    Afterwards the module's statements are the same but for `value`, as Python text, at the index `where` of the hook.
    """
    try:
        place = GeneratorClass(source, generator)
        hook, position, parameter = place.hook()
        text = _choice_text(parameter, otherwise)
        where = ("body", place.index, "body", place.node.body.index(hook), "body", position)
        return _inserted(source, place.with_statement_in_hook(text), where, text)
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


def _full_shapes_text(place: GeneratorClass, wanted: FullShapes) -> str:
    registration, base = place.registration(), place.node.name
    name = _class_name(place, wanted)
    decorator = f"@{registration}({json.dumps(wanted.name, ensure_ascii=False)})\n" if registration else ""
    changed = "super().after_case_config(case_config)" + ("" if _returns_case(place.node) else " or case_config")
    tensors = "case_config.inputs" if wanted.only_tensors else (
        '[given for given in case_config.inputs if given.type == "tensor"]')  # fmt: skip
    shaped = "".join(f"        case_config.inputs[{one}].shape = list(full)\n" for one in wanted.places)
    take = f"{_listed(wanted.names)} {'takes' if len(wanted.names) == 1 else 'take'} the full shape"
    return (
        f"{decorator}class {name}({base}):\n"
        f'    """{base} without a broadcast: {take}, so that bits can be compared."""\n'
        "\n"
        "    def after_case_config(self, case_config):\n"
        f"        case_config = {changed}\n"
        f"        tensors = {tensors}\n"
        "        rank = max(len(given.shape) for given in tensors)\n"
        "        aligned = [[1] * (rank - len(given.shape)) + list(given.shape) for given in tensors]\n"
        "        full = [next((size for size in axis if size != 1), 1) for axis in zip(*aligned)]\n"
        f"{shaped}"
        "        return case_config\n"
    )


def _class_name(place: GeneratorClass, wanted: FullShapes) -> str:
    if place.registration():
        return f"{place.node.name}NoBroadcast"
    if not wanted.name.isidentifier():
        raise NotEditableError(
            f"`{place.node.name}` is registered by its class name, and `{wanted.name}` names no class"
        )
    return wanted.name


def _without_docstring(node: ast.AST) -> str:
    body = getattr(node, "body", [])
    if isinstance(node, ast.ClassDef) and ast.get_docstring(node) is not None:
        body = body[1:]
    return ast.dump(ast.Module([ast.ClassDef(**{**dict(ast.iter_fields(node)), "body": body})], []))


def _returns_case(node: ast.ClassDef) -> bool:
    """Whether the class's hook surely returns a case; one that returns nothing has changed what it was given."""
    hooks = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == HOOK]
    if not hooks:
        return all(ast.unparse(base).rpartition(".")[2] == "CaseGenerator" for base in node.bases)
    last = hooks[0].body[-1]
    returns = [part for part in own_parts(hooks[0]) if isinstance(part, ast.Return)]
    return isinstance(last, ast.Return) and all(one.value is not None for one in returns)


def _listed(names: Sequence[str]) -> str:
    """The inputs in a sentence; what is no plain name could end the docstring that it is written into."""
    shown = [f"`{name}`" if _PLAIN_NAME.fullmatch(name) else "another input" for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _choice_text(case: str, otherwise: Any) -> str:
    shapes = f'{{tuple(given.shape) for given in {case}.inputs if given.type == "tensor"}}'
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


def _inserted(source: Source, new: str, where: tuple[str | int, ...], value: str) -> Edit:
    """The edit from the file's text to `new`, which must be an insertion."""
    old = source.text
    added = len(new) - len(old)
    start = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
    if added <= 0 or old[start:] != new[start + added :]:
        raise NotEditableError("the edit would change more than it adds")
    return Edit(start, start, new[start : start + added], where, value)
