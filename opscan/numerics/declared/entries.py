"""The entries of `catalog/steps/`: what people wrote of each operator, found by name and compiled when asked for.

An entry is another name, a formula over other operators, or one ATen packet: its signature (`call`), the shape and the
dtype of its results and the gradient of each input; `like` names an entry that says the same of another packet. The
kind of a packet stands in `catalog/aten/`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from opscan.data import data_path
from opscan.dataclass import dataclass
from opscan.numerics.declared.values import EVALUATOR
from opscan.numerics.signatures import Parameter, read_signature

_KEY = re.compile(r"^([A-Za-z_][\w.]*):", re.MULTILINE)
_FIELDS = frozenset({"call", "like", "takes", "shape", "dtype", "grad", "formula", "source", "note", "labels"})

Formula = Callable[..., Any]


class MalformedEntry(Exception):
    """An entry of the catalog is wrong; the message starts with its file and line."""


@dataclass(frozen=True, slots=True)
class Place:
    """The lines of one entry: `text[start:end]` of a file, from `line` on."""

    path: Path
    key: str
    start: int
    end: int
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.key}"


@dataclass(frozen=True)
class Expression:
    """An expression or a body over `parameters`, compiled when it is first evaluated: a run needs few of them."""

    text: str
    parameters: tuple[str, ...]
    place: str

    @cached_property
    def compiled(self) -> tuple[tuple[str, ...], Formula]:
        """Those of the parameters that it reads, and a function of these. Raises MalformedEntry."""
        return _compile(self.text, self.parameters, self.place)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        names, function = self.compiled
        return function(*[values[name] for name in names])


@dataclass(frozen=True, slots=True)
class Entry:
    """What the catalog says of one operator.

    `formula` is set for what is made of other operators; else `shape` and `dtype` tell the results (None: broadcast,
    promoted) and `gradients` those of its inputs, None where nobody has written them down.
    """

    name: str
    place: Place
    parameters: tuple[Parameter, ...]
    takes: str | Mapping[str, str] | None
    shape: Expression | None
    dtype: Expression | None
    gradients: Mapping[str, Expression] | None
    formula: Expression | None
    source: str
    labels: Mapping[str, str]
    """What the operator's document calls a parameter, where that is not the name it is passed by."""


@lru_cache(maxsize=1)
def _texts() -> tuple[tuple[Path, str], ...]:
    return tuple(
        (path, path.read_text(encoding="utf-8")) for path in sorted(data_path("catalog", "steps").glob("*.yaml"))
    )


def index() -> Mapping[str, Place]:
    """Where each entry stands. Raises MalformedEntry where two files claim the same name."""
    known: dict[str, Place] = {}
    for path, text in _texts():
        for match in _KEY.finditer(text):
            place = _place(path, text, match.group(1), match.start())
            if (other := known.get(place.key)) is not None:
                raise MalformedEntry(f"{place} stands at {other.path.name}:{other.line} already")
            known[place.key] = place
    return known


@lru_cache(maxsize=4096)
def place_of(name: str) -> Place | None:
    """Where the entry of a name stands, without a look at the others: most runs ask for a few of a thousand."""
    key = f"\n{name}:"
    for path, text in _texts():
        start = 0 if text.startswith(key[1:]) else text.find(key) + 1
        if start or text.startswith(key[1:]):
            return _place(path, text, name, start)
    return None


def _place(path: Path, text: str, key: str, start: int) -> Place:
    following = _KEY.search(text, start + 1)
    return Place(path, key, start, following.start() if following else len(text), text.count("\n", 0, start) + 1)


@lru_cache(maxsize=4096)
def find(name: str) -> Entry | None:
    """The entry of a name, following the name it stands for. Raises MalformedEntry."""
    place = place_of(name)
    if place is None:
        return None
    content = parse(place)
    if isinstance(content, dict) and "like" in content:
        content = _filled_in(place, content)
    if isinstance(content, str):
        if content == name or place_of(content) is None:
            raise MalformedEntry(f"{place} stands for {content}, which has no entry")
        return find(content)
    return read_entry(place, content)


def _filled_in(place: Place, content: Mapping[str, Any]) -> Mapping[str, Any]:
    """With what the entry that it is `like` says besides; each packet has a `source` of its own."""
    model = place_of(content["like"])
    known = parse(model) if model is not None else None
    if not isinstance(known, dict) or "like" in known:
        raise MalformedEntry(f"{place} is like {content['like']}, which has no entry of its own")
    own = {name: text for name, text in content.items() if name != "like"}
    return {**known, "source": place.key, **own}


def text_of(place: Place) -> str:
    """The lines of an entry as they are written."""
    return dict(_texts())[place.path][place.start : place.end]


def parse(place: Place) -> Any:
    """What stands at a place, as YAML reads it. Raises MalformedEntry."""
    return parse_text(place, text_of(place))


def parse_text(place: Place, text: str) -> Any:
    """As `parse`, of the text of an entry in another file."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(text, Loader=loader)[place.key]
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = place.line + (mark.line if mark else 0)
        raise MalformedEntry(f"{place.path}:{line}: {getattr(problem, 'problem', problem)}") from problem


def read_entry(place: Place, content: Any) -> Entry:
    """The entry with this content. Raises MalformedEntry naming the field."""
    if not isinstance(content, dict) or set(content) - _FIELDS or "call" not in content:
        raise MalformedEntry(f"{place} needs a name, or a mapping with `call` and some of {', '.join(sorted(_FIELDS))}")
    try:
        parameters = read_signature(content["call"] or "")
    except ValueError as problem:
        raise MalformedEntry(f"{place}: {problem}") from problem
    if "formula" in content and (useless := set(content) & {"takes", "shape", "dtype", "grad"}):
        raise MalformedEntry(f"{place} has a formula, beside which {', '.join(sorted(useless))} says nothing")
    names = [parameter.name for parameter in parameters]

    def expression(field: str, *more: str) -> Expression | None:
        return Expression(str(content[field]), (*names, *more), f"{place} {field}") if field in content else None

    grad = content.get("grad")
    gradients = {} if grad == "none" else grad
    if gradients is not None and set(gradients) - set(names):
        raise MalformedEntry(
            f"{place} has gradients for {', '.join(sorted(set(gradients) - set(names)))}, no parameter"
        )
    results = ["grad", "grads", "result", "results"]
    return Entry(
        place.key,
        place,
        parameters,
        content.get("takes"),
        expression("shape"),
        expression("dtype", "promoted", "floating", "shapes"),
        None
        if gradients is None
        else {name: Expression(str(text), (*names, *results), f"{place} {name}") for name, text in gradients.items()},
        expression("formula"),
        content.get("source", ""),
        content.get("labels", {}),
    )


def _compile(text: str, parameters: Sequence[str], place: str) -> tuple[tuple[str, ...], Formula]:
    """A function of those parameters that the text reads; what else it names is an operator or a shape function."""
    try:
        tree = ast.parse(text.strip())
    except SyntaxError as problem:
        raise MalformedEntry(f"{place}: not Python: {problem.msg} in `{text.strip()}`") from None
    if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
        tree.body[0] = ast.copy_location(ast.Return(tree.body[0].value), tree.body[0])
    loaded = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {node.id for node in loaded}
    names = tuple(name for name in parameters if name in read)
    function = ast.parse(f"def formula({', '.join(names)}): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = tree.body
    module = ast.fix_missing_locations(ast.Module([function], []))
    stored = {node.id for node in loaded if isinstance(node.ctx, ast.Store)}
    stored |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    stored |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    space: dict[str, Any] = {"__builtins__": {}}
    for name in read - stored - set(names):
        space[name] = _global(name, place)
    exec(compile(module, place, "exec"), space)  # text of the catalog that ships, never of a user's folder
    return names, space["formula"]


def _global(name: str, place: str) -> Any:
    found = EVALUATOR["named"](name)
    if found is None:
        raise MalformedEntry(f"{place}: `{name}` is no parameter, no operator of the catalog and no shape function")
    return found
