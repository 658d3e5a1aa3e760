"""A generator's class in its plugin, found by its registered name, and new statements put in with libcst.

libcst writes them in the file's own indentation and line ends, and leaves every other character alone.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from opscan.editing.statements import UnreadablePythonError, read_statements
from opscan.model import Edit, Source

if TYPE_CHECKING:
    import libcst as cst

HOOK = "after_case_config"
NEEDS_LIBCST = "editing Python needs libcst: pip install 'opscan-ascend[plugins]'"


class NotEditableError(Exception):
    """The plugin cannot be edited without a guess; the message says why."""


def class_index(tree: ast.Module, generator: str) -> int:
    """The index in the module's body of the one class that registers `generator`."""
    constants = {
        target.id: statement.value.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    named = [node for node in classes if generator in _registered(node, constants)]
    found = named or [node for node in classes if node.name == generator]
    if not found:
        raise NotEditableError(f"no class registers `{generator}` under a name that is plain text")
    if len(found) > 1:
        raise NotEditableError(f"two classes register `{generator}`, in lines {found[0].lineno} and {found[1].lineno}")
    index = next((index for index, statement in enumerate(tree.body) if statement is found[0]), None)
    if index is None:
        raise NotEditableError(f"line {found[0].lineno}: class `{found[0].name}` is not at the top level of the file")
    if sum(getattr(statement, "name", None) == found[0].name for statement in tree.body) > 1:
        raise NotEditableError(f"line {found[0].lineno}: the name `{found[0].name}` is defined more than once")
    return index


def _registered(node: ast.ClassDef, constants: Mapping[str, Any]) -> set[Any]:
    """The names under which a class is registered, where they are plain text."""
    found = set()
    for decorator in registrations(node):
        arguments = [*decorator.args, *(keyword.value for keyword in decorator.keywords)][:1]
        for argument in arguments:
            known = constants.get(argument.id) if isinstance(argument, ast.Name) else None
            found.add(argument.value if isinstance(argument, ast.Constant) else known)
    return found - {None}


def registrations(node: ast.ClassDef) -> list[ast.Call]:
    calls = [decorator for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
    return [call for call in calls if getattr(call.func, "attr", getattr(call.func, "id", "")) == "register"]


class GeneratorClass:
    """A generator's class in its file, as the reader (`node`) and as the editor see it."""

    def __init__(self, source: Source, generator: str) -> None:
        try:
            import libcst as cst
        except ImportError:
            raise NotEditableError(NEEDS_LIBCST) from None
        try:
            self.tree = read_statements(source.text)
            self._module = cst.parse_module(source.text)
        except UnreadablePythonError as error:
            raise NotEditableError(str(error)) from None
        except (cst.ParserSyntaxError, RecursionError):
            raise NotEditableError("libcst cannot parse the file") from None
        if self._module.code != source.text:
            raise NotEditableError("the file does not survive being read and written unchanged")
        self.index = class_index(self.tree, generator)
        node = self.tree.body[self.index]
        assert isinstance(node, ast.ClassDef)
        self.node = node
        named = [part for part in self._module.body if isinstance(part, cst.ClassDef) and part.name.value == node.name]
        self._class = named[0]

    def taken(self, name: str) -> bool:
        """Whether the file binds a name anywhere."""
        return any(name in (getattr(part, "name", None), getattr(part, "id", None)) for part in ast.walk(self.tree))

    def registration(self) -> str:
        """How the class is registered, as it is written: `GENERATOR_REGISTRY.register`; empty where by its name."""
        calls = registrations(self.node)
        return ast.unparse(calls[0].func) if calls else ""

    def with_class_after(self, text: str) -> str:
        """The file with a class behind this one, two blank lines apart."""
        import libcst as cst

        gap = [cst.EmptyLine(indent=False)] * 2
        body: list[Any] = []
        for part in self._module.body:
            body.append(part)
            if part is self._class:
                body.append(self._parsed(text).with_changes(leading_lines=gap))
        return self._module.with_changes(body=body).code

    def hook(self) -> tuple[ast.FunctionDef, int, str]:
        """The class's `after_case_config`, the index in its body where it ends, and the name of the case in it."""
        found = [part for part in self.node.body if isinstance(part, ast.FunctionDef) and part.name == HOOK]
        if len(found) != 1:
            line, name = self.node.lineno, self.node.name
            raise NotEditableError(f"line {line}: class `{name}` has no single `{HOOK}` of its own")
        hook = found[0]
        parameters = [one.arg for one in hook.args.args]
        if len(parameters) != 2 or hook.decorator_list:
            raise NotEditableError(f"line {hook.lineno}: `{HOOK}` does not take just the generator and the case")
        returns = [part for part in own_parts(hook) if isinstance(part, ast.Return)]
        last = hook.body[-1]
        if any(one is not last for one in returns):
            line = min(one.lineno for one in returns)
            raise NotEditableError(f"line {line}: `{HOOK}` returns in more than one place; one `return`, at its end, "
                                   "is needed to choose a standard there")  # fmt: skip
        if isinstance(last, ast.Return):
            if not isinstance(last.value, ast.Name) or last.value.id != parameters[1]:
                raise NotEditableError(f"line {last.lineno}: `{HOOK}` does not return `{parameters[1]}`")
            return hook, len(hook.body) - 1, parameters[1]
        return hook, len(hook.body), parameters[1]

    def with_statement_in_hook(self, text: str) -> str:
        """The file with a statement at the end of the class's `after_case_config`, before its `return`."""
        import libcst as cst

        hook = next(
            part for part in self._class.body.body if isinstance(part, cst.FunctionDef) and part.name.value == HOOK
        )
        if not isinstance(hook.body, cst.IndentedBlock):
            raise NotEditableError(f"`{HOOK}` stands on one line; write its body below it first")
        body: list[Any] = list(hook.body.body)
        last = body[-1]
        parts = last.body if isinstance(last, cst.SimpleStatementLine) else []
        returns = any(isinstance(part, cst.Return) for part in parts)
        if returns and len(parts) > 1:
            raise NotEditableError(f"the `return` of `{HOOK}` shares its line with another statement")
        body.insert(len(body) - int(returns), self._parsed(text))
        changed = self._module.deep_replace(hook, hook.with_changes(body=hook.body.with_changes(body=body)))
        assert isinstance(changed, cst.Module)
        return changed.code

    def _parsed(self, text: str) -> cst.BaseStatement:
        import libcst as cst

        return cst.parse_statement(text, config=self._module.config_for_parsing)


def own_parts(function: ast.FunctionDef) -> list[ast.AST]:
    """What stands in a function itself, not in functions and classes inside it."""
    found: list[ast.AST] = []
    stack: list[ast.AST] = list(function.body)
    while stack:
        part = stack.pop()
        found.append(part)
        if not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(part))
    return found


def inserted(source: Source, new: str, where: tuple[str | int, ...], value: str) -> Edit:
    """The edit from the file's text to `new`, which must be an insertion."""
    old = source.text
    added = len(new) - len(old)
    start = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
    if added <= 0 or old[start:] != new[start + added :]:
        raise NotEditableError("the edit would change more than it adds")
    return Edit(start, start, new[start : start + added], where, value)
