"""Mistakes in the entries of `catalog/steps/`: a gradient missing, a part of a formula left out, an attribute ignored."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from planting import Mutant, replaced

from opscan.numerics.declared import entries

_TEXTS = ("shape", "dtype", "formula")


def of_entries() -> Iterator[Mutant]:
    for key, place in sorted(entries.index().items()):
        content = entries.parse(place)
        if isinstance(content, dict):
            for number, (mistake, where, changed) in enumerate(_mistakes(content)):
                yield Mutant(
                    f"entry {key} #{number} {where}", mistake, _asks_for(key), _with_content(key, changed), traced=False
                )


def _mistakes(content: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(mistake, where, the content with it)."""
    defaults = _defaults(content.get("call") or "")
    if "takes" in content:
        yield "dtype not checked", "takes", {key: value for key, value in content.items() if key != "takes"}
    grad = content.get("grad")
    for name, text in grad.items() if isinstance(grad, dict) else ():
        rest = {other: value for other, value in grad.items() if other != name}
        yield "gradient missing", f"grad {name}", {**content, "grad": rest or "none"}
        for mistake, changed in _texts(text, defaults):
            yield mistake, f"grad {name}: {_line(changed)}", {**content, "grad": {**grad, name: changed}}
    for part in _TEXTS:
        for mistake, changed in _texts(content[part], defaults) if part in content else ():
            yield mistake, f"{part}: {_line(changed)}", {**content, part: changed}


def _line(text: str) -> str:
    return " ".join(text.split())[:90]


def _defaults(signature: str) -> dict[str, Any]:
    """The attributes that may be left out, and what they are then."""
    from opscan.numerics.signatures import read_signature

    return {parameter.name: parameter.absent for parameter in read_signature(signature) if not parameter.required}


def _texts(text: Any, defaults: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every text with one mistake in it."""
    tree = ast.parse(str(text).strip())
    for place, node in enumerate(ast.walk(tree)):
        for mistake, change in _changes(node, defaults):
            changed = deepcopy(tree)
            target = next(other for number, other in enumerate(ast.walk(changed)) if number == place)
            mended = _Exchange(target, change(target)).visit(changed)
            yield mistake, ast.unparse(ast.fix_missing_locations(mended))


def _changes(node: ast.AST, defaults: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[Any], ast.expr]]]:
    if isinstance(node, ast.BinOp):
        yield "operand left out", lambda found: found.left
        yield "operand left out", lambda found: found.right
    elif isinstance(node, ast.IfExp):
        yield "branch left out", lambda found: found.body
        yield "branch left out", lambda found: found.orelse
    elif isinstance(node, ast.Call) and node.args:
        yield "step left out", lambda found: found.args[0]
    elif isinstance(node, ast.Name) and node.id in defaults and isinstance(node.ctx, ast.Load):
        value = defaults[node.id]
        yield "attribute ignored", lambda _: ast.parse(repr(value), mode="eval").body
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "flag turned", lambda found: ast.Constant(not found.value)


class _Exchange(ast.NodeTransformer):
    """One node for another."""

    def __init__(self, old: ast.AST, new: ast.expr) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self._new if node is self._old else super().generic_visit(node)


def _asks_for(key: str) -> Callable[[Any], bool]:
    return lambda seen: key in seen.entries


def _with_content(key: str, content: dict[str, Any]) -> Callable[[], contextlib.AbstractContextManager[None]]:
    original = entries.parse

    def parse(place: entries.Place) -> Any:
        return content if place.key == key else original(place)

    return lambda: replaced(entries, "parse", parse)
