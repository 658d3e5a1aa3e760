"""What statements do beside what they compute: tell somebody, or leave something half-done."""

from __future__ import annotations

import ast

from opscan.pyread.scope import Scope
from opscan.pyread.values import ClassValue, FunctionValue, Instance, Poison, Record

_HARMLESS = frozenset({"str", "repr", "len", "int", "float", "type", "list", "tuple", "dict", "get", "item", "tolist"})


_ASKING = _HARMLESS | {"isinstance", "any", "all", "hasattr", "min", "max", "abs", "bool", "sum"}
_CHANGING = frozenset(
    {"pop", "popitem", "append", "extend", "insert", "remove", "discard", "add", "update", "clear", "setdefault"}
    | {"sort", "reverse", "send", "next", "write", "read"}
)


def only_asks(test: ast.expr) -> bool:
    """Whether a condition changes nothing: it names no value, and calls nothing that may change one."""
    for part in ast.walk(test):
        if isinstance(part, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
            return False
        if isinstance(part, ast.Call):
            head = part.func
            asks = isinstance(head, ast.Name) and head.id in _ASKING
            reads = isinstance(head, ast.Attribute) and head.attr not in _CHANGING and not head.attr.endswith("_")
            if not asks and not reads:
                return False
    return True


def only_tells(statement: ast.stmt) -> bool:
    """Whether a statement prints, or logs, and does nothing else."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return isinstance(statement, ast.Pass)
    head = statement.value.func
    logs = isinstance(head, ast.Attribute) and head.attr in {"debug", "info", "warning", "error"}
    inside = [part for part in ast.walk(statement.value) if isinstance(part, ast.Call | ast.NamedExpr)][1:]
    names = {
        getattr(getattr(part, "func", None), "id", getattr(getattr(part, "func", None), "attr", "")) for part in inside
    }
    return (logs or getattr(head, "id", "") == "print") and names <= _HARMLESS


def poison_names(statement: ast.stmt, scope: Scope, construct: str, line: int, column: int) -> None:
    """Poisons what a failed statement binds, and the containers of the module that it may have changed half-way."""
    poison = Poison(construct, line, column)
    names = scope.module.names
    defines = isinstance(statement, ast.FunctionDef | ast.ClassDef)
    nodes = [] if defines else list(ast.walk(statement))
    mentioned = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    calls_back = any(isinstance(names.get(name), FunctionValue | ClassValue) for name in mentioned)
    touched = [v for name, v in names.items() if calls_back or name in mentioned]
    changed = {id(v) for v in touched if type(v) in {list, dict, set} or isinstance(v, Instance | Record)}
    for name, value in names.items():
        if id(value) in changed:
            names[name] = poison
    for node in (statement, *nodes):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            scope.names[node.id] = poison
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            scope.names[node.name] = poison
