"""The canonical precision standards: what each demands, and how each version of ATK registers and writes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from opscan.data import data_path
from opscan.dataclass import dataclass
from opscan.judging.floating import FORMATS, part_of
from opscan.judging.folders import files_named
from opscan.judging.pass_rules import PASS_RULES, Rule
from opscan.judging.standards_file import Document, Place, StandardsError, closest, read_document

__all__ = ["Atk", "Standard", "Standards", "StandardsError", "Writing", "did_you_mean", "known_comparators"]
__all__ += ["load_standards", "registered", "standards_of"]

_REQUIRED = ("meaning", "passes", "nan_inf", "source")
_STANDARD_KEYS = (*_REQUIRED, "extends", "relative", "recommended", "levels", "dtypes", "small_domain", "types", "atk")
_BOUNDS = ("small", "small_error", "balance")
_THRESHOLD_KEYS = ("rtol", "atol", "share", "max_abs", "max_ulp", "mean", "peak", "floor", *_BOUNDS)
DTYPES = (*FORMATS, "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")


@dataclass(frozen=True, slots=True)
class Writing:
    """How one ATK version writes a standard: a comparator, or None with the nearest one."""

    write: str | None
    nearest: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Standard:
    """A canonical standard. `rules` holds its pass rule per dtype; the key "*" stands for any dtype."""

    name: str
    meaning: str
    passes: str
    nan_inf: str
    source: str
    recommended: bool
    rules: Mapping[str, Rule]
    levels: Mapping[str, Mapping[str, float]]
    writings: Mapping[str, Writing]
    small_domain: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Per dtype: below `domain` the absolute error counts, and one above `bound` is a failure."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Variants that a keyword of the comparator selects, and what is known of them."""


@dataclass(frozen=True, slots=True)
class Atk:
    """What one ATK version registers. `comparators`: True, False, or None where builds differ or nobody knows."""

    version: str
    default: str | None
    default_certain: bool
    comparators: Mapping[str, bool | None]
    effective: Mapping[str, tuple[str, ...]]
    accepted: Mapping[str, tuple[str, ...]]
    unpublished: Mapping[str, tuple[str, ...]]

    @property
    def title(self) -> str:
        """How a message names it."""
        return f"{self.version} ATK" if self.version == "older" else f"ATK {self.version}"


@dataclass(frozen=True, eq=False)
class Standards:
    """Everything that the standards files say. Two are the same only if they are one object: answers go by it."""

    standards: Mapping[str, Standard]
    ladders: Mapping[str, tuple[str, ...]]
    atk: Mapping[str, Atk]
    comparators: Mapping[str, str]
    dispatch: Mapping[str, tuple[str, str]]
    """dtype: the standard that a tolerance comparator applies to it, and how."""

    def rule(self, name: str, dtype: str) -> Rule | None:
        """The pass rule of a standard for a dtype, None where the standard has no thresholds for it.

        Raises KeyError for an unknown standard.
        """
        standard = self.standards[name]
        if "*" in standard.rules:
            return Rule(standard.passes, dtype)
        return standard.rules.get(part_of(dtype))

    def at_level(self, name: str, dtype: str, level: str) -> Rule | None:
        """The rule of a benchmark standard with the ratios of one of its levels, small values counted apart.

        Raises KeyError for an unknown standard or level.
        """
        standard, rule = self.standards[name], self.rule(name, dtype)
        if rule is None:
            return None
        ratios = standard.levels[level]
        limits = (ratios["max_re_ratio"], ratios["avg_re_ratio"], ratios["root_mean_squared_ratio"])
        small = standard.small_domain.get(part_of(dtype))
        if small is None:
            return replace(rule, ratios=limits)
        return replace(rule, ratios=limits, small=small["domain"], small_error=small["bound"])

    def profile(self, atk_version: str) -> Atk:
        """The newest known profile that is not newer than `atk_version`.

        Raises ValueError for a version without numbers.
        """
        if atk_version in self.atk:
            return self.atk[atk_version]
        asked = _numbers(atk_version)
        if asked is None:
            raise ValueError(f"{atk_version!r} is no ATK version; known: {', '.join(self.atk)}")
        earlier = [name for name in self.atk if (_numbers(name) or (0,)) <= asked]
        return self.atk[max(earlier, key=lambda name: _numbers(name) or (0,))]


def load_standards(*extensions: Path) -> Standards:
    """The shipped standards; an extension adds standards and ladders, or replaces those of the same name.

    Raises StandardsError, whose message begins with `file:line:column:`.
    """
    return _load(data_path("rules", "standards.yaml"), extensions)


@lru_cache(maxsize=8)
def standards_of(own: tuple[Path, ...]) -> Standards:
    """The standards of the user's folders over those that ship. Raises StandardsError."""
    return load_standards(*files_named("standards.yaml", own)[1:])


@lru_cache(maxsize=8)
def _load(path: Path, extensions: tuple[Path, ...]) -> Standards:
    shipped = read_document(path)
    shipped.only(shipped.value, (), _SECTIONS, _SECTIONS)
    bodies = _standard_bodies(shipped, {})
    standards = {name: _read_standard(shipped, name, body) for name, body in bodies.items()}
    atk = {name: _read_atk(shipped, name) for name in shipped.mapping(shipped.value["atk"], ("atk",))}
    ladders = dict(_read_ladders(shipped, standards))
    for path in extensions:  # noqa: PLR1704  one file after the other
        extra = read_document(path)
        extra.only(extra.value, (), ("schema", "standards", "ladders"))
        own = _standard_bodies(extra, bodies)
        bodies = {**bodies, **own}
        standards = {
            **standards,
            **{n: _with_spellings(_read_standard(extra, n, body), atk) for n, body in own.items()},
        }
        ladders.update(_read_ladders(extra, standards))
    dispatch = {}
    for dtype, row in shipped.mapping(shipped.value["dispatch"], ("dispatch",)).items():
        shipped.only(row, ("dispatch", dtype), ("standard", "how"), ("standard", "how"))
        dispatch[dtype] = (_known(shipped, row["standard"], standards, ("dispatch", dtype, "standard")), row["how"])
    named = {
        comparator: _known(shipped, name, standards, ("comparators", comparator))
        for comparator, name in shipped.mapping(shipped.value["comparators"], ("comparators",)).items()
    }
    return Standards(standards, ladders, atk, named, dispatch)


_SECTIONS = ("schema", "standards", "ladders", "atk", "comparators", "dispatch")


def registered(name: str, atk_version: str) -> bool | None:
    """Whether an ATK version registers a comparator; None where builds differ, or a plugin may register the name."""
    return load_standards().profile(atk_version).comparators.get(name)


def known_comparators(atk_version: str) -> tuple[str, ...]:
    """The comparators that an ATK version registers in every build."""
    return tuple(name for name, there in load_standards().profile(atk_version).comparators.items() if there)


def did_you_mean(name: str, candidates: tuple[str, ...] | None = None) -> str | None:
    """The comparator (or candidate) that `name` is most likely a misspelling of; None for an exact or a far name."""
    names = candidates or (*load_standards().comparators, "default")
    return None if name in names else closest(name, names)


def _standard_bodies(document: Document, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """The standards of one file as they are written, each over the one that it extends."""
    written = document.mapping(document.value.get("standards", {}), ("standards",))
    return {name: _extended(document, name, written, earlier, ()) for name in written}


def _extended(
    document: Document, name: str, written: Mapping[str, Any], earlier: Mapping[str, Any], trail: tuple[str, ...]
) -> Mapping[str, Any]:
    """A standard laid over the one that it extends: one of its file, or of an earlier file, its own name included."""
    where = ("standards", name)
    body = document.mapping(written[name], where)
    base = body.get("extends")
    if base is None:
        return body
    document.text(base, (*where, "extends"))
    if base in (*trail, name) and not (base == name and name in earlier):
        cycle = " -> ".join((*trail, name, base))
        raise document.error((*where, "extends"), f"standard {name} extends itself: {cycle}")
    if base in written and base != name:
        return _laid_over(_extended(document, base, written, earlier, (*trail, name)), body)
    return _laid_over(earlier[_known(document, base, earlier, (*where, "extends"))], body)


def _laid_over(base: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """`body` over `base`, mapping by mapping: a row that names one threshold keeps the others."""
    merged = dict(base)
    for key, value in body.items():
        below = merged.get(key)
        merged[key] = _laid_over(below, value) if isinstance(value, dict) and isinstance(below, dict) else value
    merged.pop("extends", None)
    return merged


def _with_spellings(standard: Standard, atk: Mapping[str, Atk]) -> Standard:
    """A user's standard need not say how each version writes it: a tolerance is written by its thresholds."""
    unsaid = Writing(None, note="the standard does not say how this version writes it")
    return replace(standard, writings={version: standard.writings.get(version, unsaid) for version in atk})


def _read_standard(document: Document, name: str, body: Mapping[str, Any]) -> Standard:
    where = ("standards", name)
    document.only(body, where, _STANDARD_KEYS, _REQUIRED)
    rule = body["passes"]
    if not isinstance(rule, str) or rule not in PASS_RULES:
        raise document.error((*where, "passes"), f"unknown pass rule {rule!r}; known: {', '.join(PASS_RULES)}")
    if PASS_RULES[rule] and not body.get("dtypes"):
        raise document.error(where, f"{name} needs thresholds per dtype, for {rule} has {', '.join(PASS_RULES[rule])}")
    rows = document.mapping(body.get("dtypes", {}), (*where, "dtypes"))
    relative = bool(body.get("relative", False))
    rules = {dtype: _read_rule(document, (*where, "dtypes", dtype), rule, row, relative) for dtype, row in rows.items()}
    return Standard(
        name,
        str(body["meaning"]),
        rule,
        str(body["nan_inf"]),
        str(body["source"]),
        bool(body.get("recommended", True)),
        rules or {"*": Rule(rule, "*")},
        _read_numbers(document, (*where, "levels"), body.get("levels", {})),
        _read_writings(document, (*where, "atk"), body.get("atk", {})),
        _read_numbers(document, (*where, "small_domain"), body.get("small_domain", {})),
        dict(document.mapping(body.get("types") or {}, (*where, "types"))),
    )


def _read_numbers(document: Document, where: Place, body: Any) -> dict[str, Mapping[str, float]]:
    found: dict[str, Mapping[str, float]] = {}
    for name, row in document.mapping(body, where).items():
        values = document.mapping(row, (*where, name))
        found[name] = {key: document.number(value, (*where, name, key)) for key, value in values.items()}
    return found


def _read_rule(document: Document, where: Place, passes: str, row: Any, relative: bool) -> Rule:
    dtype = where[-1]
    if dtype not in DTYPES:
        raise document.error(where, f"unknown dtype {dtype!r}; known: {', '.join(DTYPES)}")
    values = document.mapping(row, where)
    document.only(values, where, _THRESHOLD_KEYS)
    for key in PASS_RULES[passes]:
        if key not in values:
            raise document.error(where, f"{'.'.join(where)} lacks the threshold {key!r} that {passes} needs")
    numbers: dict[str, Any] = {key: document.number(value, (*where, key)) for key, value in values.items()}
    if relative:
        numbers["atol"] = 0.0
    return Rule(passes, dtype, **numbers)


def _read_writings(document: Document, where: Place, body: Any) -> dict[str, Writing]:
    found = {}
    for version, row in document.mapping(body, where).items():
        place = (*where, version)
        document.only(document.mapping(row, place), place, ("write", "nearest", "note"), ("write",))
        found[version] = Writing(row["write"], row.get("nearest"), row.get("note", ""))
    return found


def _read_ladders(document: Document, standards: Mapping[str, Standard]) -> dict[str, tuple[str, ...]]:
    found = {}
    for dtype, steps in document.mapping(document.value.get("ladders", {}), ("ladders",)).items():
        where = ("ladders", dtype)
        if not isinstance(steps, list):
            raise document.error(where, f"ladders.{dtype} must be a list of standards")
        for step in steps:
            standard = standards[_known(document, step, standards, where)]
            if "*" not in standard.rules and dtype not in standard.rules:
                raise document.error(where, f"{step} has no thresholds for {dtype}")
            if not writable(standard):
                raise document.error(where, f"no comparator of ATK applies {step} ({standard.passes})")
        found[dtype] = tuple(steps)
    return found


def writable(standard: Standard) -> bool:
    """Whether a comparator of ATK applies a standard per dtype: a tolerance, a bitwise one, or single_bm as it is."""
    if standard.passes == "mean-and-max-relative":
        return standard.name == "single-benchmark"
    return standard.passes in ("share-within-tolerance", "value-equal", "bit-equal", "absolute-step")


def _read_atk(document: Document, version: str) -> Atk:
    where = ("atk", version)
    body = document.mapping(document.value["atk"][version], where)
    allowed = ("default", "default_certain", "comparators", "keywords")
    document.only(body, where, allowed, ("default", "comparators", "keywords"))
    sorts: dict[str, dict[str, tuple[str, ...]]] = {"effective": {}, "accepted": {}, "unpublished": {}}
    for comparator, keywords in document.mapping(body["keywords"], (*where, "keywords")).items():
        document.only(keywords, (*where, "keywords", comparator), sorts)
        for sort, names in keywords.items():
            sorts[sort][comparator] = tuple(names)
    default = body["default"]
    certain = default is not None and bool(body.get("default_certain", True))
    return Atk(version, default, certain, dict(body["comparators"]), **sorts)


def _known(document: Document, name: Any, standards: Mapping[str, Standard], where: Place) -> str:
    if not isinstance(name, str) or name not in standards:
        hint = closest(str(name), standards)
        raise document.error(where, f"unknown standard {name!r}" + (f"; did you mean {hint}?" if hint else ""))
    return str(name)


def _numbers(version: str) -> tuple[int, ...] | None:
    if not re.fullmatch(r"v?\d+(\.\d+)*", version):
        return None
    return tuple(int(part) for part in version.lstrip("v").split("."))
