"""The rules: one YAML file each under `rules/`, found by name and read when a finding needs its text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from opscan.data import data_path

SEVERITIES = ("error", "warning", "info")


class RuleError(Exception):
    """A rule file that cannot be used; the message begins with the file."""


@dataclass(frozen=True, slots=True)
class RuleText:
    """What a rule says of itself. `bad` and `good` are small catalogs, file name -> text, that tests audit."""

    id: str
    name: str
    severity: str
    summary: str
    why: str
    bad: tuple[tuple[str, str], ...]
    good: tuple[tuple[str, str], ...]
    fixes: bool


@lru_cache(maxsize=1)
def _files() -> dict[str, Path]:
    """Rule name -> file; the file's name is the rule's id and name."""
    found = {}
    for path in sorted(data_path("rules").glob("OPS*.yaml")):
        found[path.stem.partition("-")[2]] = path
    return found


def rule_names() -> tuple[str, ...]:
    """Every rule's name, in the order of the ids."""
    return tuple(_files())


def rule_id(name: str) -> str:
    """The id of a rule, from its file's name alone. Raises KeyError for an unknown rule."""
    return _files()[name].stem.partition("-")[0]


@lru_cache(maxsize=128)
def load_rule(name: str) -> RuleText:
    """The rule of that name or id. Raises KeyError if there is none, RuleError if its file is not a rule."""
    names = {rule_id(known): known for known in _files()}
    path = _files()[names.get(name, name)]
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        body = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except yaml.YAMLError as problem:
        raise RuleError(f"{path}: {problem}") from None
    return _read(path, body)


def _read(path: Path, body: Any) -> RuleText:
    if not isinstance(body, dict):
        raise RuleError(f"{path}: a rule is a mapping")
    allowed = {"severity", "summary", "why", "bad", "good", "fixes"}
    if unknown := set(body) - allowed:
        raise RuleError(f"{path}: unknown key {sorted(unknown)[0]!r}; a rule has {', '.join(sorted(allowed))}")
    for key in ("severity", "summary", "why", "bad", "good"):
        if not body.get(key):
            raise RuleError(f"{path}: `{key}` is missing")
    if body["severity"] not in SEVERITIES:
        raise RuleError(f"{path}: severity {body['severity']!r} is none of {', '.join(SEVERITIES)}")
    identifier, _, name = path.stem.partition("-")
    bad, good = _catalog(body["bad"]), _catalog(body["good"])
    summary, why = str(body["summary"]).strip(), str(body["why"]).strip()
    return RuleText(identifier, name, body["severity"], summary, why, bad, good, bool(body.get("fixes", False)))


def _catalog(value: Any) -> tuple[tuple[str, str], ...]:
    return tuple(value.items()) if isinstance(value, dict) else (("spec.yaml", str(value)),)
