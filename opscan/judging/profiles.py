"""Profiles: how severe each rule is and which are off, as data in `rules/profiles.yaml`.

A user's folder may add profiles, or replace one that ships by another of the same name, which may extend it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from opscan.dataclass import dataclass
from opscan.interface import SEVERITIES
from opscan.judging.findings import at_most
from opscan.judging.folders import files_named
from opscan.judging.rules import Folders, load_rule, rule_named, rule_names
from opscan.judging.standards_file import Document, StandardsError, closest, read_document
from opscan.model import Finding

OFF = "off"


@dataclass(frozen=True, slots=True)
class Profile:
    """`severities` by rule name; a rule that is not named keeps the severity of its own file."""

    name: str
    severities: Mapping[str, str]

    @property
    def off(self) -> set[str]:
        """The rules that the profile does not report."""
        return {name for name, severity in self.severities.items() if severity == OFF}


def apply(
    profile: Profile, findings: Iterable[Finding], *, at_most_warnings: Collection[str] = (), own: Folders = ()
) -> list[Finding]:
    """The findings under a profile.

    `at_most_warnings`: paths of files whose operator is known by its name alone.
    """
    kept = []
    for finding in findings:
        severity = profile.severities.get(finding.name)
        if severity == OFF:
            continue
        if severity is not None:
            finding = _under(severity, finding, own, capped=finding.path in at_most_warnings)  # noqa: PLW2901
        kept.append(finding)
    return kept


def _under(severity: str, finding: Finding, folders: Folders, *, capped: bool) -> Finding:
    """What was judged milder than its rule stays at least so mild, what was judged graver at least so grave."""
    grave = SEVERITIES[::-1].index
    own = load_rule(finding.name, folders).severity
    if grave(finding.severity) < grave(own):
        severity = min(finding.severity, severity, key=grave)
    elif grave(finding.severity) > grave(own) <= grave(severity):
        severity = max(finding.severity, severity, key=grave)
    changed = replace(finding, severity=severity)
    return at_most(changed, "warning") if capped and finding.rule.startswith("OPS1") else changed


def load_profile(name: str, own: Folders = ()) -> Profile:
    """The profile of that name. Raises StandardsError if there is none, or if a file is not as it should be."""
    profiles = load_profiles(own)
    if name in profiles:
        return profiles[name]
    hint = closest(name, profiles)
    meant = f"did you mean {hint}?" if hint else f"known: {', '.join(profiles)}"
    raise StandardsError(f"there is no profile {name!r}; {meant}")


def load_profiles(own: Folders = ()) -> Mapping[str, Profile]:
    """Every profile in force, by name."""
    return _read(own)


@lru_cache(maxsize=8)
def _read(own: Folders) -> Mapping[str, Profile]:
    found: dict[str, Profile] = {}
    for path in files_named("profiles.yaml", own):
        document = read_document(path)
        document.only(document.value, (), ("schema", "profiles"), ("profiles",))
        bodies = document.mapping(document.value["profiles"], ("profiles",))
        reader = _Reader(document, bodies, found, own)
        found = {**found, **{str(name): reader.read(str(name), ()) for name in bodies}}
    return found


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the profiles of one file; `earlier` holds those of the files before it."""

    document: Document
    bodies: Mapping[str, Any]
    earlier: Mapping[str, Profile]
    own: Folders

    def read(self, name: str, trail: tuple[str, ...]) -> Profile:
        where = ("profiles", name)
        body = self.document.mapping({} if self.bodies[name] is None else self.bodies[name], where)
        self.document.only(body, where, ("extends", "severity", "without"))
        base = self._base(name, body, trail)
        own = dict(base.severities) if base else {}
        severities = self.document.mapping(body.get("severity", {}), (*where, "severity"))
        for rule, severity in severities.items():
            place = (*where, "severity", rule)
            own[self._rule(rule, place)] = self.document.one_of(severity, place, SEVERITIES)
        for number, rule in enumerate(self.document.texts(body.get("without", []), (*where, "without"))):
            own[self._rule(rule, (*where, "without", number))] = OFF
        return Profile(name, own)

    def _base(self, name: str, body: Mapping[str, Any], trail: tuple[str, ...]) -> Profile | None:
        base = body.get("extends")
        where = ("profiles", name, "extends")
        if base is None:
            return None
        self.document.text(base, where)
        if base == name and name in self.earlier:
            return self.earlier[name]
        if base in (*trail, name):
            cycle = " -> ".join((*trail, name, base))
            raise self.document.error(where, f"profile {name} extends itself: {cycle}")
        if base in self.bodies:
            return self.read(base, (*trail, name))
        return self.earlier[self.document.one_of(base, where, self.earlier)]

    def _rule(self, name: str, where: tuple[Any, ...]) -> str:
        return rule_named(name, self.own) or self.document.one_of(name, where, rule_names(self.own))
