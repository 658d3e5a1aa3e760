"""What an executor plugin does with gradients and dtypes that makes its specs test less than they seem to.

The syntax tree is read, never run. Only plain forms are recognised; what is not recognised is not reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from opscan.judging.findings import find
from opscan.model import Finding, Plugin, Source, Span, Spec
from opscan.reading.positions import Lines

_CONSTANTS = frozenset(("ones", "ones_like", "zeros", "zeros_like", "full", "full_like"))
_REDUCERS = frozenset(("sum", "mean"))
_WIDENING = frozenset(("float", "double"))
_WIDE = frozenset(("float", "float32", "float64", "double"))
_DUAL = ("cv_fused_double_benchmark", "double_benchmark")


def plugin_findings(plugin: Plugin, shown: str) -> list[Finding]:
    """The findings on an executor itself: an upstream gradient that is the same number everywhere."""
    if not plugin.executors or not isinstance(plugin.tree, ast.Module):
        return []
    places = [(node, how) for node in ast.walk(plugin.tree) if (how := _constant_upstream(node, plugin.tree))]
    by_how: dict[str, list[Span | None]] = {}
    for node, how in places:
        by_how.setdefault(how, []).append(span_of(plugin.source, node))
    return [
        find(
            "constant-upstream",
            shown,
            f"{how}: sums of equal numbers are exact in any order",
            spans=spans,
            fix="manual",
        )
        for how, spans in by_how.items()
    ]


def benchmark_findings(spec: Spec, shown: str, executor: Plugin | None) -> Iterator[Finding]:
    """A spec under a dual benchmark whose executor widens its inputs: golden and benchmark then hold equal values."""
    acc = next(iter(spec.acc), None) if isinstance(spec.acc, dict) else spec.acc
    if acc not in _DUAL or executor is None or not isinstance(executor.tree, ast.Module):
        return
    cast = next((node for name in [spec.api_type] for node in _casts(executor.tree, name)), None)
    if cast is not None:
        span = spec.spans.get(("standard", "acc"))
        place = f"{executor.source.path.name}:{cast.lineno}"
        message = f"`{acc}` divides by the error of a benchmark, but the executor widens its inputs itself ({place}): "
        message += "golden and benchmark hold the same values, and only the floor is left to divide by"
        yield find("benchmark-upcast", shown, message, spans=[span], fix="manual")


def _constant_upstream(node: ast.AST, module: ast.Module) -> str:
    """How a call makes the upstream gradient constant; empty where it does not, or where nobody can tell."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    arguments = {keyword.arg: keyword.value for keyword in node.keywords}
    if node.func.attr == "backward":
        given = _first(node.args, arguments, "gradient")
        if given is None:
            return _after_reduction(node.func.value, "backward()")
        return _made_constant(given, module, "backward()")
    if node.func.attr == "grad" and ast.unparse(node.func).endswith("autograd.grad"):
        given = arguments.get("grad_outputs") or (node.args[2] if len(node.args) > 2 else None)
        if given is None:
            return _after_reduction(node.args[0], "autograd.grad()") if node.args else ""
        return _made_constant(given, module, "autograd.grad()")
    return ""


def _first(args: Sequence[ast.expr], arguments: Mapping[str | None, ast.expr], name: str) -> ast.expr | None:
    given = args[0] if args else arguments.get(name)
    return None if isinstance(given, ast.Constant) and given.value is None else given


def _after_reduction(node: ast.expr, call: str) -> str:
    inner = node.func if isinstance(node, ast.Call) else None
    weighted = isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.BinOp)  # by random numbers, perhaps
    if isinstance(inner, ast.Attribute) and inner.attr in _REDUCERS and not weighted:
        return f"`.{inner.attr}()` before {call} makes the upstream gradient the same number everywhere"
    return ""


def _made_constant(node: ast.expr, module: ast.Module, call: str) -> str:
    if isinstance(node, ast.Name):
        made = [s.value for s in ast.walk(module) if isinstance(s, ast.Assign)
                and any(isinstance(t, ast.Name) and t.id == node.id for t in s.targets)]  # fmt: skip
        node = made[0] if len(made) == 1 else node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CONSTANTS:
        return f"`{node.func.attr}` is the upstream gradient of {call}"
    return ""


def _casts(module: ast.Module, executor: str) -> Iterator[ast.Call]:
    """The calls that widen a dtype in the classes that register an executor, or in all where none can be told."""
    classes = [node for node in ast.walk(module) if isinstance(node, ast.ClassDef)]
    named = [node for node in classes if any(executor in ast.unparse(d) for d in node.decorator_list)]
    for scope in named or classes:
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _widens(node, node.func.attr):
                yield node


def _widens(call: ast.Call, name: str) -> bool:
    if name in _WIDENING and not call.args:
        return True
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return name in ("to", "type") and any(isinstance(v, ast.Attribute) and v.attr in _WIDE for v in given)


def span_of(source: Source, node: ast.AST) -> Span | None:
    """The span of a node; Python counts columns in bytes of UTF-8."""
    line, end_line = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    if line is None or end_line is None:
        return None
    lines = Lines(source.text)
    start = _offset(source.text, lines, line, getattr(node, "col_offset", 0))
    return lines.span(start, _offset(source.text, lines, end_line, getattr(node, "end_col_offset", 0)))


def _offset(text: str, lines: Lines, line: int, column: int) -> int:
    start = lines.offset(line, 1)
    content = text[start:].splitlines()[0] if text[start:] else ""
    return start + len(content.encode()[:column].decode(errors="ignore"))
