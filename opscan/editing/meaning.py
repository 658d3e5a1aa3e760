"""What a text means to its readers, and whether an edited text means exactly what was intended."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from opscan.dataclass import dataclass
from opscan.model import Edit, Fault, KeyPath, Source
from opscan.reading.trees import FAST_LOADER, Composed, compose_pure
from opscan.reading.values import place_values

_NOTHING: Any = object()


@dataclass(frozen=True, slots=True)
class Meaning:
    """The value that each reader gets (ATK's own first), and how often each kind of fault occurs."""

    values: tuple[Any, ...]
    faults: Counter[str]
    python: str | None = None
    """The text of a Python file, whose meaning is its statements."""
    built: Any = _NOTHING
    """What PyYAML itself makes of a YAML text: it goes by tags (`!!set`) that are not followed here."""


class Unreadable(Exception):
    """A text that its reader refuses; the message says why."""


def read_meaning(source: Source) -> Meaning:
    """The meaning of a YAML, JSON or Python text; raises Unreadable."""
    if source.path.suffix.lower() == ".py":
        return _python_meaning(source.text)
    return _json_meaning(source.text) if source.path.suffix.lower() == ".json" else _yaml_meaning(source)


def check_intended(before: Meaning, after: Meaning, edits: Sequence[Edit]) -> None:
    """Raise Unreadable unless `after` is `before` with the edits' values and nothing else changed."""
    if before.python is not None and after.python is not None:
        return _check_python(before.python, after.python, edits)
    if len(after.values) < len(before.values):
        raise Unreadable("some YAML readers would no longer accept the file")
    for old, new in zip(before.values, after.values, strict=False):
        wanted = old
        for edit in edits:
            wanted = with_value(wanted, edit.where, edit.value, new)
        if not same(wanted, new):
            raise Unreadable("the file would not mean what the edit intends, or something else in it would change")
    if before.built is not _NOTHING and any(not same(_at(after.built, edit.where), edit.value) for edit in edits):
        raise Unreadable("ATK's reader would not get the value that the edit intends; a tag (`!`) may stand at it")
    if any(count > before.faults[rule] for rule, count in after.faults.items()):
        raise Unreadable("the edit would bring a new fault into the file")


def with_value(tree: Any, where: KeyPath, value: Any, like: Any) -> Any:
    """`tree` with `value` at `where`; copies only what lies on the way.

    A key that is new goes to the place it has in `like`, the tree that was read from the edited text.
    """
    if not where:
        return value
    head, rest = where[0], where[1:]
    if isinstance(tree, list) and isinstance(head, int) and 0 <= head < len(tree):
        below = like[head] if isinstance(like, list) and head < len(like) else None
        return [*tree[:head], with_value(tree[head], rest, value, below), *tree[head + 1 :]]
    if not isinstance(tree, dict):
        raise Unreadable(f"there is nothing at {where}")
    key = _own_key(tree, head)
    below = like.get(key) if isinstance(like, dict) else None
    if key not in tree and rest:
        raise Unreadable(f"there is nothing at {where}")
    changed = {**tree, key: with_value(tree.get(key), rest, value, below)}
    if key in tree or not isinstance(like, dict) or set(like) != set(changed):
        return changed
    return {name: changed[name] for name in like} if [n for n in like if n != key] == list(tree) else changed


def _at(tree: Any, where: KeyPath) -> Any:
    for head in where:
        if isinstance(tree, list):
            tree = tree[head] if isinstance(head, int) and 0 <= head < len(tree) else _NOTHING
        else:
            tree = tree.get(_own_key(tree, head), _NOTHING) if isinstance(tree, dict) else _NOTHING
    return tree


def same(left: Any, right: Any, known: set[tuple[int, int]] | None = None) -> bool:
    """Equality of type, value and order; NaN equals NaN, True is not 1, 1 is not 1.0."""
    known = set() if known is None else known
    if type(left) is not type(right):
        return False
    if isinstance(left, (dict, list)):
        pair = (id(left), id(right))
        if pair in known:
            return True
        known.add(pair)
        if len(left) != len(right):
            return False
        if isinstance(left, list):
            return all(same(a, b, known) for a, b in zip(left, right, strict=True))
        return all(same(a, b, known) and same(left[a], right[b], known) for a, b in zip(left, right, strict=True))
    return repr(left) == repr(right) if isinstance(left, float) else bool(left == right)


def _own_key(tree: dict[Any, Any], head: str | int) -> Any:
    """Key paths hold text for keys that are neither text nor whole numbers."""
    if head in tree:
        return head
    return next((key for key in tree if not isinstance(key, (str, int)) and str(key) == head), head)


def _yaml_meaning(source: Source) -> Meaning:
    pure = compose_pure(source)
    if isinstance(pure, tuple):
        raise Unreadable(_first(pure))
    readings = [pure]
    fast = _compose_fast(source.text)
    if fast is not None:
        readings.append(fast)
    values, faults = [], Counter[str]()
    for reading in readings:
        tree = place_values(source, reading)
        if isinstance(tree, tuple):
            raise Unreadable(_first(tree))
        values.append(tree.value)
        faults = faults or Counter(fault.rule for fault in tree.faults)
    return Meaning(tuple(values), faults, built=_built(pure))


def _built(composed: Composed) -> Any:
    """What the reader of ATK makes of a document, after everything else was read from it; raises Unreadable."""
    import yaml

    loader = composed.loader("")
    try:
        return None if composed.root is None else loader.construct_document(composed.root)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise Unreadable(f"{line}ATK's reader refuses it: {error.problem}") from None
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise Unreadable(f"ATK's reader refuses it: {error}") from None
    finally:
        loader.dispose()


def _compose_fast(text: str) -> Composed | None:
    """The second reader's view; None where there is none or it refuses a text that ATK accepts."""
    import yaml

    if FAST_LOADER is None:
        return None
    loader = FAST_LOADER(text)
    try:
        return Composed(loader.get_single_node(), FAST_LOADER)
    except (yaml.YAMLError, RecursionError):
        return None
    finally:
        loader.dispose()


def _python_meaning(text: str) -> Meaning:
    from opscan.editing.statements import UnreadablePythonError, read_statements

    try:
        read_statements(text)
    except UnreadablePythonError as error:
        raise Unreadable(str(error)) from None
    return Meaning((), Counter(), text)


def _check_python(before: str, after: str, edits: Sequence[Edit]) -> None:
    from opscan.editing.statements import UnreadablePythonError, check_inserted

    try:
        check_inserted(before, after, edits)
    except UnreadablePythonError as error:
        raise Unreadable(str(error)) from None


def _first(faults: Sequence[Fault]) -> str:
    fault = faults[0]
    return f"line {fault.span.line}: {fault.message}" if fault.span else fault.message


def _json_meaning(text: str) -> Meaning:
    duplicates = Counter[str]()

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        duplicates["duplicate-key"] += len(pairs) - len(built)
        return built

    try:
        return Meaning((json.loads(text, object_pairs_hook=build),), duplicates)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON: {error}") from None
