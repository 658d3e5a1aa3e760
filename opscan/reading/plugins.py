"""Plugins: Python files that register a generator or an executor. They are parsed, never run.

ATK cuts the registered name from the class's source text and takes the class name where it finds none; here the syntax
tree is read instead, so that aliased imports are understood too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opscan.model import Fault, Plugin, Source, Span
from opscan.reading.positions import Lines, span_at

if TYPE_CHECKING:
    import ast

_MENTIONS_PLUGIN = re.compile(r"CaseGenerator|BaseApi|\bregister\b")
_MEANT_AS_PLUGIN = re.compile(r"CaseGenerator|BaseApi|GENERATOR_REGISTRY|@\s*(?:[\w.]+\.)?register\s*\(")
_BASES = {"CaseGenerator": "generator", "BaseApi": "executor", "AclnnBaseApi": "executor"}
_GENERATOR_REGISTRY = "GENERATOR_REGISTRY"


def read_plugin(source: Source) -> Plugin | Fault | None:
    """The plugin of a Python file; None where it registers nothing, a fault where it cannot be parsed."""
    if _MENTIONS_PLUGIN.search(source.text) is None:
        return None
    tree = _parse(source)
    if isinstance(tree, Fault):
        return tree if meant_as_plugin(source.text) else None
    registered = _Registered(tree)
    if not registered.generators and not registered.executors:
        return None
    return Plugin(source, tuple(registered.generators), tuple(registered.executors), tree)


def meant_as_plugin(text: str) -> bool:
    return _MEANT_AS_PLUGIN.search(text) is not None


def _parse(source: Source) -> ast.Module | Fault:
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.text)
    except SyntaxError as error:
        return _syntax_fault(source.text, error)
    except (ValueError, RecursionError, MemoryError) as error:
        reason = "it holds a null byte" if isinstance(error, ValueError) else "it is nested too deeply"
        return Fault("python-syntax", f"Python cannot parse the file: {reason}", Span(0, 0, 1, 1, 1, 1))


def _syntax_fault(text: str, error: SyntaxError) -> Fault:
    line, column = error.lineno or 1, error.offset or 1
    start = min(Lines(text).offset(line, column), len(text))
    message = f"Python cannot parse the file: {error.msg}"
    if "print" in (error.msg or "") or re.search(r"except \w+(?:\.\w+)*, \w+:|^\s*exec ", error.text or ""):
        message += " (this is Python 2; ATK loads plugins with Python 3)"
    return Fault("python-syntax", message, span_at(text, start))


class _Registered:
    """The names that the classes of a module register."""

    def __init__(self, module: ast.Module) -> None:
        import ast

        self.generators: list[str] = []
        self.executors: list[str] = []
        self._origin: dict[str, str] = {}
        self._constants: dict[str, str] = {}
        self._roles: dict[str, str] = {}
        nodes = list(ast.walk(module))
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._origin.update({name.asname or name.name.split(".")[0]: name.name for name in node.names})
        for statement in module.body:
            self._note_constant(statement)
        classes = sorted((node for node in nodes if isinstance(node, ast.ClassDef)), key=lambda node: node.lineno)
        for node in classes:
            self._note_class(node)

    def _note_constant(self, statement: ast.stmt) -> None:
        import ast

        if not isinstance(statement, ast.Assign):
            return
        value = self._text(statement.value)
        if value is not None:
            self._constants.update({t.id: value for t in statement.targets if isinstance(t, ast.Name)})
        else:
            # A second name for a registry: `REG = GENERATOR_REGISTRY`.
            origin = self._last_name(statement.value)
            if origin in (_GENERATOR_REGISTRY, "register"):
                self._origin.update({t.id: origin for t in statement.targets if isinstance(t, ast.Name)})

    def _note_class(self, node: ast.ClassDef) -> None:
        bases = [self._last_name(base) for base in node.bases]
        base_role = next((role for base in bases if (role := _BASES.get(base) or self._roles.get(base))), None)
        name, decorator_role = self._decorated(node)
        role = base_role or decorator_role
        if role is None:
            return
        self._roles[node.name] = role
        names = self.generators if role == "generator" else self.executors
        for registered in name or [node.name]:
            if registered not in names:
                names.append(registered)

    def _decorated(self, node: ast.ClassDef) -> tuple[list[str], str | None]:
        """The names in the register decorators of a class, and what they register."""
        import ast

        names, role = [], None
        for decorator in node.decorator_list:
            if not isinstance(decorator, ast.Call):
                continue
            found = self._decorator_role(decorator.func)
            if found is None:
                continue
            role = role or found
            argument = decorator.args[0] if decorator.args else next((k.value for k in decorator.keywords), None)
            name = self._text(argument)
            if name is not None:
                names.append(name)
        return names, role

    def _decorator_role(self, function: ast.expr) -> str | None:
        import ast

        if isinstance(function, ast.Name):
            return "executor" if self._origin.get(function.id, function.id) == "register" else None
        if not isinstance(function, ast.Attribute) or function.attr != "register":
            return None
        owner = self._last_name(function.value)
        if owner == _GENERATOR_REGISTRY:
            return "generator"
        # `module.register(...)` is the executor's; other registries (ACCURACY_REGISTRY) hold no executors.
        is_module = isinstance(function.value, ast.Name) and function.value.id in self._origin
        return "executor" if is_module and owner.upper() != owner else None

    def _last_name(self, node: ast.expr) -> str:
        """`GENERATOR_REGISTRY` of `G`, `module.GENERATOR_REGISTRY` or itself, with import aliases undone."""
        import ast

        if isinstance(node, ast.Attribute):
            return node.attr
        if isinstance(node, ast.Name):
            return self._origin.get(node.id, node.id).rsplit(".", 1)[-1]
        return ""

    def _text(self, node: ast.expr | None) -> str | None:
        """The text of a constant, of the name of one, or put together from these: `f"generate_{OP}"`, `"gen_" + OP`."""
        import ast

        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.Name):
            return self._constants.get(node.id)
        if isinstance(node, ast.JoinedStr):
            return self._joined(node.values)
        if isinstance(node, ast.FormattedValue):
            return self._text(node.value) if node.conversion == -1 and node.format_spec is None else None
        return self._joined([node.left, node.right]) if isinstance(node, ast.BinOp) and _is_add(node.op) else None

    def _joined(self, nodes: Sequence[ast.expr]) -> str | None:
        texts = [text for node in nodes if (text := self._text(node)) is not None]
        return "".join(texts) if len(texts) == len(nodes) else None


def _is_add(operator: ast.operator) -> bool:
    import ast

    return isinstance(operator, ast.Add)
