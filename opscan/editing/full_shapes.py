"""The generator of a broadcast-free twin: a class in the plugin of its spec's generator, or a plugin of its own.

It gives the tensors that were broadcast the shape that all tensors of the case broadcast to.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from opscan.editing.generators import HOOK, GeneratorClass, NotEditableError, class_index, inserted, own_parts
from opscan.editing.statements import UnreadablePythonError, read_statements
from opscan.model import Edit, Source

CASE = "case_config"
_PLAIN_NAME = re.compile(r"\w[\w.-]{0,40}")
_IMPORTS = (
    "from atk.case_generator.generator.base_generator import CaseGenerator\n"
    "from atk.case_generator.generator.generate_types import GENERATOR_REGISTRY\n"
)


@dataclass(frozen=True, slots=True)
class Together:
    """Tensors that are broadcast with each other, as Python text.

    `tensors` is the list of them, `changed` those that take the full shape. `by_member`: they are lists, of which the
    first members go together, the second ones, and so on; `changed` are then places in such a group (`tensors[1]`).
    """

    tensors: str
    changed: tuple[str, ...]
    by_member: bool = False


@dataclass(frozen=True, slots=True)
class FullShapes:
    """A generator `name` that runs as `generator` does and then gives some inputs, called `names`, the full shape."""

    generator: str
    name: str
    names: tuple[str, ...]
    together: tuple[Together, ...]


def add_full_shapes(source: Source, wanted: FullShapes) -> Edit | str:
    """The edit that adds the generator after the class it derives from, or the reason why none can be given.

    Afterwards the module's statements are the same, and `value`, as Python text, stands at the index `where`.
    """
    try:
        place = GeneratorClass(source, wanted.generator)
        for name in {wanted.name, _class_name(place, wanted)}:
            if place.taken(name):
                raise NotEditableError(f"the file has something called `{name}` already")
        text = _derived(place, wanted)
        return inserted(source, place.with_class_after(text), ("body", place.index + 1), text)
    except NotEditableError as error:
        return str(error)


def has_full_shapes(source: Source, wanted: FullShapes) -> bool:
    """Whether the generator is there already, but for what its comments and its docstring say."""
    try:
        place = GeneratorClass(source, wanted.generator)
        return _has_class(place.tree, wanted.name, _derived(place, wanted))
    except NotEditableError:
        return False


def full_shapes_plugin(wanted: FullShapes, about: str) -> str:
    """A plugin with the generator alone, for the spec called `about`, which has no generator of its own."""
    return f"{_IMPORTS}\n\n{_alone(wanted, about)}"


def is_full_shapes_plugin(source: Source, wanted: FullShapes) -> bool:
    """Whether a file has the generator of `full_shapes_plugin`, but for what its comments and its docstring say."""
    try:
        return _has_class(read_statements(source.text), wanted.name, _alone(wanted, ""))
    except (UnreadablePythonError, NotEditableError):
        return False


# -- what is written ---------------------------------------------------------------------------------------------------


def _derived(place: GeneratorClass, wanted: FullShapes) -> str:
    registration, base = place.registration(), place.node.name
    decorator = f"@{registration}({json.dumps(wanted.name, ensure_ascii=False)})\n" if registration else ""
    changed = f"super().{HOOK}({CASE})" + ("" if _returns_case(place.node) else f" or {CASE}")
    return (
        f"{decorator}class {_class_name(place, wanted)}({base}):\n"
        f'    """{base} without a broadcast: {_taken(wanted.names)}, so that bits can be compared."""\n'
        "\n"
        f"    def {HOOK}(self, {CASE}):\n"
        f"        {CASE} = {changed}\n"
        f"{_body(wanted)}"
    )


def _alone(wanted: FullShapes, about: str) -> str:
    words = re.findall(r"[^\W_]+", wanted.name)
    name = "".join(word[:1].upper() + word[1:] for word in words)
    shown = about if _PLAIN_NAME.fullmatch(about) else "The spec"
    return (
        f"@GENERATOR_REGISTRY.register({json.dumps(wanted.name, ensure_ascii=False)})\n"
        f"class {name if name.isidentifier() else 'NoBroadcast'}(CaseGenerator):\n"
        f'    """{shown} without a broadcast: {_taken(wanted.names)}, so that bits can be compared."""\n'
        "\n"
        f"    def {HOOK}(self, {CASE}):\n"
        f"{_body(wanted)}"
    )


def _body(wanted: FullShapes) -> str:
    return "".join(map(_group, wanted.together)) + f"        return {CASE}\n"


def _group(group: Together) -> str:
    head = f"for tensors in zip({group.tensors}):" if group.by_member else f"tensors = {group.tensors}"
    blanks = " " * (12 if group.by_member else 8)
    return (
        f"        {head}\n"
        f"{blanks}rank = max(len(given.shape) for given in tensors)\n"
        f"{blanks}aligned = [[1] * (rank - len(given.shape)) + list(given.shape) for given in tensors]\n"
        f"{blanks}full = [next((size for size in axis if size != 1), 1) for axis in zip(*aligned)]\n"
    ) + "".join(f"{blanks}{one}.shape = list(full)\n" for one in group.changed)


def _class_name(place: GeneratorClass, wanted: FullShapes) -> str:
    if place.registration():
        return f"{place.node.name}NoBroadcast"
    if not wanted.name.isidentifier():
        raise NotEditableError(
            f"`{place.node.name}` is registered by its class name, and `{wanted.name}` names no class"
        )
    return wanted.name


def _has_class(tree: ast.Module, generator: str, text: str) -> bool:
    written = tree.body[class_index(tree, generator)]
    return _without_docstring(written) == _without_docstring(ast.parse(text).body[0])


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


def _taken(names: Sequence[str]) -> str:
    """What becomes of the inputs; a name that is no plain one could end the docstring that it is written into."""
    shown = [f"`{name}`" if _PLAIN_NAME.fullmatch(name) else "another input" for name in names]
    if len(shown) == 1:
        return f"{shown[0]} takes the full shape"
    return f"{', '.join(shown[:-1])} and {shown[-1]} take the full shape"
