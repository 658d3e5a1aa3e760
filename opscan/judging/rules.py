"""The rules: one YAML file each, named `ID-name.yaml`, read when a finding needs its text.

Those that ship are raised by code. A user's rule is raised by what its file says under `match`, and its examples are
tried when it is loaded: `bad` must raise it, `good` must not, and where it has a `fix`, fixing `bad` must silence it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opscan.data import data_path
from opscan.dataclass import dataclass
from opscan.interface import SEVERITIES
from opscan.judging.standards_file import Document, StandardsError, closest, read_document

if TYPE_CHECKING:
    from opscan.judging.declared import Match

DATA_FILES = ("standards.yaml", "assign.yaml", "profiles.yaml", "exports.yaml", "devices.yaml")
_FILE_NAME = r"(?P<id>[A-Z]{2,12}\d{3})-(?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)\.yaml"
_RESERVED = "OPS"
Folders = tuple[Path, ...]
Examples = tuple[tuple[str, Any], ...]
_KEYS = ("severity", "summary", "why", "bad", "good")


@dataclass(frozen=True, slots=True)
class RuleText:
    """What a rule says of itself. `bad` and `good` are small catalogs, file name -> text, that tests audit.

    `catalog`: it compares files with each other, so that a run over some of them says nothing of the others. `match`:
    what raises a user's rule.
    """

    id: str
    name: str
    severity: str
    summary: str
    why: str
    bad: Examples
    good: Examples
    fixes: bool
    catalog: bool = False
    match: Match | None = None


def rule_names(own: Folders = ()) -> tuple[str, ...]:
    """Every rule's name: those that ship by id, then the user's."""
    return tuple(_files(own))


def own_rules(own: Folders) -> tuple[RuleText, ...]:
    """The rules of the user's folders."""
    return tuple(_load(own, name) for name in _files(own) if name not in _files(())) if own else ()


def rule_id(name: str, own: Folders = ()) -> str:
    """The id of a rule, from its file's name alone. Raises KeyError for an unknown rule."""
    return _ids(own)[name]


def rule_named(identifier: str, own: Folders = ()) -> str | None:
    """The name of the rule that has an id."""
    return next((name for name, known in _ids(own).items() if known == identifier), None)


def load_rule(name: str, own: Folders = ()) -> RuleText:
    """The rule of that name or id. Raises KeyError if there is none, StandardsError if its file is not a rule."""
    return _load(own, name)


@lru_cache(maxsize=8)
def _ids(own: tuple[Path, ...]) -> Mapping[str, str]:
    """Rule name -> id."""
    return {name: path.stem.partition("-")[0] for name, path in _files(own).items()}


@lru_cache(maxsize=8)
def _files(own: tuple[Path, ...]) -> Mapping[str, Path]:
    """Rule name -> file; the file's name is the rule's id and name. Raises StandardsError for a name that clashes."""
    shipped = data_path("rules")
    names = sorted(name for name in os.listdir(shipped) if name.startswith("OPS") and name.endswith(".yaml"))
    found = {name[: -len(".yaml")].partition("-")[2]: shipped / name for name in names}
    for folder in own:
        for path in _rule_files(folder):
            identifier, _, name = path.stem.partition("-")
            clash = found.get(name) or next((f for f in found.values() if f.stem.startswith(f"{identifier}-")), None)
            if clash is not None:
                raise StandardsError(f"{path}:1:1: {clash} has that id or name already; give this rule another")
            found[name] = path
    return found


def _rule_files(folder: Path) -> Sequence[Path]:
    """The rule files of a user's folder; a YAML file that is no rule and no data file is refused, not passed over."""
    if not folder.is_dir():
        raise StandardsError(f"{folder}:1:1: there is no such folder of rules; the setting `rules` names it")
    paths = []
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".yaml", ".yml") or path.name in DATA_FILES:
            continue
        named = re.fullmatch(_FILE_NAME, path.name)
        if named is None:
            hint = closest(path.name, DATA_FILES)
            meant = f"did you mean {hint}?" if hint else "a rule's file is named like HOUSE001-what-is-wrong.yaml"
            raise StandardsError(f"{path}:1:1: this file is neither a rule nor one of {', '.join(DATA_FILES)}; {meant}")
        if named["id"].startswith(_RESERVED):
            raise StandardsError(f"{path}:1:1: ids that begin with {_RESERVED} belong to opscan; take another prefix")
        paths.append(path)
    return paths


@lru_cache(maxsize=256)
def _load(own: tuple[Path, ...], name: str) -> RuleText:
    path = _files(own)[rule_named(name, own) or name]
    return read_rule(read_document(path), own=path.parent != data_path("rules"))


def read_rule(document: Document, *, own: bool = False) -> RuleText:
    """The rule of a parsed file; one of the user's `own` needs a `match`. Raises StandardsError."""
    body = document.value
    extra = ("match", "message", "fix") if own else ("fixes", "catalog")
    required = (*_KEYS, "match") if own else _KEYS
    document.only(body, (), (*_KEYS, *extra), required)
    for key in ("severity", "summary", "why"):
        document.text(body[key], (key,))
    document.one_of(body["severity"], ("severity",), SEVERITIES)
    identifier, _, name = document.path.stem.partition("-")
    summary, why = body["summary"].strip(), body["why"].strip()
    bad, good = _examples(document, "bad"), _examples(document, "good")
    match = None
    if own:
        from opscan.judging.declared import read_match

        match = read_match(document, body, summary)
        _try_examples(document, match, bad, good)
    fixes = match.fixes if match else bool(body.get("fixes", False))
    catalog = bool(body.get("catalog", False))
    return RuleText(identifier, name, body["severity"], summary, why, bad, good, fixes, catalog, match)


def _examples(document: Document, key: str) -> Examples:
    value = document.value[key]
    if not value:
        raise document.error((key,), f"`{key}` is empty; a rule shows an example")
    return tuple(value.items()) if isinstance(value, dict) else (("spec.yaml", str(value)),)


def _try_examples(document: Document, match: Match, bad: Examples, good: Examples) -> None:
    """A rule that its own examples do not bear out would be found out only by the catalog it is let loose on."""
    from opscan.judging.declared import hits

    for key, examples, wanted in (("bad", bad, True), ("good", good, False)):
        trees = [_tree(document, key, name, text) for name, text in examples]
        if match.cases:  # an example is a case, or a list of them
            trees = [case for tree in trees for case in (tree if isinstance(tree, list) else [tree])]
        raised = any(next(hits(match, tree), None) is not None for tree in trees)
        if raised is not wanted:
            said = "does not raise the rule" if wanted else "raises the rule"
            raise document.error((key,), f"the example `{key}` {said}; mend the example or the match")
    if match.fixes and match.condition.holds(match.fix):
        raise document.error(("fix",), "what `fix` writes would raise the rule again")


def _tree(document: Document, key: str, name: str, text: Any) -> Any:
    from opscan.model import Source
    from opscan.reading.values import Tree, read_tree

    tree = read_tree(Source(Path(name), document.text(text, (key,))))
    if isinstance(tree, Tree):
        return tree.value
    raise document.error((key,), f"the example `{key}` is not valid YAML: {tree[0].message}")
